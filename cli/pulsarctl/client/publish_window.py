"""The limit of pending messages of a partition, and which messages are acknowledged.

The official client can call back for every message, but each callback waits for the interpreter's lock, which reduces
the speed to a tenth. A partition acknowledges in the order of sending, so a callback covers all earlier messages. Only
every 500th message, every megabyte, and every message larger than all acknowledged ones ask for a callback; the last
rule exists because size is the only reason to refuse a single message.
Positions count the sent messages, from 1. The main thread sends, and callbacks run on the client's thread.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

PENDING_MESSAGES_MAX = 10_000
PENDING_BYTES_MAX = 16 * 1024 * 1024
CALLBACK_EVERY_MESSAGES = 500
CALLBACK_EVERY_BYTES = 1024 * 1024
PROVEN_DESPITE_COMPRESSION_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first message that the client or the broker refused, and the client's name for the reason."""

    position: int
    size: int
    result: str


class PublishWindow:
    """`size_is_final`: whether the broker gets a message at its original size, that is, without compression."""

    def __init__(
        self,
        *,
        size_is_final: bool = True,
        messages_max: int = PENDING_MESSAGES_MAX,
        bytes_max: int = PENDING_BYTES_MAX,
    ) -> None:
        self.sent = 0
        self.sent_bytes = 0
        self.acknowledged = 0  # all messages up to this position are acknowledged
        self.refusal: Refusal | None = None
        self._size_is_final = size_is_final
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._callback_every_messages = min(CALLBACK_EVERY_MESSAGES, messages_max // 2)
        self._callback_every_bytes = min(CALLBACK_EVERY_BYTES, bytes_max // 2)
        self._proven_size = -1
        self._asked = (0, 0)  # position and bytes at the last message that asked for a callback
        self._acknowledged_bytes = 0
        self._changed = threading.Event()

    def hand_in(self, size: int) -> bool:
        """Counts a message of `size` bytes; returns whether it must ask for a callback."""
        self.sent += 1
        self.sent_bytes += size
        position, amount = self._asked
        if (
            size <= self._proven_size
            and self.sent - position < self._callback_every_messages
            and self.sent_bytes - amount < self._callback_every_bytes
        ):
            return False
        self._asked = (self.sent, self.sent_bytes)
        return True

    def settle(self, position: int, size: int, sent_bytes: int, result: str | None) -> None:
        """The callback of a message, with `result` None if it is acknowledged. Called on the client's thread."""
        if result is None:
            self.acknowledged = max(self.acknowledged, position)
            self._acknowledged_bytes = max(self._acknowledged_bytes, sent_bytes)
            if self._size_is_final or size <= PROVEN_DESPITE_COMPRESSION_BYTES:
                self._proven_size = max(self._proven_size, size)
        elif self.refusal is None or position < self.refusal.position:
            self.refusal = Refusal(position, size, result)
        self._changed.set()

    def settle_exactly(self, acknowledged: int) -> None:
        """Sets the client's exact count of acknowledged messages, of which `settle` knows only a part."""
        self.acknowledged = max(self.acknowledged, acknowledged)

    @property
    def is_full(self) -> bool:
        return (
            self.sent - self.acknowledged >= self._messages_max
            or self.sent_bytes - self._acknowledged_bytes >= self._bytes_max
        )

    def wait_for_room(self, is_overdue: Callable[[], bool]) -> None:
        """Returns when the next message may be sent, after a refusal, or if `is_overdue`. Ctrl-C interrupts it."""
        while self.is_full and self.refusal is None and not is_overdue():
            self._changed.clear()
            if self.is_full and self.refusal is None:
                self._changed.wait(1.0)
