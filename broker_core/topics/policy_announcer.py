"""Publishes the policies for all clusters that were set here, as events that replicators carry to the other clusters.

Unpublished policies are on disk (`metadata.tenancy.unsent_policies`), so no change is lost, and nothing delays
the request that made it. An event holds all policies of its topic, so a repeated one is harmless.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError
from broker_core.metadata.schema.admission import admit_producer
from broker_core.metadata.tenancy.system_topics import CHANGE_EVENTS
from broker_core.names import PERSISTENT, parse_topic
from broker_core.rates.backoff import Backoff
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.metadata.policies.policy_set import PolicySet
    from broker_core.metadata.schema.registry import SchemaRegistry
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.names import TopicName
    from broker_core.topics.registry import TopicRegistry

log = logging.getLogger(__name__)


class PolicyAnnouncer:
    def __init__(self, topics: TopicRegistry, tenancy: Tenancy, schemas: SchemaRegistry, clock: Clock) -> None:
        self._topics = topics
        self._tenancy = tenancy
        self._unsent = tenancy.topic_policies.unsent
        self._schemas = schemas
        self._clock = clock
        self._backoff = Backoff()
        self._sequence_id = 0
        self._failures: dict[TopicName, str] = {}  # at the last attempt

    async def run(self) -> None:
        """Publishes policies until the broker stops."""
        while True:
            self._unsent.changed.clear()  # before the check for policies: later ones wake
            pause = None if await self._announce_all() else self._backoff.next_seconds()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._unsent.changed.wait()

    async def _announce_all(self) -> bool:
        """Returns whether all of them are published."""
        failures = {}
        for topic in list(self._unsent):
            try:
                await self._announce(topic)
                self._backoff.reset()
            except Exception as error:  # one topic must not hold back the policies of the others
                failures[topic] = reason = str(error) or type(error).__name__
                if reason != self._failures.get(topic):  # a reason is logged once, not at each attempt
                    self._log(topic, error)
        self._failures = failures
        return not failures

    def _log(self, topic: TopicName, error: Exception) -> None:
        trace = None if isinstance(error, (BrokerError, StorageError, OSError)) else error
        log.warning("topic %s: cannot send its policies to other clusters: %s", topic, error, exc_info=trace)

    async def _announce(self, topic: TopicName) -> None:
        policies = self._tenancy.topic_policies.of(topic, is_global=True)
        if self._tenancy.has_namespace(topic.namespace):
            await self._publish(topic, policies)
        await self._tenancy.topic_policies.was_sent(topic, policies)

    async def _publish(self, topic: TopicName, policies: PolicySet) -> None:
        # Imported here: few brokers have policies for all clusters.
        from broker_core.topic.one_entry import publish_one
        from broker_core.topics.change_events.policy_event import PolicyChange, event_entry, own_schema
        from broker_core.wire.schema_commands import version_bytes

        name = parse_topic(f"{PERSISTENT}://{topic.namespace}/{CHANGE_EVENTS}")
        events = await self._topics.get(name, create=True)
        version = await admit_producer(self._schemas, events.schema_subject, own_schema())
        now = self._clock.wall_ms()
        self._sequence_id = max(self._sequence_id + 1, now)  # grows over restarts, too
        entry = event_entry(
            PolicyChange(topic, policies),
            cluster=self._tenancy.cluster,
            sequence_id=self._sequence_id,
            now_ms=now,
            schema_version=version_bytes(version),
        )
        await publish_one(events, entry)
        events.published.add(1, len(entry.data))
