"""Which chunks of the message that a producer is in the middle of were stored; pure.

The chunks of a message have one sequence id, and only the last one uses it up. When a connection breaks before, the
client sends them all again, and some clients cannot join a message whose first chunks come twice. So a chunk is known
by its message and by its checksum: another message under the same name is not mistaken for it.
"""

from dataclasses import dataclass, field

from broker_core.wire.send import Chunk

CHUNKS_MAX = 10_000  # of one message; a larger one is not looked after


@dataclass(slots=True)
class _Message:
    """Chunk number -> checksum: `pushed` of what was handed to the log, `persisted` of what is on disk."""

    uuid: str
    pushed: dict[int, bytes] = field(default_factory=dict)
    persisted: dict[int, bytes] = field(default_factory=dict)


class OpenChunks:
    """By the name of the producer, which sends the chunks of one message after those of another."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        self._messages: dict[str, _Message] = {}

    def __contains__(self, named: tuple[str, Chunk]) -> bool:
        """Whether that chunk of that producer was pushed before."""
        name, chunk = named
        message = self._messages.get(name)
        return message is not None and message.uuid == chunk.uuid and message.pushed.get(chunk.number) == chunk.checksum

    def push(self, name: str, chunk: Chunk) -> None:
        message = self._messages.get(name)
        if message is None or message.uuid != chunk.uuid or chunk.number == 0:
            message = self._messages[name] = _Message(chunk.uuid)
        if len(message.pushed) < CHUNKS_MAX:
            message.pushed[chunk.number] = chunk.checksum

    def persist(self, name: str, chunk: Chunk) -> None:
        message = self._messages.get(name)
        if message is None or message.uuid != chunk.uuid:
            return
        if chunk.ends_message:
            del self._messages[name]
        elif message.pushed.get(chunk.number) == chunk.checksum:
            message.persisted[chunk.number] = chunk.checksum

    def fail(self, name: str) -> None:
        """What was pushed and not persisted is not stored."""
        message = self._messages.get(name)
        if message is not None:
            message.pushed = dict(message.persisted)

    def forget(self, name: str) -> None:
        self._messages.pop(name, None)
