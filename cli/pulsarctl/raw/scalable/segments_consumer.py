"""Consumes a scalable topic: a consumer for each segment that its membership names.

A segment that is given up loses only messages that were not delivered to the caller, because those are settled before
the next `receive`. After a lost connection, everything is opened again, and the broker sends again what is unsettled.
"""

import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Sequence

from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import CommandCloseConsumer
from pulsarctl.errors import CannotConnect, CliError, Conflict, NotFound
from pulsarctl.raw.broker_connection import Arrived, BrokerConnection, ConnectionLost, NotReady, pause_before
from pulsarctl.raw.entry_record import EntryRecord
from pulsarctl.raw.scalable.membership import Assigned, Membership, Registration, WholeLayout
from pulsarctl.raw.scalable.segment_consumer import ConsumerSettings, SegmentConsumer
from pulsarctl.raw.several_connections import next_arrival
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.records.record import Record


class SegmentsConsumer:
    """A source of records. `lookup()` opens a lookup, and `timeout_seconds` bounds the time to connect again."""

    ended = False

    def __init__(
        self, lookup: Callable[[], TopicLookup], topic: str, settings: ConsumerSettings, timeout_seconds: float
    ) -> None:
        """Raises what connecting raises, or the broker's refusal of the consumer."""
        self._topic = topic
        self._settings = settings
        self._timeout_seconds = timeout_seconds
        self._consumer_ids = itertools.count(1)
        self._consumers: dict[int, SegmentConsumer] = {}  # by segment
        self._received: deque[EntryRecord] = deque()
        self._lookup = lookup()
        try:
            self._membership = self._join()
            self._last_known = self._membership.last_id
            self._open_segments()
        except BaseException:
            self._lookup.close()
            raise

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[EntryRecord]:
        """Raises `DamagedEntry`, `NotFound`, or what connecting again raises."""
        deadline = time.monotonic() + timeout_ms / 1000
        while not self._received:
            try:
                item = next_arrival(self._connections(), deadline)
                if item is None:
                    break
                self._take(item)
            except ConnectionLost:
                self._reconnect()
        return [self._received.popleft() for _ in range(min(count_max, len(self._received)))]

    def settle(self, records: Sequence[Record]) -> None:
        """Acknowledges records of the last `receive`."""
        by_segment: dict[int, list[Record]] = {}
        for record in records:
            by_segment.setdefault(record.partition, []).append(record)
        for segment_id, settled in by_segment.items():
            with contextlib.suppress(ConnectionLost):  # the next `receive` connects again
                if segment_id in self._consumers:
                    self._consumers[segment_id].settle(settled)

    def close(self) -> None:
        """Leaves. When this returns, the broker has the acknowledgments, unless it is unreachable."""
        with contextlib.suppress(CliError):
            self._membership.leave()
        for consumer in self._consumers.values():
            with contextlib.suppress(CliError):
                consumer.close()
        self._lookup.close()

    def _join(self) -> Membership:
        settings = self._settings
        if settings.is_shared:
            return WholeLayout(self._lookup, self._topic)
        return Registration(self._lookup, self._topic, settings.subscription, settings.name)

    def _connections(self) -> set[BrokerConnection]:
        return {self._membership.connection, *(consumer.connection for consumer in self._consumers.values())}

    def _take(self, item: Arrived) -> None:
        if isinstance(item, MessageFrame):
            for consumer in self._consumers.values():
                if consumer.consumer_id == item.message.consumer_id:
                    self._received.extend(consumer.take(item))
        elif isinstance(item, CommandCloseConsumer):  # the segment is unloaded, moved to another broker, or deleted
            for consumer in [known for known in self._consumers.values() if known.consumer_id == item.consumer_id]:
                self._forget(consumer.segment_id)
                self._open_segments()
        elif self._membership.take(item):
            self._give_up_segments()
            self._open_segments()

    def _give_up_segments(self) -> None:
        """Also those that are opened again in another way, because consumers begin or cease to share them."""
        for segment_id, consumer in list(self._consumers.items()):
            if self._membership.segments.get(segment_id) != consumer.assigned:
                self._forget(segment_id)
                consumer.close()

    def _forget(self, segment_id: int) -> None:
        """Its messages that are not delivered yet come again, here or to another consumer."""
        del self._consumers[segment_id]
        self._received = deque(record for record in self._received if record.partition != segment_id)

    def _open_segments(self) -> None:
        for segment_id, assigned in self._membership.segments.items():
            if segment_id not in self._consumers:
                self._open(segment_id, assigned)

    def _open(self, segment_id: int, assigned: Assigned) -> None:
        """Waits while the segment is loading, or another consumer gives it up."""
        deadline = time.monotonic() + self._timeout_seconds
        from_earliest = self._settings.from_earliest or segment_id > self._last_known
        while True:
            consumer = SegmentConsumer(assigned, segment_id, next(self._consumer_ids), self._settings)
            try:
                consumer.subscribe(self._lookup.connect(assigned.topic), from_earliest=from_earliest)
            except NotFound:  # it was collected in the meantime
                return
            except (NotReady, Conflict):
                if not pause_before(deadline):
                    raise
            else:
                self._consumers[segment_id] = consumer
                return

    def _reconnect(self) -> None:
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            self._lookup.close()
            self._consumers.clear()
            self._received.clear()
            try:
                self._membership = self._join()
                self._open_segments()
            except (CannotConnect, NotReady):
                if not pause_before(deadline):
                    raise
            else:
                return
