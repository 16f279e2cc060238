"""How many messages may be under way to the broker, and which of them it has.

The official client calls back for every message, and each call waits for the interpreter's lock: a quarter of its speed
in C++. A topic that is not partitioned acknowledges in the order of sending, so there one call-back vouches for all
messages before it (`in_order`): only every 500th message, every megabyte and every message larger than any that went
well asks for one. The last rule is there because size is the one thing for which a single message is refused.
Positions count the messages handed in, from 1. The main thread hands in; call-backs come from the client's thread.
"""

import threading
from dataclasses import dataclass

PENDING_MESSAGES_MAX = 10_000
PENDING_BYTES_MAX = 16 * 1024 * 1024
VOUCH_EVERY_MESSAGES = 500
VOUCH_EVERY_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first message that the client or the broker did not take, and the client's word for why."""

    position: int
    size: int
    result: str


class PublishWindow:
    """`size_is_final`: whether the broker sees a message as large as it is handed in, that is, without compression."""

    def __init__(self, *, in_order: bool, size_is_final: bool = True) -> None:
        self.sent = 0
        self.refusal: Refusal | None = None
        self.in_order = in_order
        self._size_is_final = size_is_final
        self._accepted_size = -1
        self._sent_bytes = 0
        self._vouched = (0, 0)  # position and bytes at the last message that asked for a call-back
        self._acknowledged = 0  # all messages up to this position
        self._acknowledged_bytes = 0
        self._beyond: set[int] = set()  # acknowledged out of order; at most PENDING_MESSAGES_MAX
        self._changed = threading.Event()

    @property
    def acknowledged(self) -> int:
        """Messages that the broker is known to have, in whatever order."""
        return self._acknowledged + len(self._beyond)

    @property
    def acknowledged_in_order(self) -> int:
        """The broker has every message up to this position: one may resume behind it."""
        return self._acknowledged

    def hand_in(self, size: int) -> bool:
        """Counts a message of `size` bytes; returns whether it must ask for a call-back."""
        self.sent += 1
        self._sent_bytes += size
        position, amount = self._vouched
        if (
            self.in_order
            and size <= self._accepted_size
            and self.sent - position < VOUCH_EVERY_MESSAGES
            and self._sent_bytes - amount < VOUCH_EVERY_BYTES
        ):
            return False
        self._vouched = (self.sent, self._sent_bytes)
        return True

    def settle(self, position: int, size: int, sent_bytes: int, result: str | None) -> None:
        """A message's call-back: `result` is None when the broker has it. Called on the client's thread."""
        if result is not None:
            if self.refusal is None or position < self.refusal.position:
                self.refusal = Refusal(position, size, result)
        elif self.in_order:
            self._acknowledged = max(self._acknowledged, position)
            self._acknowledged_bytes = max(self._acknowledged_bytes, sent_bytes)
            if self._size_is_final or size <= 1024:
                self._accepted_size = max(self._accepted_size, size)
        else:
            self._acknowledged_bytes += size
            self._beyond.add(position)
            while self._acknowledged + 1 in self._beyond:
                self._acknowledged += 1
                self._beyond.remove(self._acknowledged)
        self._changed.set()

    def settle_all(self, acknowledged: int) -> None:
        """The client's own count of what a topic in order has acknowledged; exact, where `settle` only vouches."""
        self._acknowledged = max(self._acknowledged, acknowledged)

    @property
    def sent_bytes(self) -> int:
        return self._sent_bytes

    @property
    def is_full(self) -> bool:
        return (
            self.sent - self.acknowledged >= PENDING_MESSAGES_MAX
            or self._sent_bytes - self._acknowledged_bytes >= PENDING_BYTES_MAX
        )

    def wait_for_room(self) -> None:
        """Returns when the next message may be handed in, or after a refusal. Ctrl-C interrupts it.

        The client's send timeout bounds the wait: every message under way is answered or refused by then.
        """
        while self.is_full and self.refusal is None:
            self._changed.clear()
            if self.is_full and self.refusal is None:
                self._changed.wait(1.0)
