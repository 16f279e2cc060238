"""Housekeeping of a topic: expiry of messages (TTL), deletion of acknowledged ones (retention), compaction, offloading.

Each topic has one timer. It is set to the next moment at which something is due, and set again when a policy changes,
a cursor moves, or the first message arrives. The timer runs on the monotonic clock. `expiry_clock` compares stored
publish times to decide what is due, so a jump of the wall clock expires nothing early.
Source: Pulsar docs, "Message retention and expiry".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker_core.compaction.compaction import CompactionState
from broker_core.rates.time_slices import sliced
from broker_core.storage.errors import StorageError
from broker_core.storage.log.retention import Retention
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.backlog.backlogged import Backlogged
    from broker_core.compaction.compaction import Compaction
    from broker_core.topic.offloading import Offloading

log = logging.getLogger(__name__)

SETTLE_SECONDS = 0.5  # acknowledgments within this time are handled together
EVERYTHING = Retention()  # nothing acknowledged is kept
CHECK_AGAIN_SECONDS = 60.0  # the wall clock may have been set, or a topic may not be frozen any more


class Housekeeping(TopicPart):
    def __init__(
        self,
        context: TopicContext,
        subscriptions: Mapping[str, Backlogged],
        compaction: Compaction,
        offloading: Offloading,
        *,
        compaction_seconds: int,
    ) -> None:
        """`compaction_seconds` is the minimum time between two compactions that a threshold starts."""
        self._context = context
        self._log = context.log.on_disk  # None: nothing is stored, so nothing is ever due
        self._subscriptions = subscriptions
        self._compaction = compaction
        self._offloading = offloading
        self._compaction_seconds = compaction_seconds
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0  # when the timer fires (monotonic)
        self._run_task: asyncio.Task[None] | None = None
        self._again = False
        self._closed = False
        self.watches_appends = False  # a TTL or a compaction threshold applies, so a new message may make work due

    def look_soon(self) -> None:
        """A cursor moved, or there are new messages and it `watches_appends`: work may be due before the timer."""
        if self._timer is None or self._due > self._loop.time() + SETTLE_SECONDS:
            self._arm(SETTLE_SECONDS)

    async def policies_changed(self) -> None:
        """Checks at once."""
        policies = self._context.policies
        self.watches_appends = policies.ttl_seconds > 0 or policies.compaction_threshold > 0
        self.watches_appends |= self._offloading.watches_rolls
        self._arm(0)

    async def close(self) -> None:
        """Waits for running work, which must not touch the log after it is closed or opened again."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._run_task is not None:
            await asyncio.wait([self._run_task])

    def _arm(self, seconds: float) -> None:
        if self._closed or self._log is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_later(seconds, self._fire)

    def _fire(self) -> None:
        self._timer = None
        if self._run_task is not None:
            self._again = True
        else:
            self._run_task = self._context.spawn(self._run())

    async def _run(self) -> None:
        try:
            await self._expire()
            await self.trim()
            self._compact()
            await self._offloading.check(self._context.expiry.now_ms())
            seconds = await self._next_due_seconds()
        except (StorageError, OSError) as error:
            log.warning("topic %s: cannot run housekeeping: %s", self._context.name, error)
            seconds = CHECK_AGAIN_SECONDS
        finally:
            self._run_task = None
        if self._again:
            self._again, seconds = False, 0.0
        if seconds is not None and (self._timer is None or self._due > self._loop.time() + seconds):
            self._arm(min(seconds, CHECK_AGAIN_SECONDS))

    async def _expire(self) -> None:
        ttl_ms = self._context.policies.ttl_seconds * 1000
        if ttl_ms <= 0:
            return
        oldest_kept = self._context.expiry.now_ms() - ttl_ms
        async for subscription in sliced(list(self._subscriptions.values())):
            if subscription.durable:
                await subscription.expire_before(oldest_kept)

    async def trim(self, *, by_request: bool = False) -> None:
        retention = self._retention()
        if by_request:
            retention = retention._replace(open_grace_ms=0)
        if self._log is not None:
            await self._log.trim(retention, self._context.expiry.now_ms())

    async def truncate(self) -> None:
        """Deletes every message that was there, whatever retention says."""
        for subscription in list(self._subscriptions.values()):
            if subscription.durable:
                await subscription.clear_backlog()
        if self._log is not None:
            await self._compaction.skip_to(self._context.log.last_confirmed)
            await self._log.trim(EVERYTHING, self._context.expiry.now_ms())

    def _compact(self) -> None:
        """Starts a compaction if the uncompacted bytes exceed the threshold, at most once per interval."""
        compaction, threshold = self._compaction, self._context.policies.compaction_threshold
        if 0 < threshold <= compaction.backlog_bytes and not compaction.is_running and self._compaction_wait() <= 0:
            compaction.start()

    def _compaction_wait(self) -> float:
        """Seconds until a threshold may start a compaction of this topic again."""
        compaction, pause = self._compaction, self._compaction_seconds
        if compaction.last_start is None:
            return 0.0
        if compaction.state is CompactionState.ERROR:
            pause = max(pause, round(CHECK_AGAIN_SECONDS))
        return compaction.last_start + pause - self._context.clock.monotonic()

    def _retention(self) -> Retention:
        subscribed = any(subscription.durable for subscription in self._subscriptions.values())
        return self._context.policies.retention.limits_of(subscribed=subscribed)

    async def _next_due_seconds(self) -> float | None:
        """Seconds until something is due; None if that takes a change first."""
        policies, now = self._context.policies, self._context.expiry.now_ms()
        due = [None if self._log is None else self._log.next_trim_due(self._retention(), now)]
        due.append(self._offloading.next_due(now))
        ttl_ms = policies.ttl_seconds * 1000
        if ttl_ms > 0:
            async for subscription in sliced(list(self._subscriptions.values())):
                published = await self._oldest_unacknowledged_ms(subscription)
                if subscription.is_frozen:
                    due.append(now + round(CHECK_AGAIN_SECONDS * 1000))
                elif published is not None:
                    due.append(published + ttl_ms + 1)
        outgrown = 0 < policies.compaction_threshold <= self._compaction.backlog_bytes
        if outgrown and not self._compaction.is_running:
            due.append(now + round(max(0.0, self._compaction_wait()) * 1000))
        dated = [moment for moment in due if moment is not None]
        return max(0.0, (min(dated) - now) / 1000) if dated else None

    async def _oldest_unacknowledged_ms(self, subscription: Backlogged) -> int | None:
        oldest = subscription.cursor.oldest_unacknowledged() if subscription.durable else None
        if oldest is not None and oldest > self._context.log.visible_end:
            return None  # it may not expire before a transaction ends
        return None if oldest is None else await self._context.log.publish_time(oldest)
