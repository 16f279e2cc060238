"""Splits and merges segments as `scaling` decides, at most once for each decision.

The broker decides about a topic at a fixed interval, when a consumer registers, and after each cooldown. It knows the
rates of loaded segments only: a topic without clients need not be loaded, keeps its segments, and costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, InvalidValue
from broker_core.metadata.policies.auto_scale import AUTO_SCALE, Override, merged
from broker_core.rates.time_slices import sliced
from broker_core.rates.traffic import Traffic
from broker_core.scalable.scaling import NEVER, Load, Readers, Rebucket, Situation, Split, cold_since, next_change
from broker_core.storage.errors import StorageError
from broker_core.tasks import OneAtATime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_core.clock import Clock
    from broker_core.config.features import ScalableConfig
    from broker_core.config.scaling import ScalingConfig
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.rates.rate import Rate
    from broker_core.scalable.changes import LayoutChanges
    from broker_core.scalable.records import ScalableRecords, ScalableTopic
    from broker_core.scalable.segments import SegmentTopics
    from broker_core.tasks import Spawn
    from broker_core.topic.topic import Topic

log = logging.getLogger(__name__)

AFTER_COOLDOWN = 0.1  # seconds; timers may be slightly early


@dataclass(slots=True)
class _History:
    """What the broker remembers of a topic in use; times are monotonic."""

    last_split: float = NEVER
    last_merge: float = NEVER
    last_rebucket: float = NEVER
    cold_since: dict[int, float] = field(default_factory=dict)
    problem: str = ""  # the last problem with its settings that was logged


class AutoScaler:
    def __init__(
        self,
        records: ScalableRecords,
        segments: SegmentTopics,
        changes: LayoutChanges,
        tenancy: Tenancy,
        config: ScalingConfig,
        topics: ScalableConfig,
        clock: Clock,
        spawn: Spawn,
        readers_of: Callable[[TopicName], Readers],
    ) -> None:
        self._records = records
        self._segments = segments
        self._changes = changes
        self._tenancy = tenancy
        self._config = config
        self._topics = topics
        self._clock = clock
        self._spawn = spawn
        self._readers_of = readers_of
        self._histories: dict[TopicName, _History] = {}
        self._decisions: OneAtATime[TopicName] = OneAtATime()

    def rules(self, namespace: NamespaceName, own: Override | None = None) -> ScalingConfig:
        """The settings in force, for a topic with a policy of its `own`. Raises `InvalidValue` if they contradict."""
        return merged(self._config, self._tenancy.namespace(namespace).kept.get(AUTO_SCALE), own)

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(self._config.interval_seconds)
            await self.decide_all()

    async def decide_all(self) -> None:
        async for name in sliced({*self._segments.topics_in_use(), *self._histories}):
            await self.decide(name)

    def decide_soon(self, name: TopicName) -> None:
        self._spawn(self.decide(name))

    async def _decide_after(self, name: TopicName, cooldown_seconds: float) -> None:
        await asyncio.sleep(cooldown_seconds + AFTER_COOLDOWN)
        await self.decide(name)

    def forget(self, name: TopicName) -> None:
        """The topic is deleted."""
        self._histories.pop(name, None)

    async def decide(self, name: TopicName) -> None:
        """Splits or merges segments of a topic if it is time to."""
        async with self._decisions.of(name):
            record = self._records.get(name)
            loads = {} if record is None else self._loads(name, record)
            if record is None or not (loads or any(self._readers_of(name))):
                self.forget(name)
                return
            history = self._histories.setdefault(name, _History())
            rules = self._rules_of(name, record, history)
            if rules is not None:
                await self._change(name, record, loads, history, rules)

    def _rules_of(self, name: TopicName, record: ScalableTopic, history: _History) -> ScalingConfig | None:
        """None if the settings contradict, which is logged once."""
        try:
            rules = self.rules(name.namespace, record.policy)
        except BrokerError as error:
            if isinstance(error, InvalidValue) and str(error) != history.problem:
                history.problem = str(error)
                log.warning("topic %s: the broker does not split and merge its segments: %s", name, error)
            return None
        history.problem = ""
        return rules

    async def _change(
        self, name: TopicName, record: ScalableTopic, loads: dict[int, Load], history: _History, rules: ScalingConfig
    ) -> None:
        now, readers = self._clock.monotonic(), self._readers_of(name)
        history.cold_since = cold_since(history.cold_since, loads, now, rules)
        situation = Situation(
            record.layout,
            loads,
            history.cold_since,
            readers,
            now,
            history.last_split,
            history.last_merge,
            history.last_rebucket,
            self._topics.most_buckets,
        )
        change = next_change(situation, rules)
        if change is None:
            return
        try:
            if isinstance(change, Split):
                history.last_split, cooldown = now, rules.split_cooldown_seconds
                await self._changes.split(name, change.segment_id)
                log.info("topic %s: split segment %d (%d consumers)", name, change.segment_id, max(readers))
            elif isinstance(change, Rebucket):
                history.last_rebucket, cooldown = now, rules.rebucket_cooldown_seconds
                for segment_id in change.segment_ids:
                    await self._changes.rebucket(name, segment_id, change.buckets)
                log.info("topic %s: %d entry buckets for each of segments %s", name, change.buckets, change.segment_ids)
            else:
                history.last_merge, cooldown = now, rules.merge_cooldown_seconds
                await self._changes.merge(name, change.first_id, change.second_id)
                log.info("topic %s: merged the segments %d and %d", name, change.first_id, change.second_id)
        except (BrokerError, StorageError, OSError) as error:  # the first interval after the cooldown tries again
            log.warning("topic %s: cannot change its segments: %s", name, error)
        else:
            self._spawn(self._decide_after(name, cooldown))

    def _loads(self, name: TopicName, record: ScalableTopic) -> dict[int, Load]:
        """The loads of the active segments that are loaded.

        There are none for a topic without traffic since its creation, which keeps its first segments.
        """
        topics = {segment.id: self._segments.loaded(name, segment) for segment in record.layout.active}
        traffic = {
            segment_id: (Traffic.of(_incoming(topic)), Traffic.of(_outgoing(topic)))
            for segment_id, topic in topics.items()
            if topic is not None
        }
        if not record.layout.epoch and not any(one.messages for pair in traffic.values() for one in pair):
            return {}
        return {
            segment_id: Load(incoming.message_rate, incoming.byte_rate, outgoing.message_rate, outgoing.byte_rate)
            for segment_id, (incoming, outgoing) in traffic.items()
        }


def _incoming(topic: Topic) -> Iterator[Rate]:
    yield topic.published
    for producer in topic.producers.values():
        yield producer.rate


def _outgoing(topic: Topic) -> Iterator[Rate]:
    yield topic.subscriptions.delivered
    for subscription in topic.subscriptions.values():
        yield subscription.delivery.former_rate
        for consumer in subscription.consumers:
            yield consumer.rate
