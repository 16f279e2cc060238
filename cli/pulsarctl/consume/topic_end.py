"""Consuming partitions up to an end that is determined at the start (`-e`, `--to`).

A partition is done when a record at or after its end arrives. That may never happen: the last messages may be
acknowledged, expired, compacted away, or delivered to another consumer of a Shared subscription. So after a short
silence, this asks the admin API for the backlog, because the official client does not know the subscription's position.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pulsarctl.client.client_record import ClientRecord
from pulsarctl.records.record import Record
from pulsarctl.values.message_ids import MessageId
from pulsarctl.values.positions import AtTime, Position

if TYPE_CHECKING:
    from pulsarctl.client.subscriber import Subscriber

SILENCE_SECONDS = 0.2  # before the first request for the backlog
QUESTION_SECONDS = 1.0
SILENCE_WITHOUT_ANSWER_SECONDS = 3.0  # counts as the end if the admin API does not answer
TURN_MS = 20  # wait for each of several silent partitions

MessagePlace = tuple[int, int, int]  # ledger, entry, batch index
NOWHERE: MessagePlace = (1 << 63, 0, 0)  # after every message


class Endless:
    """One consumer without an end."""

    ended = False

    def __init__(self, consumer: "Subscriber") -> None:
        self._consumer = consumer

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[Record]:
        return self._consumer.receive(timeout_ms, count_max)

    def settle(self, records: Sequence[Record]) -> None:
        self._consumer.settle(records)  # type: ignore[arg-type]  # they come from `receive`


class Partition:
    """One partition and its end: the current end of the topic or, if earlier, `to`. `to` None: no end."""

    def __init__(self, consumer: "Subscriber", name: str, to: Position | None) -> None:
        self.consumer = consumer
        self.name = name
        self._to = to
        self._last = NOWHERE if to is None else consumer.last_position()
        self.done = self._last[1] < 0

    @property
    def is_endless(self) -> bool:
        return self._last is NOWHERE

    def before_end(self, records: list[ClientRecord]) -> list[ClientRecord]:
        """The records up to the end. Marks the partition as done if the end is reached."""
        for count, record in enumerate(records):
            place = (record.ledger_id, record.entry_id, record.batch_index)
            if place > self._last or self._is_after_end(record):
                self.done = True
                return records[:count]
            if place == self._last:
                self.done = True
                return records[: count + 1]
        return records

    def _is_after_end(self, record: ClientRecord) -> bool:
        match self._to:
            case AtTime(publish_time_ms):
                return record.publish_time_ms > publish_time_ms
            case MessageId(ledger_id, entry_id, _, batch_index):
                place = (record.ledger_id, record.entry_id)
                if place == (ledger_id, entry_id) and batch_index >= 0:
                    return record.batch_index > batch_index
                return place > (ledger_id, entry_id)
        return False


class Bounded:
    """Several partitions, each up to its end. `has_backlog(partition)` asks the broker; None: no answer."""

    def __init__(self, partitions: list[Partition], has_backlog: Callable[[str], bool | None]) -> None:
        self._partitions = partitions
        self._has_backlog = has_backlog
        self._consumer = partitions[0].consumer  # the one of the last records
        self._silent_since = time.monotonic()
        self._next_question = self._silent_since + SILENCE_SECONDS

    @property
    def ended(self) -> bool:
        return all(partition.done for partition in self._partitions)

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[Record]:
        """Return records of a partition that has some; otherwise wait for one partition after the other."""
        self._partitions.append(self._partitions.pop(0))
        unfinished = [partition for partition in self._partitions if not partition.done]
        for partition in unfinished:
            if records := self._take(partition, 0, count_max):
                return records
        waiting = [partition for partition in unfinished if not partition.done]
        wait_ms = timeout_ms if len(waiting) == 1 else TURN_MS
        if waiting and (records := self._take(waiting[0], wait_ms, count_max)):
            return records
        self._ask()
        return []

    def settle(self, records: Sequence[Record]) -> None:
        if records:
            self._consumer.settle(records)  # type: ignore[arg-type]  # they come from the last `receive`

    def _take(self, partition: Partition, timeout_ms: int, count_max: int) -> list[ClientRecord]:
        records = partition.before_end(partition.consumer.receive(timeout_ms, count_max))
        if records:
            self._consumer = partition.consumer
            self._silent_since = time.monotonic()
            self._next_question = self._silent_since + SILENCE_SECONDS
        return records

    def _ask(self) -> None:
        """After a silence, marks the partitions that have an end and no backlog as done."""
        now = time.monotonic()
        if now < self._next_question:
            return
        self._next_question = now + QUESTION_SECONDS
        for partition in self._partitions:
            if partition.done or partition.is_endless:
                continue
            backlog = self._has_backlog(partition.name)
            if backlog is None:
                backlog = now - self._silent_since < SILENCE_WITHOUT_ANSWER_SECONDS
            partition.done = not backlog
