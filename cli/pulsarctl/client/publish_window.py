"""How many messages may be under way to a partition, and which of them the broker has.

The official client calls back for every message, and each call waits for the interpreter's lock: a tenth of its speed
is left. A partition acknowledges in the order of sending, so one call-back vouches for all messages before it: only
every 500th message, every megabyte and every message larger than any that went well asks for one. The last rule is
there because size is the one thing for which a single message is refused.
Positions count the messages handed in, from 1. The main thread hands in; call-backs come from the client's thread.
"""

import threading
from dataclasses import dataclass

PENDING_MESSAGES_MAX = 10_000
PENDING_BYTES_MAX = 16 * 1024 * 1024
VOUCH_EVERY_MESSAGES = 500
VOUCH_EVERY_BYTES = 1024 * 1024
PROVEN_WHATEVER_COMPRESSION_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first message that the client or the broker did not take, and the client's word for why."""

    position: int
    size: int
    result: str


class PublishWindow:
    """`size_is_final`: whether the broker sees a message as large as it is handed in, that is, without compression."""

    def __init__(
        self,
        *,
        size_is_final: bool = True,
        messages_max: int = PENDING_MESSAGES_MAX,
        bytes_max: int = PENDING_BYTES_MAX,
    ) -> None:
        self.sent = 0
        self.sent_bytes = 0
        self.acknowledged = 0  # the broker is known to have all messages up to this position
        self.refusal: Refusal | None = None
        self._size_is_final = size_is_final
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._vouch_every_messages = min(VOUCH_EVERY_MESSAGES, messages_max // 2)
        self._vouch_every_bytes = min(VOUCH_EVERY_BYTES, bytes_max // 2)
        self._proven_size = -1
        self._asked = (0, 0)  # position and bytes at the last message that asked for a call-back
        self._acknowledged_bytes = 0
        self._changed = threading.Event()

    def hand_in(self, size: int) -> bool:
        """Counts a message of `size` bytes; returns whether it must ask for a call-back."""
        self.sent += 1
        self.sent_bytes += size
        position, amount = self._asked
        if (
            size <= self._proven_size
            and self.sent - position < self._vouch_every_messages
            and self.sent_bytes - amount < self._vouch_every_bytes
        ):
            return False
        self._asked = (self.sent, self.sent_bytes)
        return True

    def settle(self, position: int, size: int, sent_bytes: int, result: str | None) -> None:
        """A message's call-back: `result` is None when the broker has it. Called on the client's thread."""
        if result is None:
            self.acknowledged = max(self.acknowledged, position)
            self._acknowledged_bytes = max(self._acknowledged_bytes, sent_bytes)
            if self._size_is_final or size <= PROVEN_WHATEVER_COMPRESSION_BYTES:
                self._proven_size = max(self._proven_size, size)
        elif self.refusal is None or position < self.refusal.position:
            self.refusal = Refusal(position, size, result)
        self._changed.set()

    def settle_exactly(self, acknowledged: int) -> None:
        """The client's own count of what is acknowledged, where `settle` only vouches."""
        self.acknowledged = max(self.acknowledged, acknowledged)

    @property
    def is_full(self) -> bool:
        return (
            self.sent - self.acknowledged >= self._messages_max
            or self.sent_bytes - self._acknowledged_bytes >= self._bytes_max
        )

    def wait_for_room(self) -> None:
        """Returns when the next message may be handed in, or after a refusal. Ctrl-C interrupts it.

        The client's send timeout bounds the wait: every message under way is answered or refused by then.
        """
        while self.is_full and self.refusal is None:
            self._changed.clear()
            if self.is_full and self.refusal is None:
                self._changed.wait(1.0)
