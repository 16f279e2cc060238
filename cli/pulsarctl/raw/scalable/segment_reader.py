"""Reads a scalable topic entry by entry, each segment after its parents, so that the messages of a key are in order.

It leaves nothing on the broker: each segment has a non-durable subscription that ends with the reader. In entries and
message IDs, the partition is the ID of the segment. After a lost connection, reading continues after the last entry.
"""

import contextlib
import itertools
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import CommandCloseConsumer
from pulsarctl.errors import CannotConnect, CliError, NotFound, TimedOut
from pulsarctl.raw.broker_connection import Arrived, BrokerConnection, ConnectionLost, NotReady, pause_before
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.partition_consumer import PartitionConsumer, Start
from pulsarctl.raw.scalable.layout import Segment
from pulsarctl.raw.scalable.layout_session import LayoutSession
from pulsarctl.raw.several_connections import next_arrival
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.client_security import OPEN, ClientSecurity
from pulsarctl.values.message_ids import EARLIEST, LATEST, MessageId

PROBE_SECONDS = 1.0  # silence after which the reader asks for the last message of each segment

Step = tuple[int, Entry | None]  # a segment and its next entry, or None for an entry before the start


class SegmentReader:
    """`start` is for the segments that exist now, or a mapping by segment, which omits those that are not read.

    Later segments are read from their first message. `timeout_seconds` bounds each request, and the time to reconnect.
    """

    def __init__(
        self,
        service_url: str,
        topic: str,
        *,
        start: Start | Mapping[int, Start] = EARLIEST,
        timeout_seconds: float = 30.0,
        security: ClientSecurity = OPEN,
    ) -> None:
        """Raises `CannotConnect`, `NotFound`, `NotAuthorized`, `TimedOut`, or `CliError` (other refusals)."""
        self.topic = topic
        self._timeout_seconds = timeout_seconds
        self._start = start
        self._lookup = TopicLookup(service_url, timeout_seconds=timeout_seconds, security=security)
        self._consumer_ids = itertools.count(1)
        self._consumers: dict[int, PartitionConsumer] = {}  # by consumer ID; a later one of a segment has another ID
        self._ends: dict[int, tuple[int, int]] = {}  # the last positions of sealed segments
        self._finished: set[int] = set()
        self._wanted: set[int] | None = None  # None: all segments
        try:
            self._session = LayoutSession(self._lookup, topic, create=False)
            layout = self._session.layout
            self._last_known = max(start, default=-1) if isinstance(start, Mapping) else layout.last_id
            self._skipped = {segment.id for segment in layout.segments.values() if self._is_skipped(segment)}
            self._advance()
        except BaseException:
            self._lookup.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, timeout_seconds: float) -> Entry | None:
        """The next entry of any segment, or None if none arrives in time."""
        deadline = time.monotonic() + timeout_seconds
        while (step := self._step(deadline)) is not None:
            if step[1] is not None:
                return step[1]
        return None

    def to(self, ends: Mapping[int, MessageId | None]) -> Iterator[Entry]:
        """Entries up to and including `ends`, by segment. Reads no segment whose end is None or missing.

        Raises `TimedOut` if expected entries do not arrive.
        """
        open_ends = {segment_id: end.position for segment_id, end in ends.items() if end is not None}
        self._read_only(set(open_ends))
        heard = time.monotonic()
        while self._consumers:
            step = self._step(time.monotonic() + min(PROBE_SECONDS, self._timeout_seconds))
            if step is not None:
                heard = time.monotonic()
                yield from self._up_to(open_ends, *step)
                continue
            self._probe()
            if self._consumers and time.monotonic() - heard > self._timeout_seconds:
                raise TimedOut(f"cannot read all of {self.topic}: nothing arrived within {self._timeout_seconds:g} s")

    def last_ids(self) -> dict[int, MessageId | None]:
        """The last message of each segment that is to be read, None if it has none."""
        segments = self._session.layout.segments.values()
        return {segment.id: self._last_id(segment) for segment in segments if self._is_left(segment)}

    def close(self) -> None:
        """Closes the subscriptions. When this returns, the broker has removed them, unless it is unreachable."""
        for consumer in list(self._consumers.values()):
            self._close(consumer)
        self._lookup.close()

    def _is_skipped(self, segment: Segment) -> bool:
        """Whether nothing of the segment is read: it is not in the mapping, or it was sealed before LATEST."""
        if isinstance(self._start, Mapping):
            return segment.id <= self._last_known and segment.id not in self._start
        return self._start == LATEST and not segment.is_active

    def _is_left(self, segment: Segment) -> bool:
        if segment.id in self._finished or segment.id in self._skipped:
            return False
        return self._wanted is None or segment.id in self._wanted

    def _start_of(self, segment: Segment) -> Start:
        if segment.id > self._last_known:
            return EARLIEST
        return self._start[segment.id] if isinstance(self._start, Mapping) else self._start

    def _last_id(self, segment: Segment) -> MessageId | None:
        """None for a segment that was collected in the meantime. Asks again after a lost connection."""
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                return self._asked_last_id(segment)
            except NotFound:
                return None
            except ConnectionLost:
                if time.monotonic() > deadline:
                    raise
                self._reconnect()

    def _asked_last_id(self, segment: Segment) -> MessageId | None:
        """A subscription of its own asks for it, because the segment may not be open yet."""
        probe = PartitionConsumer(segment.topic, segment.id, LATEST, permits=1, consumer_id=next(self._consumer_ids))
        try:
            self._subscribe(probe)
            last = probe.last_id()[0]
        except CliError:
            if not (probe.is_subscribed and probe.connection.take_close(probe.consumer_id)):
                raise
            return self._asked_last_id(segment)  # it was closed before the request arrived
        self._close(probe)
        return last

    def _read_only(self, segments: set[int]) -> None:
        self._wanted = segments
        for consumer in list(self._consumers.values()):
            if consumer.partition not in segments:
                self._finish(consumer)
        self._probe()

    def _up_to(self, open_ends: Mapping[int, tuple[int, int]], segment_id: int, entry: Entry | None) -> Iterator[Entry]:
        if entry is None:
            return
        end = open_ends[segment_id]
        if entry.id.position <= end:
            yield entry
        if entry.id.position >= end:
            for consumer in [item for item in self._consumers.values() if item.partition == segment_id]:
                self._finish(consumer)
            self._probe()

    def _advance(self) -> None:
        """Opens the segments that are next, and finishes those that are read to their end or collected."""
        is_changed = True
        while is_changed:
            finished = len(self._finished)
            opened = {consumer.partition for consumer in self._consumers.values()}
            for segment in self._session.layout.ready(self._finished):
                if not self._is_left(segment):  # its children are next nevertheless
                    self._finished.add(segment.id)
                elif segment.id not in opened:
                    self._open(segment)
            for consumer in [item for item in self._consumers.values() if self._has_ended(item)]:
                self._finish(consumer)
            is_changed = len(self._finished) > finished

    def _probe(self) -> None:
        """Like `_advance`, but connects again if a connection was lost."""
        try:
            self._advance()
        except ConnectionLost:
            self._reconnect()

    def _open(self, segment: Segment) -> None:
        consumer_id = next(self._consumer_ids)
        consumer = PartitionConsumer(segment.topic, segment.id, self._start_of(segment), consumer_id=consumer_id)
        self._consumers[consumer_id] = consumer
        try:
            self._subscribe(consumer)
        except NotFound:  # it was collected in the meantime
            self._finish(consumer)

    def _has_ended(self, consumer: PartitionConsumer) -> bool:
        """Whether no entry is left in a segment that gets no more. With an end, none of those is of interest."""
        segment_id, layout = consumer.partition, self._session.layout
        if segment_id not in layout.segments:
            return True
        if self._wanted is None and layout.is_active(segment_id):
            return False
        try:
            last, is_left = consumer.last_id()
        except CliError:
            if not consumer.connection.take_close(consumer.consumer_id):
                raise
            self._subscribe(consumer)  # it was closed before the request arrived
            return False
        if last is not None and not layout.is_active(segment_id):
            self._ends[segment_id] = last.position
        return not is_left

    def _finish(self, consumer: PartitionConsumer) -> None:
        self._finished.add(consumer.partition)
        self._ends.pop(consumer.partition, None)
        if consumer.is_subscribed:
            self._close(consumer)
        self._consumers.pop(consumer.consumer_id, None)

    def _close(self, consumer: PartitionConsumer) -> None:
        with contextlib.suppress(CliError):  # the subscription ends with the connection
            consumer.close()

    def _subscribe(self, consumer: PartitionConsumer) -> None:
        """Waits while the segment is loading."""
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                consumer.subscribe(self._lookup.connect(consumer.topic))
            except NotReady:
                if not pause_before(deadline):
                    raise
            else:
                return

    def _step(self, deadline: float) -> Step | None:
        """The content of one MESSAGE, or None if none arrives in time."""
        while True:
            try:
                item = next_arrival(self._connections(), deadline)
                if item is None:
                    return None
                if (step := self._take(item)) is not None:
                    return step
            except ConnectionLost:
                self._reconnect()

    def _connections(self) -> set[BrokerConnection]:
        return {self._session.connection, *(consumer.connection for consumer in self._consumers.values())}

    def _take(self, item: Arrived) -> Step | None:
        if isinstance(item, MessageFrame):
            consumer = self._consumers.get(item.message.consumer_id)
            return None if consumer is None else self._entry(consumer, item)
        if isinstance(item, CommandCloseConsumer):  # the segment is unloaded, moved to another broker, or deleted
            if (closed := self._consumers.pop(item.consumer_id, None)) is not None:
                self._reopen(closed)
        elif self._session.take(item):
            self._advance()
        return None

    def _entry(self, consumer: PartitionConsumer, frame: MessageFrame) -> Step:
        entry = consumer.take(frame)
        message_id = frame.message.message_id
        end = self._ends.get(consumer.partition)
        if end is not None and (message_id.ledgerId, message_id.entryId) >= end:
            self._finish(consumer)
            self._probe()  # a lost connection must not lose the entry
        return consumer.partition, entry

    def _reopen(self, consumer: PartitionConsumer) -> None:
        self._consumers[consumer.consumer_id] = consumer
        try:
            self._subscribe(consumer)
        except NotFound:
            self._finish(consumer)
            self._advance()

    def _reconnect(self) -> None:
        """Opens everything again, where reading stopped, and repeats it while time is left."""
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            self._lookup.close()
            try:
                self._session = LayoutSession(self._lookup, self.topic, create=False)
                for consumer in list(self._consumers.values()):
                    self._reopen(consumer)
                self._advance()
            except (CannotConnect, NotReady):
                if not pause_before(deadline):
                    raise
            else:
                return
