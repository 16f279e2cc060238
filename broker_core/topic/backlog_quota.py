"""Quotas of a topic's backlog, by size and by age (Pulsar docs, "Backlog quotas").

The backlog is that of the slowest durable subscription. The broker measures it when a producer connects and every
`backlogQuotaCheckIntervalInSeconds`, and accepts what is published in between. Above a quota, the broker either
disconnects and refuses producers until the backlog has shrunk, or drops the oldest unacknowledged messages until the
backlog is nine tenths of the quota.

The age is that of the oldest whole ledger unless `preciseTimeBasedBacklogQuotaCheck` is set, as in Pulsar.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from broker_core.errors import ProducerBlocked, ProducerHeld
from broker_core.metadata.policies.values import EVICT, HOLD
from broker_core.rates.time_slices import sliced
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import Position
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.backlog.backlogged import Backlogged
    from broker_core.config.features import BacklogQuotaConfig
    from broker_core.metadata.policies.values import BacklogQuota
    from broker_core.publishing.producer import Producer

log = logging.getLogger(__name__)

KEPT_OF_QUOTA = 0.9
Evict = Callable[[], Awaitable[None]]

REFUSAL = "Cannot create producer on topic with backlog quota exceeded"


class BacklogQuotas(TopicPart):
    __slots__ = ("_checking", "_closed", "_config", "_context", "_known", "_producers", "_subscriptions")

    def __init__(
        self,
        context: TopicContext,
        config: BacklogQuotaConfig,
        producers: Mapping[str, Producer],
        subscriptions: Mapping[str, Backlogged],
    ) -> None:
        self._context = context
        self._producers = producers
        self._subscriptions = subscriptions
        self._closed = False
        self._config = config
        self._checking = asyncio.Lock()  # concurrent evictions would both drop the same surplus
        self._known = self._in_force()

    def _in_force(self) -> tuple[BacklogQuota, BacklogQuota]:
        return self._context.policies.size_quota, self._context.policies.age_quota

    async def policies_changed(self) -> None:
        """Checks a changed quota soon, not at the next interval."""
        known, self._known = self._known, self._in_force()
        if self.is_set and self._known != known:
            self._context.spawn(self.check())

    @property
    def is_set(self) -> bool:
        """Whether there is anything to check."""
        by_size, by_age = self._in_force()
        return self._config.check and (by_size.size > 0 or by_age.seconds > 0)

    async def check_producer(self) -> None:
        """Raises `ProducerHeld` or `ProducerBlocked` when no producer may connect now; may read from disk."""
        if not self.is_set:
            return
        for quota, _ in await self._exceeded():
            if quota.policy != EVICT:
                raise (ProducerHeld if quota.policy == HOLD else ProducerBlocked)(REFUSAL)

    async def close(self) -> None:
        """A running check ends without enforcing anything."""
        self._closed = True

    async def check(self) -> None:
        """Enforces the quotas; if the disk fails, the next check tries again."""
        try:
            async with self._checking:
                if not self._closed:
                    await self._enforce()
        except (StorageError, OSError) as error:
            log.warning("topic %s: cannot check its backlog quotas: %s", self._context.name, error)

    async def _enforce(self) -> None:
        """Disconnects the producers or drops the oldest messages where a quota is exceeded."""
        for quota, evict in await self._exceeded():
            if quota.policy == EVICT:
                await evict()
            else:
                self._disconnect_producers(quota)

    def _disconnect_producers(self, quota: BacklogQuota) -> None:
        producers = list(self._producers.values())
        if producers:
            log.info(
                "topic %s: disconnecting %d producers: the backlog exceeds %s",
                self._context.name,
                len(producers),
                quota,
            )
        for producer in producers:
            producer.disconnect()

    async def _exceeded(self) -> list[tuple[BacklogQuota, Evict]]:
        """The exceeded quotas, each with the function that drops its surplus."""
        exceeded: list[tuple[BacklogQuota, Evict]] = []
        by_size, by_age = self._in_force()
        if 0 < by_size.size <= await self._backlog_bytes():
            exceeded.append((by_size, partial(self._evict_by_size, by_size.size)))
        if by_age.seconds > 0 and await self._is_too_old(by_age.seconds):
            exceeded.append((by_age, partial(self._evict_by_age, by_age.seconds)))
        return exceeded

    async def _backlog_bytes(self) -> int:
        """The exact backlog of the slowest durable subscription."""
        subscriptions = self._durable()
        for subscription in subscriptions:
            await subscription.cursor.measure()
        return max((subscription.cursor.backlog_bytes for subscription in subscriptions), default=0)

    async def oldest(self) -> tuple[str, int] | None:
        """The subscription with the oldest message that is not acknowledged, and its publish time (ms)."""
        oldest = None
        for subscription in self._durable():
            position = subscription.cursor.oldest_unacknowledged()
            published = None if position is None else await self._context.log.publish_time(position)
            if published is not None and (oldest is None or published < oldest[1]):
                oldest = subscription.name, published
        return oldest

    def _durable(self) -> list[Backlogged]:
        return [subscription for subscription in self._subscriptions.values() if subscription.durable]

    async def _is_too_old(self, seconds: int) -> bool:
        if not self._config.precise_time:
            return any(self._whole_ledgers(subscription, seconds) is not None for subscription in self._durable())
        oldest = await self.oldest()
        return oldest is not None and self._context.expiry.now_ms() - oldest[1] > seconds * 1000

    def _whole_ledgers(self, subscription: Backlogged, seconds: int) -> Position | None:
        """The end of the unacknowledged sealed ledgers that are older; None when there are none."""
        oldest = subscription.cursor.oldest_unacknowledged()
        if oldest is None:
            return None
        sealed_before = self._context.expiry.now_ms() - seconds * 1000
        end = None
        for info in self._context.log.ledger_infos():
            if info.id >= oldest.ledger_id and info.entries:
                if not 0 < info.sealed_ms < sealed_before:
                    break
                end = Position(info.id, info.entries - 1)
        return end

    async def _evict_by_size(self, limit: int) -> None:
        """Skips the same share of entries as the surplus has of the bytes, until no whole entry exceeds the quota."""
        kept = limit * KEPT_OF_QUOTA
        for subscription in self._durable():
            cursor = subscription.cursor
            while not subscription.is_frozen and (size := cursor.backlog_bytes) > kept:
                entries = int((size - kept) / size * cursor.backlog_entries)
                if not entries:
                    break
                await subscription.skip(entries)
                await cursor.measure()

    async def _evict_by_age(self, seconds: int) -> None:
        for subscription in self._durable():
            if self._config.precise_time:
                kept_ms = int(seconds * 1000 * KEPT_OF_QUOTA)
                await subscription.expire_before(self._context.expiry.now_ms() - kept_ms)
            elif (end := self._whole_ledgers(subscription, seconds)) is not None:
                await subscription.expire_up_to(end, inclusive=True)


async def check_forever(quotas: Callable[[], Iterable[BacklogQuotas]], seconds: float) -> None:
    """Checks the quotas of the loaded topics at every interval."""
    while True:
        await asyncio.sleep(seconds)
        await check_all(quotas())


async def check_all(quotas: Iterable[BacklogQuotas]) -> None:
    """Drops messages and disconnects producers where a quota is exceeded."""
    async for topic_quotas in sliced(list(quotas)):
        if topic_quotas.is_set:
            await topic_quotas.check()
