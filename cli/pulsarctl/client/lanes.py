"""The partitions of one publishing run, and how far the run came over all of them.

Each partition that gets a message has a lane: its producer and its window. Within a lane the order of acknowledging is
that of sending; over lanes it is not, so each lane remembers which of the run's messages its own pending ones are.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from pulsarctl.client.publish_window import PENDING_BYTES_MAX, PENDING_MESSAGES_MAX, PublishWindow, Refusal

LANE_MESSAGES_MIN = 1000
LANE_BYTES_MIN = 1024 * 1024


class Lane:
    """`producer` is the official client's. `is_alone`: positions in the lane are positions in the run."""

    def __init__(self, producer: Any, window: PublishWindow, *, is_alone: bool) -> None:
        self.producer = producer
        self.window = window
        self._first_sequence = producer.last_sequence_id()
        self._is_alone = is_alone
        self._pending: deque[int] = deque()  # positions in the run of what is not known to be acknowledged
        self._forgotten = 0

    def remember(self, position: int) -> None:
        """The message about to be handed in is the run's message at `position`."""
        if not self._is_alone:
            self._pending.append(position)
            while self._forgotten < self.window.acknowledged:
                self._pending.popleft()
                self._forgotten += 1

    def place(self, position: int) -> int:
        """The position in the run of this lane's message at `position`, which is not acknowledged."""
        return position if self._is_alone else self._pending[position - self._forgotten - 1]

    @property
    def safe_up_to(self) -> int | None:
        """Every message of the run up to here is acknowledged or elsewhere; None when nothing is left in this lane."""
        if self.window.acknowledged == self.window.sent:
            return None
        return self.place(self.window.acknowledged + 1) - 1

    def settle_exactly(self) -> None:
        """After a flush or a failure: the client counts what the broker acknowledged in order."""
        self.window.settle_exactly(self.producer.last_sequence_id() - self._first_sequence)


class Lanes:
    """`open_producer(partition)` makes a lane's producer when it gets its first message."""

    def __init__(self, partitions: int, open_producer: Callable[[int], Any], *, size_is_final: bool) -> None:
        self.sent = 0
        self._partitions = partitions
        self._open_producer = open_producer
        self._size_is_final = size_is_final
        self._lanes: dict[int, Lane] = {}

    def lane(self, partition: int) -> Lane:
        """The lane that the next message takes; counts the message. Raises what opening a producer raises."""
        lane = self._lanes.get(partition)
        if lane is None:
            producer = self._open_producer(partition)
            lane = self._lanes[partition] = Lane(producer, self._window(), is_alone=self._partitions == 1)
        self.sent += 1
        lane.remember(self.sent)
        return lane

    @property
    def open(self) -> list[Lane]:
        return list(self._lanes.values())

    @property
    def acknowledged(self) -> int:
        """Messages that the broker is known to have, in whatever order."""
        return sum(lane.window.acknowledged for lane in self._lanes.values())

    @property
    def acknowledged_in_order(self) -> int:
        """The broker has every message of the run up to this one: one may resume behind it."""
        return min((up_to for lane in self.open if (up_to := lane.safe_up_to) is not None), default=self.sent)

    @property
    def refusal(self) -> Refusal | None:
        """The run's first message that was refused."""
        refused = [
            Refusal(lane.place(found.position), found.size, found.result)
            for lane in self.open
            if (found := lane.window.refusal) is not None
        ]
        return min(refused, key=lambda refusal: refusal.position, default=None)

    def _window(self) -> PublishWindow:
        """Many partitions share what may be under way, but none gets less than a batch or two."""
        return PublishWindow(
            size_is_final=self._size_is_final,
            messages_max=max(LANE_MESSAGES_MIN, PENDING_MESSAGES_MAX // self._partitions),
            bytes_max=max(LANE_BYTES_MIN, PENDING_BYTES_MAX // self._partitions),
        )
