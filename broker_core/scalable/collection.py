"""Removes sealed segments that are older than retention allows, and that every subscription has read to the end.

Retention is that of the topic, its namespace, or the broker: 0 removes a segment as soon as it is read, and a negative
time keeps it. Every durable subscription of the segment counts, not only those in the record: Apache Pulsar
5.0.0-M1 loses what a queue consumer has not acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError
from broker_core.rates.time_slices import sliced
from broker_core.scalable.segments import durable_subscriptions
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_core.clock import Clock
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import TopicName
    from broker_core.scalable.changes import LayoutChanges
    from broker_core.scalable.layout import Segment
    from broker_core.scalable.records import ScalableRecords
    from broker_core.scalable.segments import SegmentTopics

log = logging.getLogger(__name__)

CHECK_SECONDS = 60.0  # as in Pulsar


class Collection:
    def __init__(
        self,
        records: ScalableRecords,
        segments: SegmentTopics,
        changes: LayoutChanges,
        tenancy: Tenancy,
        clock: Clock,
    ) -> None:
        self._records = records
        self._segments = segments
        self._changes = changes
        self._tenancy = tenancy
        self._clock = clock

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self._changes.finish_all()
            await self.collect_all()

    async def collect_all(self) -> None:
        async for name in sliced(self._records.all()):
            try:
                await self.collect(name)
            except (BrokerError, StorageError, OSError) as error:
                log.warning("topic %s: cannot remove sealed segments: %s", name, error)

    async def collect(self, name: TopicName) -> None:
        """Removes the segments of one topic. A regular topic that became a scalable one goes as a whole."""
        record = self._records.get(name)
        sealed = [] if record is None else [one for one in record.layout.segments.values() if not one.is_active]
        legacy = [segment for segment in sealed if segment.legacy_topic]
        for together in (legacy, *([segment] for segment in sealed if not segment.legacy_topic)):
            if together and all(self._is_old(name, segment) for segment in together):
                await self._remove(name, together)

    async def _remove(self, name: TopicName, segments: Sequence[Segment]) -> None:
        """Asks before it waits for other changes, and again afterwards: a seek may have come."""

        async def may_go() -> bool:
            return all([await self._is_read(name, segment) for segment in segments])

        ids = [segment.id for segment in segments]
        if await may_go() and await self._changes.remove(name, ids, may_go):
            log.info("topic %s: removed segments %s, which every subscription has read", name, ids)

    def _is_old(self, name: TopicName, segment: Segment) -> bool:
        limit_ms = self._tenancy.effective.of(name).retention.limits.time_ms
        return limit_ms >= 0 and self._clock.wall_ms() - segment.sealed_ms >= limit_ms

    async def _is_read(self, name: TopicName, segment: Segment) -> bool:
        """Loads the segment if necessary, and only for the question: sealed segments cost no memory."""
        if not self._segments.exists(name, segment):
            return True
        was_loaded = self._segments.loaded(name, segment) is not None
        topic = await self._segments.topic(name, segment)
        is_read = all(self._segments.is_drained(name, segment, one) for one in durable_subscriptions(topic))
        if not was_loaded:  # one that is read may stay, because of the segments that go with it, or of an error
            await self._segments.unload(name, segment)
        return is_read
