"""The partitions of one publishing run, and the progress of the run across them.

Each partition that gets a message has a lane, with its producer and its window. Acknowledgments arrive in the order of
sending only within a lane, so each lane remembers the positions of its pending messages in the run.
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
        self._pending: deque[int] = deque()  # positions in the run of messages not known to be acknowledged
        self._forgotten = 0

    def remember(self, position: int) -> None:
        """Records that the next message is at `position` in the run."""
        if not self._is_alone:
            self._pending.append(position)
            while self._forgotten < self.window.acknowledged:
                self._pending.popleft()
                self._forgotten += 1

    def position_in_run(self, position: int) -> int:
        """The position in the run of this lane's message at `position`, which is not acknowledged yet."""
        return position if self._is_alone else self._pending[position - self._forgotten - 1]

    @property
    def safe_up_to(self) -> int | None:
        """Up to here, the run has no pending message in this lane. None: no message is pending at all."""
        if self.window.acknowledged == self.window.sent:
            return None
        return self.position_in_run(self.window.acknowledged + 1) - 1

    def settle_exactly(self) -> None:
        """Uses the client's exact count of acknowledged messages."""
        self.window.settle_exactly(self.producer.last_sequence_id() - self._first_sequence)


class Lanes:
    """`open_producer(partition)` creates the producer of a lane for its first message."""

    def __init__(self, partitions: int, open_producer: Callable[[int], Any], *, size_is_final: bool) -> None:
        self.sent = 0
        self._partitions = partitions
        self._open_producer = open_producer
        self._size_is_final = size_is_final
        self._lanes: dict[int, Lane] = {}

    def lane(self, partition: int) -> Lane:
        """The lane of the next message, which it counts. Raises what `open_producer` raises."""
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

    def settle_exactly(self) -> int:
        """The exact number of acknowledged messages, which the lanes then have, too."""
        for lane in self.open:
            lane.settle_exactly()
        return self.acknowledged

    @property
    def acknowledged(self) -> int:
        """The number of acknowledged messages, in any order."""
        return sum(lane.window.acknowledged for lane in self._lanes.values())

    @property
    def acknowledged_in_order(self) -> int:
        """Every message of the run up to this position is acknowledged, so the run can resume after it."""
        return min((up_to for lane in self.open if (up_to := lane.safe_up_to) is not None), default=self.sent)

    @property
    def refusal(self) -> Refusal | None:
        """The run's first message that was refused."""
        refused = [
            Refusal(lane.position_in_run(first.position), first.size, first.result)
            for lane in self.open
            if (first := lane.window.refusal) is not None
        ]
        return min(refused, key=lambda refusal: refusal.position, default=None)

    def _window(self) -> PublishWindow:
        """Partitions share the limit of pending messages, but each may have a batch or two."""
        return PublishWindow(
            size_is_final=self._size_is_final,
            messages_max=max(LANE_MESSAGES_MIN, PENDING_MESSAGES_MAX // self._partitions),
            bytes_max=max(LANE_BYTES_MIN, PENDING_BYTES_MAX // self._partitions),
        )
