"""One topic: `Topic.publish` is the one way in, its subscriptions' dispatchers are the one way out.

A failed write fences the topic (`state`), and the next publish or producer tries to recover. The state changes only in
the topic's own methods, between awaits. The parts do the rest: producers join by `admission`, `termination` ends the
topic, and housekeeping waits on a timer for the next moment at which something is due.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.compaction.compaction import Compaction
from broker_core.dispatch.context import DispatchContext
from broker_core.errors import (
    BrokerError,
    InUse,
    NotAllowed,
    PersistenceFailed,
    SubscriptionNotFound,
    TopicFenced,
    TopicTerminated,
)
from broker_core.limits.topic_limits import TopicLimits
from broker_core.limits.topic_throttles import TopicThrottles
from broker_core.policies.in_force import PoliciesInForce
from broker_core.publishing import deduplication_snapshot
from broker_core.publishing.admission import ProducerAdmission
from broker_core.publishing.deduplication import Deduplication
from broker_core.publishing.policy_checks import may_refuse
from broker_core.publishing.producer import Producer
from broker_core.rates.rate import Rate
from broker_core.rates.turns import side_by_side
from broker_core.schema.admission import SchemaSubject
from broker_core.storage.errors import StorageError, Terminated
from broker_core.storage.position import EARLIEST, LATEST, Position
from broker_core.topic.backlog_quota import BacklogQuotas
from broker_core.topic.housekeeping import Housekeeping
from broker_core.topic.last_message import last_message
from broker_core.topic.state import TRANSITIONS, TopicState
from broker_core.topic.subscription import Subscription, SubscriptionContext
from broker_core.topic.termination import Termination
from broker_core.topic_context import TopicContext

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.clock import Clock
    from broker_core.config.broker import TopicConfig
    from broker_core.config.dispatch import DispatchConfig
    from broker_core.config.features import BacklogQuotaConfig, DeduplicationConfig
    from broker_core.delayed.services import DelayedServices
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.dispatcher import Dispatcher
    from broker_core.dispatch.reader import Source
    from broker_core.dispatch.unacked_limits import BrokerUnacked
    from broker_core.limits.topic_throttles import BrokerRates
    from broker_core.names import TopicName
    from broker_core.policies.expiry_clock import ExpiryClock
    from broker_core.policies.topic_policies import TopicPolicies
    from broker_core.storage.block import EntryRun
    from broker_core.storage.cursor import ManagedCursor
    from broker_core.tasks import Spawn
    from broker_core.topic_log import TopicLog

log = logging.getLogger(__name__)

PublishDone = Callable[[Position | None, StorageError | None], None]


@dataclass(frozen=True, slots=True)
class TopicServices:
    """What the broker gives to each topic."""

    clock: Clock
    expiry: ExpiryClock
    limits: TopicConfig
    dispatch: DispatchConfig
    unacked: BrokerUnacked | None  # the broker-wide limit of unacknowledged messages, if any
    deduplication: DeduplicationConfig
    compacting: asyncio.Semaphore  # limits concurrent compactions
    retain_null_key: bool  # in compaction
    delayed: DelayedServices
    spawn: Spawn
    policies_of: Callable[[TopicName], TopicPolicies]
    rates: BrokerRates
    backlog_quota: BacklogQuotaConfig


class Topic:
    producer_type = Producer
    subscription_type = Subscription

    def __init__(self, name: TopicName, ledger: TopicLog, services: TopicServices) -> None:
        self.name = name
        self.ledger = ledger
        self.clock = services.clock
        self._state = TopicState.OPEN
        self.served_at = ""  # once closed: the broker that serves it next
        self.created_ms = services.clock.wall_ms()
        self.subscriptions: dict[str, Subscription] = {}
        self.published = Rate(services.clock)  # of producers that have left; connected ones have their own
        self.delivered = Rate(services.clock)  # to deleted subscriptions; the others have their own
        self.has_chunks = CHUNKS_PROPERTY in ledger.properties  # some entries may be parts of messages
        self.has_markers = (
            MARKERS_PROPERTY in ledger.properties
        )  # some are markers of a replicator, which no consumer gets
        self._in_force = PoliciesInForce(lambda: services.policies_of(name))
        self._context = TopicContext(name, ledger, services.clock, services.expiry, services.spawn, self._in_force)
        self.dispatch = self._dispatch_context(services)
        self.limits = _limits(name, self._in_force, services.limits)
        self._of_subscriptions = SubscriptionContext(
            self._context, self.dispatch, self.limits, services.limits.batch_index_acks
        )
        self._add_parts(services)
        self.publishes_plainly = False
        self.publishing_changed()
        ledger.on_confirmed = self._on_confirmed

    def _dispatch_context(self, services: TopicServices) -> DispatchContext:
        return DispatchContext(
            topic=self.name,
            config=services.dispatch,
            in_force=self._in_force,
            spawn=services.spawn,
            delayed=services.delayed,
            unacked=services.unacked,
            has_chunks=lambda: self.has_chunks,
            has_markers=lambda: self.has_markers,
        )

    def _add_parts(self, services: TopicServices) -> None:
        """Each part gets the context and the calls it needs. No part knows the topic."""
        context = self._context
        self.admission = ProducerAdmission(self, _epoch(self.ledger))
        self.producers = self.admission.by_name
        self.deduplication = Deduplication(
            context, services.deduplication, self.producers, self.publish, self.publishing_changed
        )
        self.throttles = TopicThrottles(self.clock, self._in_force, services.rates, self._taken)
        self.publish_limit = self.throttles.publish_limit
        self.quotas = BacklogQuotas(context, services.backlog_quota, self.producers, self.subscriptions)
        self.compaction = Compaction(
            context, services.compacting, retain_null_key=services.retain_null_key, finished=self.acknowledged
        )
        self.termination = Termination(self.ledger.on_disk, self.producers, self.subscriptions)
        self._housekeeping = Housekeeping(
            context, self.subscriptions, self.compaction, compaction_seconds=services.limits.compaction_seconds
        )

    @property
    def policies(self) -> TopicPolicies:
        """What is in force now."""
        return self._in_force.current

    @property
    def state(self) -> TopicState:
        return self._state

    def _become(self, state: TopicState) -> None:
        if state not in TRANSITIONS[self._state]:
            raise TopicFenced(f"Topic {self.name} is {self._state.value} and cannot become {state.value}")
        self._state = state

    async def load(self) -> None:
        """Restores the durable subscriptions and the compacted view."""
        for name, cursor in list(self.ledger.cursors.items()):
            if name == self.compaction.CURSOR:
                await self.compaction.load(cursor)
            elif name != deduplication_snapshot.CURSOR:
                self.subscriptions[name] = self._new_subscription(name, cursor)
        await self.deduplication.load()
        self._housekeeping.rearm()

    # -- in ----------------------------------------------------------------------------------------------

    def publish(self, run: EntryRun, done: PublishDone) -> None:
        """Appends a run of messages and calls `done` with the first position once they are on disk.

        Raises a `BrokerError` if the whole run is refused before anything is written.
        """
        if self._state is not TopicState.OPEN:
            self._reopen()
        try:
            self.ledger.append(run, done)
        except StorageError as error:
            raise self.write_failed(error) from error
        self._housekeeping.appended()

    def write_failed(self, error: StorageError | None) -> BrokerError:
        """Fences the topic, unless it is terminated; returns the error for its producers."""
        if isinstance(error, Terminated):
            return TopicTerminated(f"Topic {self.name} was already terminated")
        if self._state is TopicState.OPEN:
            self._become(TopicState.FENCED)
        return PersistenceFailed(f"{self.name}: {error}")

    def _reopen(self) -> None:
        """Recovers from a failed write, or raises the reason why it cannot."""
        if self._state is TopicState.CLOSED:
            raise TopicFenced(f"Topic {self.name} is being unloaded; try again")
        try:
            self.ledger.unfence()
        except StorageError as error:
            raise PersistenceFailed(f"{self.name}: {error}") from error
        self._become(TopicState.OPEN)

    def check_publishable(self) -> None:
        """Raises `TopicTerminated`, `TopicFenced`, or `PersistenceFailed` if no producer may join now."""
        if self._state is not TopicState.OPEN:
            self._reopen()
        if self.termination.at is not None:
            raise TopicTerminated(f"Topic {self.name} was already terminated")

    def check_room_for_producer(self, producer: Producer) -> None:
        """Raises `ProducerBusy` if the topic, or the client's address, has reached its limit of producers."""
        if not self.limits.any_of_producers:
            return
        if not producer.is_replicator:
            self.limits.check_users_producers(len(self.users_producers()))
        self.limits.check_producers([one.client for one in self.producers.values()], producer.client)

    def users_producers(self) -> list[Producer]:
        """All producers except replicators, which belong to another cluster."""
        return [producer for producer in self.producers.values() if not producer.is_replicator]

    def check_room_for_consumer(self, client: Client) -> None:
        """Raises `ConsumerBusy` if the topic, or the client's address, has reached its limit of consumers."""
        if self.limits.any_of_consumers:
            self.limits.check_consumers([consumer.client for consumer in self._consumers()], client)

    def producer_joined(self, name: str) -> None:
        self.deduplication.producer_joined(name)

    def publish_held(self) -> None:
        """A connection is not read because of a publish rate."""
        self.throttles.publishes_held += 1

    async def store_epoch(self, epoch: int | None) -> None:
        """Stores the topic epoch (`publishing.access`); durable on return."""
        self.check_open()
        await self.ledger.set_properties({**self.ledger.properties, EPOCH_PROPERTY: str(epoch)})

    def chunk_published(self) -> None:
        """Makes dispatchers look for chunks from now on.

        The property reaches the disk shortly after the first chunk. A crash in between leaves at most a message
        that was incomplete.
        """
        if not self.has_chunks:
            self.has_chunks = True
            self._context.spawn(self.ledger.set_properties({**self.ledger.properties, CHUNKS_PROPERTY: "true"}))

    async def expect_markers(self) -> None:
        """A replicator connects: dispatchers look for markers from now on, also after a crash. Durable on return."""
        if not self.has_markers:
            self.check_open()
            await self.ledger.set_properties({**self.ledger.properties, MARKERS_PROPERTY: "true"})
            self.has_markers = True

    async def terminate(self) -> Position:
        """The topic takes no more messages. Durable on return. Returns the last position, also when called again."""
        self.check_open()
        return await self.termination.terminate()

    def remove_producer(self, producer: Producer) -> None:
        if self.admission.remove(producer):
            self.published.absorb(producer.rate)
            self.deduplication.producer_left(producer.name)

    def _consumers(self) -> Iterator[Consumer]:
        return (consumer for one in self.subscriptions.values() for consumer in one.consumers)

    @property
    def schema_subject(self) -> SchemaSubject:
        return SchemaSubject(self.name, self.policies, self._is_unused)

    def _is_unused(self) -> bool:
        """AUTO_CONSUME consumers have no schema and do not count."""
        return not self.producers and not self.ledger.size and all(one.auto_consume for one in self._consumers())

    def rates(self) -> Iterator[Rate]:
        """Every rate of the topic and its producers, subscriptions, and consumers; others may run in between."""
        yield from (self.published, self.delivered, *(producer.rate for producer in self.producers.values()))
        for subscription in list(self.subscriptions.values()):
            yield from subscription.rates()

    # -- out ---------------------------------------------------------------------------------------------

    def _on_confirmed(self) -> None:
        """In the same loop turn as the receipts, so that a connection gets both in one write."""
        for subscription in list(self.subscriptions.values()):
            subscription.dispatcher.work()

    def compacted_source(self) -> Source:
        return self.compaction.view()

    async def subscription(
        self, name: str, *, durable: bool, start: Position | None, earliest: bool, properties: dict[str, str]
    ) -> Subscription:
        """The subscription of that name, created at `start`, or at the earliest or latest entry, if missing."""
        self.check_open()
        found = self.subscriptions.get(name)
        if found is not None:
            if found.durable != durable:
                kind = "Durable" if found.durable else "NonDurable"
                raise NotAllowed(f"{kind} subscription with the same name already exists.")
            return found
        self.limits.check_subscriptions(len(self.subscriptions))
        initial = start if start is not None else (EARLIEST if earliest else LATEST)
        try:
            await self.ledger.open_cursor(name, initial=initial, durable=durable, properties=properties)
        finally:  # also if the caller is gone: the cursor exists, so its subscription must too
            cursor = self.ledger.cursors.get(name)
            if cursor is not None and self._state is not TopicState.CLOSED:
                # Two requests may have awaited the same cursor: the first one creates the subscription.
                self.subscriptions.setdefault(name, self._new_subscription(name, cursor))
        self.check_open()
        return self.get_subscription(name)

    def get_subscription(self, name: str) -> Subscription:
        try:
            return self.subscriptions[name]
        except KeyError:
            raise SubscriptionNotFound(f"Subscription {name} not found for topic {self.name}") from None

    async def delete_subscription(self, name: str, *, force: bool = False) -> None:
        """Deletes a subscription and its cursor. `force` allows it while consumers are connected."""
        subscription = self.get_subscription(name)
        if subscription.consumers and not force:
            raise InUse("Subscription has active connected consumers")
        await subscription.close()
        self.subscriptions.pop(name, None)
        self._remember_deliveries(subscription)
        await self.ledger.delete_cursor(name)
        self.acknowledged()

    async def forget_subscription(self, subscription: Subscription) -> None:
        """A non-durable subscription lost its last consumer."""
        if self.subscriptions.get(subscription.name) is subscription:
            del self.subscriptions[subscription.name]
            self._remember_deliveries(subscription)
            subscription.closed = True
            subscription.dispatcher.close()
            await self.ledger.delete_cursor(subscription.name)

    def _remember_deliveries(self, gone: Subscription) -> None:
        """Keeps the counters, which must only grow."""
        self.delivered.absorb(gone.deliveries)

    def _new_subscription(self, name: str, cursor: ManagedCursor) -> Subscription:
        return self.subscription_type(self, self._of_subscriptions, name, cursor)

    async def last_entry(self, *, compacted: bool) -> tuple[Position, bytes | None]:
        """The last entry that a consumer can get, and its bytes; -1:-1 and None if there is none."""
        source = self.compaction.view() if compacted else self.ledger
        last = source.last_confirmed
        if self.has_markers and not compacted:
            last = await last_message(self.ledger)
        if last < self.ledger.first_position and not compacted:
            return EARLIEST, None
        block = source.read_cached(last, 1, 1) or await source.read(last, 1, 1)
        return (last, block.entry(0)) if len(block) else (EARLIEST, None)

    async def bytes_after(self, position: Position) -> int:
        """The exact bytes of the entries after a position; may read from disk."""
        name = f"bytes-after-{secrets.token_hex(8)}"
        cursor = await self.ledger.open_cursor(name, initial=position.next, durable=False)
        try:
            await cursor.measure()
            return cursor.backlog_bytes
        finally:
            await self.ledger.delete_cursor(name)

    # -- housekeeping ------------------------------------------------------------------------------------

    async def trim(self) -> None:
        """Deletes what retention allows, on request and at once: the open ledger has no grace period."""
        await self._housekeeping.trim(by_request=True)

    def publishing_changed(self) -> None:
        """Updates `publishes_plainly`: one test per publish instead of one per feature."""
        policies = self.policies
        special = self.publish_limit is not None or self.deduplication.enabled
        self.publishes_plainly = not (special or may_refuse(policies))

    def policies_changed(self) -> None:
        self._in_force.renew()
        self._renew_rates()
        self.publishing_changed()
        self.quotas.renew()
        self.deduplication.policies_changed()
        self._housekeeping.rearm()

    def _renew_rates(self) -> None:
        if self.throttles.renew():
            self.publish_limit = self.throttles.publish_limit
            for producer in list(self.producers.values()):
                producer.throttle.renewed()
        self.throttles.forget_subscriptions(self.subscriptions)
        for subscription in self.subscriptions.values():
            self.limit_dispatch(subscription.name, subscription.dispatcher)
            subscription.wake()

    def limit_dispatch(self, subscription: str, dispatcher: Dispatcher) -> None:
        """Applies the current dispatch rates to a dispatcher."""
        self.throttles.limit(subscription, dispatcher)

    def _taken(self) -> tuple[int, int]:
        """Messages and bytes published to the topic so far."""
        rates = [self.published, *(producer.rate for producer in self.producers.values())]
        return sum(rate.messages for rate in rates), sum(rate.bytes for rate in rates)

    def acknowledged(self) -> None:
        """A cursor moved: ledgers may be due for trimming, and a consumer may have reached the end."""
        self._housekeeping.acknowledged()
        self.termination.tell_readers()

    def flowed(self) -> None:
        """A consumer is ready for messages; the topic may be at its end."""
        self.termination.tell_readers()

    @property
    def is_closed(self) -> bool:
        return self._state is TopicState.CLOSED

    def check_open(self) -> None:
        """Raises `TopicFenced` once the topic is unloaded or deleted."""
        if self._state is TopicState.CLOSED:
            raise TopicFenced(f"Topic {self.name} is being unloaded; try again")

    async def close(self, *, served_at: str = "") -> None:
        """Unloads the topic: tells clients to reconnect, and syncs everything acknowledged.

        `served_at` is the broker that serves the topic next, which saves clients a lookup; "" if unknown.
        """
        self._become(TopicState.CLOSED)
        self.served_at = served_at
        self.admission.withdraw_all(TopicFenced(f"Topic {self.name} is being unloaded; try again"))
        for producer in list(self.producers.values()):
            producer.disconnect()
        self.quotas.close()
        await self.deduplication.close()
        await self._housekeeping.close()
        await side_by_side(list(self.subscriptions.values()), lambda subscription: subscription.close())
        await self.compaction.close()
        self.ledger.on_confirmed = None
        await self.ledger.close()


def _limits(name: TopicName, in_force: PoliciesInForce, config: TopicConfig) -> TopicLimits:
    return TopicLimits(name, in_force, config.max_same_address_producers, config.max_same_address_consumers)


def _epoch(ledger: TopicLog) -> int | None:
    epoch = ledger.properties.get(EPOCH_PROPERTY)
    return None if epoch is None else int(epoch)


# Pulsar's name of this property of the managed ledger.
EPOCH_PROPERTY = "pulsar.topic.epoch"

# Our own properties: the log holds chunks, or markers.
CHUNKS_PROPERTY = "pulsarctl.chunks"
MARKERS_PROPERTY = "pulsarctl.markers"
