"""The stored chunks of the message that a producer has not finished. Pure.

The chunks of a message share one sequence ID, and only the last chunk completes it. If the connection breaks earlier,
the client sends all of them again, and some clients cannot join a message whose first chunks come twice. So a chunk is
identified by its message and its checksum: another message with the same name is not mistaken for it.

A start learns them by reading the entries again, from the first chunk on.
"""

from collections.abc import KeysView
from dataclasses import dataclass, field

from broker_core.storage.records.position import Position
from broker_core.wire.send import Chunk

CHUNKS_MAX = 10_000  # of one message; further chunks are not tracked


@dataclass(slots=True, eq=False, repr=False)
class _Message:
    """Chunk number -> checksum: `pushed` to the log, `persisted` on disk, the first of them at `first_stored`."""

    uuid: str
    first_stored: Position | None = None
    pushed: dict[int, bytes] = field(default_factory=dict)
    persisted: dict[int, bytes] = field(default_factory=dict)


class OpenChunks:
    """The open message of each producer name; a producer sends the chunks of one message after those of another."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        self._messages: dict[str, _Message] = {}

    def __contains__(self, named: tuple[str, Chunk]) -> bool:
        """Whether that chunk of that producer was pushed before."""
        name, chunk = named
        message = self._messages.get(name)
        return message is not None and message.uuid == chunk.uuid and message.pushed.get(chunk.number) == chunk.checksum

    def __bool__(self) -> bool:
        return bool(self._messages)

    @property
    def names(self) -> KeysView[str]:
        """The producers that have an open message."""
        return self._messages.keys()

    def first_stored_after(self, position: Position) -> Position | None:
        """The first chunk on disk of all open messages that begin after `position`."""
        stored = (message.first_stored for message in self._messages.values())
        return min((first for first in stored if first is not None and first > position), default=None)

    def push(self, name: str, chunk: Chunk) -> None:
        message = self._messages.get(name)
        if message is None or message.uuid != chunk.uuid or chunk.number == 0:
            message = self._messages[name] = _Message(chunk.uuid)
        if len(message.pushed) < CHUNKS_MAX:
            message.pushed[chunk.number] = chunk.checksum

    def persist(self, name: str, chunk: Chunk, position: Position) -> None:
        message = self._messages.get(name)
        if message is None or message.uuid != chunk.uuid:
            return
        if chunk.ends_message:
            del self._messages[name]
        elif message.pushed.get(chunk.number) == chunk.checksum:
            message.persisted[chunk.number] = chunk.checksum
            message.first_stored = message.first_stored or position

    def fail(self, name: str) -> None:
        """Forgets chunks that were pushed but not persisted."""
        message = self._messages.get(name)
        if message is not None:
            message.pushed = dict(message.persisted)

    def overtake(self, name: str) -> None:
        """A whole message of the producer is on disk: one that began before it can no longer be completed."""
        message = self._messages.get(name)
        if message is not None and message.persisted:
            del self._messages[name]

    def forget(self, name: str) -> None:
        self._messages.pop(name, None)
