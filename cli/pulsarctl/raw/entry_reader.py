"""Reads a topic entry by entry, with a non-durable subscription that ends with the reader.

The official client hides fields that operators need: stored sizes, sequence IDs, compression, delivery times, and the
broker's index. This reader returns the stored entries of any Pulsar. It acknowledges nothing and creates nothing.
Entries of one partition arrive in order, and partitions are merged as they arrive. After a lost connection, reading
continues after the last entry. Every wait has a deadline.

    with EntryReader("pulsar://localhost:6650", "orders", start=EARLIEST) as reader:
        for entry in reader.to_end():           # up to the last entry at the start
            for message in entry.messages(): ...
        entry = reader.read(timeout_seconds=5)  # a later entry, or None
"""

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import CommandCloseConsumer
from pulsarctl.errors import CannotConnect, CliError, TimedOut, UsageProblem
from pulsarctl.raw.broker_connection import Arrived, BrokerConnection, ConnectionLost, NotReady, pause_before
from pulsarctl.raw.entry import Entry, StoredMessage
from pulsarctl.raw.partition_consumer import PartitionConsumer, PublishedSince, Start
from pulsarctl.raw.several_connections import next_arrival
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.client_security import OPEN, ClientSecurity
from pulsarctl.values.message_ids import EARLIEST, LATEST, MessageId
from pulsarctl.values.names import is_partition, partition_index, partition_name

__all__ = ["EARLIEST", "LATEST", "Entry", "EntryReader", "MessageId", "PublishedSince", "Start", "StoredMessage"]

PROBE_SECONDS = 1.0  # silence after which the reader asks for the last message

Step = tuple[PartitionConsumer, Entry | None]  # a partition and its next entry, or None for an entry before the start


class EntryReader:
    """The entries of one topic: of all its partitions, unless `topic` names a partition.

    start            `EARLIEST`, `LATEST`, a `MessageId` (including it, unless `inclusive` is false; with a batch index:
                     from that message on), `PublishedSince`, or a mapping of these by partition, which omits the
                     partitions that are not read
    timeout_seconds  bounds the handshake, each request, and the time to reconnect
    security         credentials, and certificates for a `pulsar+ssl` URL
    read_compacted   read the compacted topic: the last message of each key, then the messages after the compaction
    Raises `UsageProblem`, `CannotConnect`, `NotFound`, `NotAuthorized`, `TimedOut`, or `CliError` (other refusals).
    """

    def __init__(
        self,
        service_url: str,
        topic: str,
        *,
        start: Start | Mapping[int, Start] = EARLIEST,
        inclusive: bool = True,
        timeout_seconds: float = 30.0,
        security: ClientSecurity = OPEN,
        read_compacted: bool = False,
    ) -> None:
        self.topic = topic
        self._timeout_seconds = timeout_seconds
        self._lookup = TopicLookup(service_url, timeout_seconds=timeout_seconds, security=security)
        self._consumers: dict[int, PartitionConsumer] = {}  # by consumer ID
        self._connections: set[BrokerConnection] = set()
        try:
            for name, partition in self._partition_names():
                first = _first(start, partition, inclusive, topic)
                if first is not None:
                    consumer = PartitionConsumer(name, partition, first, read_compacted=read_compacted)
                    self._consumers[consumer.consumer_id] = consumer
            for consumer in self._consumers.values():
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
        """The partitions that are read, or [-1] for a topic without partitions."""
        return [consumer.partition for consumer in self._consumers.values()]

    def read(self, timeout_seconds: float) -> Entry | None:
        """The next entry of any partition, or None if none arrives in time."""
        deadline = time.monotonic() + timeout_seconds
        while (step := self._step(deadline)) is not None:
            if step[1] is not None:
                return step[1]
        return None

    def to_end(self) -> Iterator[Entry]:
        """Entries up to the current end of each partition; see `to`."""
        return self.to(self.last_ids())

    def to(self, ends: Mapping[int, MessageId | None]) -> Iterator[Entry]:
        """Entries up to and including `ends`, by partition. Reads no partition whose end is None or missing.

        An end that is trimmed in the meantime counts as reached. Entries after the end of their partition are skipped.
        Raises `TimedOut` if expected entries do not arrive.
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
                raise TimedOut(f"cannot read all of {self.topic}: nothing arrived within {self._timeout_seconds:g} s")

    def last_ids(self) -> dict[int, MessageId | None]:
        """The last message of each partition, None if it has none."""
        return {consumer.partition: self._last_id(consumer)[0] for consumer in self._consumers.values()}

    def close(self) -> None:
        """Closes the subscriptions. When this returns, the broker has removed them, unless it is unreachable."""
        try:
            for consumer in self._consumers.values():
                consumer.close()
        except CliError:
            pass  # the subscriptions end with the connection
        self._consumers.clear()
        self._lookup.close()

    def _partition_names(self) -> list[tuple[str, int]]:
        count = self._lookup.partitions(self.topic)
        if count:
            return [(partition_name(self.topic, index), index) for index in range(count)]
        return [(self.topic, partition_index(self.topic))]

    def _subscribe(self, consumer: PartitionConsumer, patient_with: type[CliError] = NotReady) -> None:
        """Retries after a temporary failure while time is left."""
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                consumer.subscribe(self._lookup.connect(consumer.topic))
            except (NotReady, patient_with):
                if not pause_before(deadline):
                    raise
            else:
                self._connections = {each.connection for each in self._consumers.values() if each.is_subscribed}
                return

    def _reconnect(self) -> None:
        """Subscribes again on each partition whose connection is lost."""
        for consumer in self._consumers.values():
            if consumer.connection.is_lost:
                self._subscribe(consumer, patient_with=CannotConnect)

    def _last_id(self, consumer: PartitionConsumer) -> tuple[MessageId | None, bool]:
        """Asks again after a lost connection while time is left."""
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                return consumer.last_id()
            except ConnectionLost:
                if time.monotonic() > deadline:
                    raise
                self._reconnect()
            except CliError:
                if not consumer.connection.take_close(consumer.consumer_id):
                    raise
                self._subscribe(consumer, patient_with=CannotConnect)  # it was closed before the request arrived

    def _close_reached(self, open_ends: dict[int, tuple[int, int]]) -> None:
        """Removes the ends before which no entry is left: the topic is empty, trimmed, or read to its end."""
        for consumer in self._consumers.values():
            if consumer.partition in open_ends and not self._last_id(consumer)[1]:
                del open_ends[consumer.partition]

    def _step(self, deadline: float) -> Step | None:
        """The content of one MESSAGE, or None if none arrives in time."""
        while True:
            try:
                item = next_arrival(self._connections, deadline)
            except ConnectionLost:
                self._reconnect()
                continue
            if item is None:
                return None
            if (step := self._take(item)) is not None:
                return step

    def _take(self, item: Arrived) -> Step | None:
        """None if it is not a message for this reader."""
        if not isinstance(item, CommandCloseConsumer | MessageFrame):
            return None
        consumer_id = item.consumer_id if isinstance(item, CommandCloseConsumer) else item.message.consumer_id
        consumer = self._consumers.get(consumer_id)
        if consumer is None:
            return None
        if isinstance(item, CommandCloseConsumer):  # the topic is unloaded or moved to another broker
            self._subscribe(consumer, patient_with=CannotConnect)
            return None
        try:
            return consumer, consumer.take(item)
        except ConnectionLost:
            self._reconnect()
            return None


def _first(start: Start | Mapping[int, Start], partition: int, inclusive: bool, topic: str) -> Start | None:
    """The start in one partition, or None to skip it. Raises `UsageProblem`."""
    if isinstance(start, Mapping):
        return _first(start[partition], partition, inclusive, topic) if partition in start else None
    if isinstance(start, PublishedSince) or start in (EARLIEST, LATEST):
        return start
    if partition >= 0 and start.partition != partition and not is_partition(topic):
        if start.partition >= 0:
            return None
        raise UsageProblem(
            f"cannot start at {start}: {topic} is partitioned, and the message ID names no partition",
            hint=f"use LEDGER:ENTRY:PARTITION, or read one partition, such as {topic}-partition-0",
        )
    if inclusive:
        return start
    if start.batch_index >= 0:
        return start._replace(batch_index=start.batch_index + 1)
    return start._replace(entry_id=start.entry_id + 1)


def _up_to(open_ends: dict[int, tuple[int, int]], consumer: PartitionConsumer, entry: Entry | None) -> Iterator[Entry]:
    """Yields the entry if it is not after the end of its partition, and removes an end that it reaches."""
    end = open_ends.get(consumer.partition)
    if end is None or entry is None:
        return
    if entry.id.position >= end:
        del open_ends[consumer.partition]
    if entry.id.position <= end:
        yield entry
