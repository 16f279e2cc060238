"""One topic: `Topic.publish` is the one way in, its subscriptions' dispatchers are the one way out.

A failed write fences the topic (`state`), and the next publish or producer tries to recover. The parts do the rest:
producers join by `admission`, `subscriptions` holds the subscriptions by name, `termination` ends the topic, and
housekeeping waits on a timer for the next moment at which something is due.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from broker_core.backlog.backlogs import Backlogs
from broker_core.compaction.compaction import Compaction
from broker_core.dispatch.context import DispatchContext
from broker_core.errors import BrokerError
from broker_core.limits.topic_limits import TopicLimits
from broker_core.limits.topic_throttles import TopicThrottles
from broker_core.metadata.policies.in_force import PoliciesInForce
from broker_core.metadata.schema.admission import SchemaSubject
from broker_core.publishing.admission import ProducerAdmission
from broker_core.publishing.deduplication import Deduplication
from broker_core.publishing.deduplication_switch import DeduplicationSwitch
from broker_core.publishing.policy_checks import may_refuse
from broker_core.publishing.producer import Producer
from broker_core.rates.rate import Rate
from broker_core.rates.writes import Writes
from broker_core.replication.replicated_subscriptions import MarkerCalls, ReplicatedSubscriptions
from broker_core.replication.replicators import Replicators
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.topic.backlog_quota import BacklogQuotas
from broker_core.topic.calls import TopicCalls
from broker_core.topic.housekeeping import Housekeeping
from broker_core.topic.last_message import last_message
from broker_core.topic.migration import TopicMigration
from broker_core.topic.offloading import Offloading
from broker_core.topic.special_entries import SpecialEntries
from broker_core.topic.state import Lifecycle
from broker_core.topic.subscription import Subscription
from broker_core.topic.subscription_context import SubscriptionContext
from broker_core.topic.subscriptions import Subscriptions
from broker_core.topic.termination import Termination
from broker_core.topic.transactions import TopicTransactions
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.config.topic import TopicConfig
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName
    from broker_core.publishing.replication import MarkerSender
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.managed_ledger.transaction_log import TransactionPart
    from broker_core.storage.records.block import EntryRun
    from broker_core.topic.services import TopicServices
    from broker_core.topic_log import PublishDone, TopicLog
    from broker_core.wire.send import SendRun
    from broker_core.wire.transaction_id import TransactionId

log = logging.getLogger(__name__)


class Topic:
    producer_type = Producer
    subscription_type = Subscription

    def __init__(self, name: TopicName, ledger: TopicLog, services: TopicServices) -> None:
        self.name = name
        self.ledger = ledger
        self.clock = services.clock
        self.created_ms = services.clock.wall_ms()
        self.last_published = 0.0  # monotonic: when a producer left, or a message came without one
        self.published = Rate(services.clock)  # counts producers that have left; connected ones have their own
        self.writes = Writes(services.clock, services.publish_latency)
        self.lifecycle = Lifecycle(name, ledger)
        self._calls = TopicCalls(self, self.lifecycle)
        self.special_entries = SpecialEntries(ledger, self.lifecycle, services.spawn)
        self._in_force = PoliciesInForce(lambda: services.policies_of(name))
        self._context = TopicContext(name, ledger, services.clock, services.expiry, services.spawn, self._in_force)
        self.dispatch = self._dispatch_context(services)
        self.limits = _limits(name, self._in_force, services.limits)
        self._add_parts(services)
        self.publishes_plainly = False
        self.publishing_changed()
        ledger.on_confirmed = self._on_confirmed

    def _dispatch_context(self, services: TopicServices) -> DispatchContext:
        return DispatchContext(
            topic=self.name,
            config=services.dispatch,
            entry_metadata=services.entry_metadata,
            in_force=self._in_force,
            spawn=services.spawn,
            delayed=services.delayed,
            unacked=services.unacked,
            special=self.special_entries,
            passed_over=self._calls.subscription_moved,
        )

    def _add_parts(self, services: TopicServices) -> None:
        """Each part gets the context and the calls that it needs. No part holds the topic."""
        self._add_publishing(services)
        self._add_compaction(services)
        self._add_replication(services.replication)
        self._add_subscriptions(services)
        self._add_housekeeping(services)
        self._connect_parts()

    def _add_publishing(self, services: TopicServices) -> None:
        self.admission = ProducerAdmission(self._calls, self.limits, _epoch(self.ledger))
        self.producers = self.admission.by_name
        self.deduplication = Deduplication(self.clock, services.deduplication, self.producers)
        self.deduplication_switch = DeduplicationSwitch(
            self._context, services.deduplication, self.deduplication, self.producers, self._calls.publishing_changed
        )
        self._taken = partial(_taken, self.published, self.producers)
        self.throttles = TopicThrottles(self.clock, self._in_force, services.rates, self._taken)
        self.publish_limit = self.throttles.publish_limit
        self.transactions = TopicTransactions(
            self._context, self.lifecycle, self.special_entries, self._calls, services.transactions
        )

    def _add_compaction(self, services: TopicServices) -> None:
        self.compaction = Compaction(
            self._context,
            services.compacting,
            retain_null_key=services.retain_null_key,
            finished=self._calls.acknowledged,
        )

    def _add_replication(self, services: ReplicationServices) -> None:
        self.replicators = Replicators(self._context, services, self.producers, self._calls.acknowledged)
        self.replicated_subscriptions = ReplicatedSubscriptions(
            self._context, services, self._marker_calls(), self.replicators
        )
        self.replicators.retried = self.replicated_subscriptions.changed

    def _add_subscriptions(self, services: TopicServices) -> None:
        by_name: dict[str, Subscription] = {}
        read_to_end = partial(services.segments().segment_changed, self.name)
        self.termination = Termination(self.ledger.on_disk, self.producers, by_name, read_to_end)
        self.migration = TopicMigration(
            self._context,
            partial(services.moves_to, self.name),
            self.lifecycle.store_properties,
            self.producers,
            by_name,
            self.replicators,
        )
        self.subscriptions = Subscriptions(
            self._subscription_context(services), self.lifecycle, self.subscription_type, by_name
        )
        self.backlogs = Backlogs(self.name, by_name, self.replicators.by_cursor)

    def _add_housekeeping(self, services: TopicServices) -> None:
        self.quotas = BacklogQuotas(self._context, services.backlog_quota, self.producers, self.backlogs)
        self.offloading = Offloading(self._context, services.tier, ended=self._calls.acknowledged)
        self._housekeeping = Housekeeping(
            self._context,
            self.backlogs,
            self.compaction,
            self.offloading,
            compaction_seconds=services.limits.compaction_seconds,
        )

    def _connect_parts(self) -> None:
        self._parts: tuple[TopicPart, ...] = (
            self.compaction,
            self.subscriptions,
            self.migration,
            self.offloading,
            self.replicators,
            self.replicated_subscriptions,
            self.deduplication_switch,
            self.quotas,
            self._housekeeping,
        )
        self._calls.followers = (
            self._housekeeping.look_soon,  # ledgers may be due for trimming
            self.migration.acknowledged,
        )
        self._calls.tell_readers_of = self.termination.tell_readers_of  # they may have reached the end

    def _marker_calls(self) -> MarkerCalls:
        stored, taken, calls = self.ledger.messages, self._taken, self._calls

        def messages() -> int:
            return stored + taken()[0]

        return MarkerCalls(calls.publish, messages, self.special_entries.expect_markers, calls.subscriptions)

    def _subscription_context(self, services: TopicServices) -> SubscriptionContext:
        return SubscriptionContext(
            topic=self._context,
            dispatch=self.dispatch,
            limits=self.limits,
            batch_index_acks=services.limits.batch_index_acks,
            lifecycle=self.lifecycle,
            throttles=self.throttles,
            compaction=self.compaction,
            last_entry=self._calls.last_entry,
            moved=self._calls.subscription_moved,
            flowed=self.termination.tell_readers_of,
            delivers=self.migration.delivers,
            is_frozen=self.migration.is_frozen,
            check_acknowledgeable=self.migration.check_acknowledgeable,
            replicated=self.replicated_subscriptions,
            coordinator=services.transactions,
            segments=services.segments(),
        )

    @property
    def policies(self) -> TopicPolicies:
        """The policies in force now."""
        return self._in_force.current

    @property
    def served_at(self) -> str:
        return self.lifecycle.served_at

    async def load(self) -> None:
        for part in self._parts:
            await part.load()

    # -- publishing --------------------------------------------------------------------------------------

    def publish(self, run: EntryRun, done: PublishDone) -> None:
        """Appends a run of messages and calls `done` with the first position once they are on disk.

        Raises a `BrokerError` if the whole run is refused before anything is written.
        """
        if not self.lifecycle.is_open:
            self.lifecycle.make_open()
        try:
            self.ledger.append(run, partial(self._written, run, self.clock.monotonic(), done))
        except StorageError as error:
            raise self.write_failed(error) from error
        if self._housekeeping.watches_appends:
            self._housekeeping.look_soon()

    def publish_in_transaction(self, run: SendRun, done: PublishDone) -> None:
        """Appends messages of a transaction, which consumers get when it was committed. Raises as `publish` does."""
        if not self.lifecycle.is_open:
            self.lifecycle.make_open()
        self.transactions.publish(run, partial(self._written, run, self.clock.monotonic(), done))

    def end_transaction(self, transaction: TransactionId, *, commit: bool) -> None:
        """The outcome of a transaction with messages here is on its way to the disk."""
        self.transactions.write_marker(transaction, commit=commit)

    def transaction_ended(self, transaction: TransactionId, part: TransactionPart, *, commit: bool) -> None:
        """The outcome is in effect: more entries may be visible, also without a marker after them."""
        if part.has_messages:
            self.transactions.ended(commit=commit)
        for name, subscription in self.subscriptions.by_name.items():
            if name in part.acks:
                subscription.transaction_ended(transaction, part.acks[name], commit=commit)
            subscription.delivery.dispatcher.wake()
        self.replicators.wake()
        self._housekeeping.look_soon()

    def _written(
        self, run: EntryRun, began: float, done: PublishDone, first: Position | None, error: StorageError | None
    ) -> None:
        if error is None:
            self.writes.add(run.starts, run.ends, self.clock.monotonic() - began)
        done(first, error)

    def write_failed(self, error: StorageError | None) -> BrokerError:
        """Fences the topic, unless it is terminated; returns the error for its producers."""
        return self.lifecycle.write_failed(error)

    def check_publishable(self) -> None:
        """Raises `TopicTerminated`, `TopicMoved`, `TopicFenced`, or `PersistenceFailed` if no producer may join now."""
        self.lifecycle.make_open()
        if self.termination.at is not None:
            raise self.lifecycle.terminated()
        for part in self._parts:
            part.check_publishable()

    def check_room_for_consumer(self, client: Client) -> None:
        """Raises `ConsumerBusy` if the topic, or the client's address, has reached its limit of consumers."""
        if self.limits.any_of_consumers:
            self.limits.check_consumers([consumer.client for consumer in self.subscriptions.consumers()], client)

    def producer_joined(self, name: str) -> None:
        self.deduplication.producer_joined(name)

    def publish_held(self) -> None:
        """A connection is not read because of a publish rate."""
        self.throttles.publishes_held += 1

    async def store_epoch(self, epoch: int | None) -> None:
        """Stores the topic epoch (`publishing.access`); durable on return."""
        await self.lifecycle.store_properties({EPOCH_PROPERTY: str(epoch)})

    def chunk_published(self) -> None:
        """A chunk is about to be published."""
        self.special_entries.chunk_published()

    def marker_stored(self, entry: bytes, position: Position, sender: MarkerSender) -> None:
        """A marker of another cluster is on disk."""
        self.replicated_subscriptions.received(entry, position, sender)

    async def terminate(self) -> Position:
        """The topic takes no more messages. Durable on return. Returns the last position, also when called again."""
        self.lifecycle.check_open()
        return await self.termination.terminate()

    def remove_producer(self, producer: Producer) -> None:
        if self.admission.remove(producer):
            self.last_published = self.clock.monotonic()
            self.published.absorb(producer.rate)
            self.deduplication.producer_left(producer.name)

    @property
    def last_used(self) -> float:
        """When (monotonic) a client last left the topic; 0 if none has."""
        return max(self.last_published, self.subscriptions.last_used)

    @property
    def schema_subject(self) -> SchemaSubject:
        return SchemaSubject(self.name, self.policies, self._is_unused, self.lifecycle.check_open)

    def _is_unused(self) -> bool:
        """Whether nothing uses the topic's schema: AUTO_CONSUME consumers have none and do not count."""
        return (
            not self.producers
            and not self.ledger.size
            and all(consumer.auto_consume for consumer in self.subscriptions.consumers())
        )

    @property
    def stored_reads(self) -> Rate | None:
        """The entries that consumers and others read from storage, and not from memory; None before the first."""
        on_disk = self.ledger.on_disk
        return None if on_disk is None else on_disk.stored_reads

    def rates(self) -> Iterator[Rate]:
        """Every rate of the topic and its producers, subscriptions, and consumers; others may run in between."""
        yield from (
            self.published,
            self.subscriptions.delivered,
            *(producer.rate for producer in self.producers.values()),
        )
        if (reads := self.stored_reads) is not None:
            yield reads
        for subscription in list(self.subscriptions.by_name.values()):
            yield from subscription.rates()
        for replicator in list(self.replicators.values()):
            yield from replicator.rates()

    # -- delivery ----------------------------------------------------------------------------------------

    def _on_confirmed(self) -> None:
        """Delivers in the same loop iteration as the receipts, so that a connection gets both in one write."""
        for subscription in tuple(self.subscriptions.by_name.values()):
            dispatcher = subscription.delivery.dispatcher
            if dispatcher.consumers:  # of many thousands of subscriptions, few have some
                dispatcher.work()
        if self.replicators.by_cursor:
            self.replicators.wake()
            self.replicated_subscriptions.wake()

    async def last_entry(self, compacted: bool) -> tuple[Position, bytes | None]:
        """The last entry that a consumer can get, and its bytes; -1:-1 and None if there is none."""
        source = self.compaction.view() if compacted else self.ledger
        last = source.visible_end
        if self.special_entries.has_markers and last > (self.compaction.horizon if compacted else EARLIEST):
            last = await last_message(self.ledger)
            if compacted and self.compaction.compacted is not None and last <= self.compaction.horizon:
                last = self.compaction.compacted.last_position
        if last < self.ledger.first_position and not compacted:
            return EARLIEST, None
        block = source.read_cached(last, 1, 1) or await source.read(last, 1, 1)
        return (last, block.entry(0)) if len(block) else (EARLIEST, None)

    # -- housekeeping ------------------------------------------------------------------------------------

    async def trim(self) -> None:
        """Deletes what retention allows, on request and at once: the open ledger has no grace period."""
        await self._housekeeping.trim(by_request=True)

    async def truncate(self) -> None:
        """Acknowledges all messages for every subscription and deletes them, whatever retention says.

        Raises `TopicMoved`, or `TopicFenced` while the topic is being moved.
        """
        self.migration.check_acknowledgeable()
        await self.deduplication_switch.take_snapshot()  # else the cursor of its last snapshot would keep them
        await self._housekeeping.truncate()

    def publishing_changed(self) -> None:
        """Updates `publishes_plainly`: one test per publish instead of one per feature."""
        policies = self.policies
        special = self.publish_limit is not None or self.deduplication.enabled
        self.publishes_plainly = not (special or may_refuse(policies))

    async def policies_changed(self) -> None:
        """Applies the new policies to every part of the topic."""
        self._in_force.renew()
        self._renew_publish_rate()
        self.publishing_changed()
        for part in self._parts:
            await part.policies_changed()

    def _renew_publish_rate(self) -> None:
        if self.throttles.renew():
            self.publish_limit = self.throttles.publish_limit
            for producer in list(self.producers.values()):
                producer.throttle.renewed()
        self.throttles.forget_subscriptions(self.subscriptions.by_name)

    async def close(self, *, served_at: str = "", for_deletion: bool = False) -> None:
        """Unloads the topic: tells clients to reconnect, and syncs everything acknowledged.

        `served_at` is the broker that serves the topic next, which saves clients a lookup; "" if unknown.
        `for_deletion`: the log stays open, for a deletion that does not write first what it removes.
        """
        try:
            await self._close_parts(served_at)
            if not for_deletion:
                await self.ledger.close()
            self.writes.count_noted()
        finally:  # no part holds the topic, or another part that holds it, from now on
            self._calls.end()
            self.ledger.on_confirmed = None
            self.subscriptions.by_name.clear()

    async def _close_parts(self, served_at: str) -> None:
        self.lifecycle.close(served_at)
        self.admission.withdraw_all(self.lifecycle.unloading())
        for producer in list(self.producers.values()):
            producer.disconnect()
        for part in reversed(self._parts):
            await part.close()
        self.ledger.on_confirmed = None


def _limits(name: TopicName, in_force: PoliciesInForce, config: TopicConfig) -> TopicLimits:
    return TopicLimits(name, in_force, config.max_same_address_producers, config.max_same_address_consumers)


def _taken(former: Rate, producers: Mapping[str, Producer]) -> tuple[int, int]:
    """Messages and bytes published so far, by producers that have left and by those that are connected."""
    rates = [former, *(producer.rate for producer in producers.values())]
    return sum(rate.messages for rate in rates), sum(rate.bytes for rate in rates)


def _epoch(ledger: TopicLog) -> int | None:
    epoch = ledger.properties.get(EPOCH_PROPERTY)
    return None if epoch is None else int(epoch)


# Pulsar's name for this property of the managed ledger.
EPOCH_PROPERTY = "pulsar.topic.epoch"
