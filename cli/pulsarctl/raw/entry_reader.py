"""Reads a topic entry by entry, without a trace: a non-durable subscription that ends with the reader.

The official client hides what an operator asks for: stored sizes, sequence ids, compression, delivery times, the
broker's index. This reader shows entries as they are stored, from any Pulsar. It acknowledges nothing and creates
nothing. Entries of one partition come in order; partitions are merged as they arrive. A lost connection is opened
again and reading goes on behind the last entry. Every wait has a deadline.

    with EntryReader("pulsar://localhost:6650", "orders", start=EARLIEST) as reader:
        for entry in reader.to_end():           # up to what was there when it began
            for record in entry.records(): ...
        entry = reader.read(timeout_seconds=5)  # what comes later, or None
"""

import re
import selectors
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from broker_core.wire.pulsar_api_pb2 import CommandCloseConsumer
from pulsarctl.errors import CannotConnect, CliError, TimedOut, UsageProblem
from pulsarctl.raw.broker_connection import BrokerConnection, ConnectionLost, NotReady
from pulsarctl.raw.entry import Entry, MessageId, Record
from pulsarctl.raw.partition_consumer import EARLIEST, LATEST, PartitionConsumer, PublishedSince, Start
from pulsarctl.raw.topic_lookup import TopicLookup

__all__ = ["EARLIEST", "LATEST", "Entry", "EntryReader", "MessageId", "PublishedSince", "Record", "Start"]

PROBE_SECONDS = 1.0  # silence after which we ask whether there is more to come
RETRY_SECONDS = 0.2

_PARTITION = re.compile(r"-partition-(\d+)$")


class EntryReader:
    """Entries of one topic; all partitions of a partitioned one, unless `topic` names a partition.

    start            `EARLIEST`, `LATEST`, a `MessageId` (itself included, unless `inclusive` is false; with a batch
                     index: from that message on), `PublishedSince`, or a mapping of these by partition, where a
                     missing partition is not read
    timeout_seconds  bounds the handshake, each request, and how long a lost broker may stay away
    read_compacted   the compacted view: the last message of each key, then what came after the compaction
    Raises `UsageProblem`, `CannotConnect`, `NotFound`, `NotAuthorized`, `TimedOut` or `CliError` (another refusal).
    """

    def __init__(
        self,
        service_url: str,
        topic: str,
        *,
        start: Start | Mapping[int, Start] = EARLIEST,
        inclusive: bool = True,
        timeout_seconds: float = 30.0,
        token: str | None = None,
        read_compacted: bool = False,
    ) -> None:
        self.topic = topic
        self._timeout_seconds = timeout_seconds
        self._lookup = TopicLookup(service_url, timeout_seconds=timeout_seconds, token=token)
        self._consumers: list[PartitionConsumer] = []
        self._by_connection: dict[BrokerConnection, dict[int, PartitionConsumer]] = {}
        try:
            for name, partition in self._partition_names():
                first = _first(start, partition, inclusive, topic)
                if first is not None:
                    self._consumers.append(PartitionConsumer(name, partition, first, read_compacted=read_compacted))
            for consumer in self._consumers:
                self._subscribe(consumer)
        except BaseException:
            self._lookup.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def partitions(self) -> list[int]:
        """The partitions that are read; [-1] for a topic without."""
        return [consumer.partition for consumer in self._consumers]

    def read(self, timeout_seconds: float) -> Entry | None:
        """The next entry of any partition, or None when none came in time."""
        deadline = time.monotonic() + timeout_seconds
        while (step := self._step(deadline)) is not None:
            if step[1] is not None:
                return step[1]
        return None

    def to_end(self) -> Iterator[Entry]:
        """Entries up to each partition's last as of now; see `to`."""
        return self.to(self.last_ids())

    def to(self, ends: Mapping[int, MessageId | None]) -> Iterator[Entry]:
        """Entries up to and including `ends`, by partition; None or a missing one reads nothing of that partition.

        Ends that are trimmed away meanwhile are reached. Entries behind an end that arrive before the others are
        reached are passed over. Raises `TimedOut` when entries that should be there do not come.
        """
        open_ends = {partition: end.position for partition, end in ends.items() if end is not None}
        self._close_reached(open_ends)
        heard = time.monotonic()
        while open_ends:
            step = self._step(time.monotonic() + min(PROBE_SECONDS, self._timeout_seconds))
            if step is not None:
                heard = time.monotonic()
                yield from _up_to(open_ends, *step)
                continue
            self._close_reached(open_ends)
            if open_ends and time.monotonic() - heard > self._timeout_seconds:
                raise TimedOut(f"{self.topic} has more to read, but nothing came within {self._timeout_seconds:g} s")

    def last_ids(self) -> dict[int, MessageId | None]:
        """By partition the last message there is, None where there is none (left)."""
        return {consumer.partition: self._last_id(consumer)[0] for consumer in self._consumers}

    def close(self) -> None:
        """Ends the subscriptions; the broker has forgotten them when this returns, unless it is gone."""
        try:
            for consumer in self._consumers:
                consumer.close()
        except CliError:
            pass  # they end with the connection
        self._consumers.clear()
        self._lookup.close()

    def _partition_names(self) -> list[tuple[str, int]]:
        count = self._lookup.partitions(self.topic)
        if count:
            return [(f"{self.topic}-partition-{index}", index) for index in range(count)]
        found = _PARTITION.search(self.topic)
        return [(self.topic, int(found.group(1)) if found else -1)]

    def _subscribe(self, consumer: PartitionConsumer, patient_with: type[CliError] = NotReady) -> None:
        """Tries again as long as the failure is one that passes, and time is left."""
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                consumer.subscribe(self._lookup.connect(consumer.topic))
                self._index()
                return
            except (NotReady, patient_with):
                if time.monotonic() + RETRY_SECONDS > deadline:
                    raise
            time.sleep(RETRY_SECONDS)

    def _reconnect(self, lost: BrokerConnection) -> None:
        for consumer in self._consumers:
            if consumer.connection is lost:
                self._subscribe(consumer, patient_with=CannotConnect)

    def _last_id(self, consumer: PartitionConsumer) -> tuple[MessageId | None, bool]:
        try:
            return consumer.last_id()
        except ConnectionLost:
            self._reconnect(consumer.connection)
        except CliError:
            if not consumer.connection.take_close(consumer.consumer_id):
                raise
            self._subscribe(consumer, patient_with=CannotConnect)  # it was closed before the question arrived
        return consumer.last_id()

    def _close_reached(self, open_ends: dict[int, tuple[int, int]]) -> None:
        """Forgets the ends before which nothing is to come: the topic is empty, trimmed, or read to its last entry."""
        for consumer in self._consumers:
            if consumer.partition in open_ends and not self._last_id(consumer)[1]:
                del open_ends[consumer.partition]

    def _step(self, deadline: float) -> tuple[PartitionConsumer, Entry | None] | None:
        """What one MESSAGE brought (no entry: it lies before the start), or None when none came in time."""
        while True:
            for connection in self._by_connection:
                if connection.arrived:
                    break
            else:
                if not self._receive(deadline):
                    return None
                continue
            if (step := self._take(connection)) is not None:
                return step

    def _index(self) -> None:
        self._by_connection = {}
        for consumer in self._consumers:
            if consumer.is_subscribed:
                self._by_connection.setdefault(consumer.connection, {})[consumer.consumer_id] = consumer

    def _take(self, connection: BrokerConnection) -> tuple[PartitionConsumer, Entry | None] | None:
        """Handles what arrived first on a connection; None when that was no message of ours."""
        item = connection.arrived.popleft()
        consumer_id = item.consumer_id if isinstance(item, CommandCloseConsumer) else item.message.consumer_id
        consumer = self._by_connection[connection].get(consumer_id)
        if consumer is None:
            return None
        if isinstance(item, CommandCloseConsumer):  # the topic is unloaded or moves to another broker
            self._subscribe(consumer, patient_with=CannotConnect)
            return None
        try:
            return consumer, consumer.take(item)
        except ConnectionLost:
            self._reconnect(connection)
            return None

    def _receive(self, deadline: float) -> bool:
        """Reads from every connection that has something; False when nothing came in time."""
        with selectors.DefaultSelector() as selector:
            for connection in self._by_connection:
                selector.register(connection, selectors.EVENT_READ, connection)
            ready = selector.select(max(deadline - time.monotonic(), 0))
        for key, _ in ready:
            try:
                key.data.receive(time.monotonic() + self._timeout_seconds)
            except ConnectionLost:
                self._reconnect(key.data)
        return bool(ready)


def _first(start: Start | Mapping[int, Start], partition: int, inclusive: bool, topic: str) -> Start | None:
    """Where to start in one partition; None when it is not to be read. Raises `UsageProblem`."""
    if isinstance(start, Mapping):
        return _first(start[partition], partition, inclusive, topic) if partition in start else None
    if isinstance(start, PublishedSince) or start in (EARLIEST, LATEST):
        return start
    if partition >= 0 and start.partition != partition and not _PARTITION.search(topic):
        if start.partition >= 0:
            return None
        raise UsageProblem(
            f"{topic} is partitioned, and {start} does not say which partition it is in",
            hint=f"write LEDGER:ENTRY:PARTITION, or read one partition, as in {topic}-partition-0",
        )
    if inclusive:
        return start
    if start.batch_index >= 0:
        return start._replace(batch_index=start.batch_index + 1)
    return start._replace(entry_id=start.entry_id + 1)


def _up_to(open_ends: dict[int, tuple[int, int]], consumer: PartitionConsumer, entry: Entry | None) -> Iterator[Entry]:
    """Yields the entry if it lies before its partition's end, and forgets an end that it reaches."""
    end = open_ends.get(consumer.partition)
    if end is None or entry is None:
        return
    if entry.id.position >= end:
        del open_ends[consumer.partition]
    if entry.id.position <= end:
        yield entry
