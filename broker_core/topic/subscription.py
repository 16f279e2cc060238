"""A subscription: a cursor that acknowledgments move, and the delivery of messages to the consumers that share it.

During a seek or an unsubscribe the subscription is fenced: consumers that connect in the meantime are told to retry. A
non-durable subscription lives as long as its consumers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from broker_core.backlog.backlogged import Backlogged
from broker_core.client_log import ClientLog
from broker_core.errors import MetadataFailed, TopicFenced
from broker_core.rates.rate import Rate
from broker_core.storage.records.position import Position
from broker_core.tasks import to_the_end
from broker_core.topic.acks_in_transactions import AcksInTransactions
from broker_core.topic.delivery import Delivery
from broker_core.topic.replicated_property import is_replicated, with_replicated, without_replicated
from broker_core.topic.subscription_context import SubscriptionContext
from broker_core.topic.subscription_type import INDIVIDUAL_ACK_TYPES

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.names import TopicName
    from broker_core.replication.passed_snapshots import PassedSnapshots
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.held_acks import TransactionAcks
    from broker_core.wire.transaction_id import TransactionId

log = ClientLog(__name__)

RETURN_SECONDS = 60.0  # clients subscribe again a fraction of a second after a disconnect


class SubscriptionOwner(Protocol):
    """The subscriptions of a topic as one of them sees them."""

    async def forget(self, subscription: Subscription) -> None:
        """A non-durable subscription lost its last consumer."""

    async def delete(self, name: str, *, force: bool = False) -> None:
        """Deletes a subscription and its cursor. `force` allows it while consumers are connected."""


class Subscription(Backlogged):
    dropped: Rate | None = None  # messages that no consumer could take at once, where the topic keeps none

    def __init__(
        self, owner: SubscriptionOwner, context: SubscriptionContext, name: str, cursor: ManagedCursor
    ) -> None:
        super().__init__(context.topic.log, cursor, context.topic.clock)
        self._owner = owner
        self._context = context
        self.fenced = False  # by a running seek or unsubscribe
        self.closed = False  # the topic was unloaded or the subscription deleted: consumers must retry
        self._storing = asyncio.Lock()  # one change of the properties at a time: they are in force once durable
        self._expecting: asyncio.Task[None] | None = None  # waits for the reader that the last reset disconnected
        self.last_used = 0.0  # monotonic: when a consumer left
        self.last_acked_ms = 0
        self.last_advanced_ms = 0  # when the mark-delete position last moved
        self._mark_delete = cursor.mark_delete
        self.delivery = Delivery(context, name, cursor)
        self._snapshots: PassedSnapshots | None = None
        self._renew_snapshots()

    @property
    def topic_name(self) -> TopicName:
        return self._context.topic.name

    @property
    def partition(self) -> int:
        return self.topic_name.partition

    @property
    def served_at(self) -> str:
        return self._context.lifecycle.served_at

    def wake(self) -> None:
        self.delivery.dispatcher.wake()

    def flowed(self, consumer: Consumer, *, first: bool) -> None:
        if first:
            self.delivery.dispatcher.first_flow(consumer)
        self.delivery.dispatcher.wake()
        self._context.flowed(self.name)

    async def last_entry(self, *, compacted: bool) -> tuple[Position, bytes | None]:
        """The last entry that a consumer can get, and its bytes; -1:-1 and None if there is none."""
        return await self._context.last_entry(compacted)

    @property
    def consumers(self) -> list[Consumer]:
        return self.delivery.dispatcher.consumers

    def rates(self) -> list[Rate]:
        return [self.expired, *self.delivery.rates()]

    @property
    def durable(self) -> bool:
        return self.cursor.durable

    async def add_consumer(self, consumer: Consumer, sub_type: int) -> None:
        """Attaches the consumer, or raises `ConsumerBusy`, `ConsumerAssignFailed` or `TopicFenced`."""
        await self.delivery.make_room(sub_type, consumer.key_shared)
        self.check_free()
        self._context.limits.check_consumers_of_subscription(len(self.consumers))
        self.delivery.add(consumer, sub_type)

    def check_free(self) -> None:
        """Raises `TopicFenced` while no consumer may join or move it. Call it again after every await."""
        if self.fenced or self.closed:
            raise TopicFenced(f"Subscription {self.name} is being moved, deleted or unloaded; try again")

    def check_acknowledgeable(self) -> None:
        """Raises `TopicFenced` or `TopicMoved` while its topic goes to another cluster, which has its position."""
        if self.durable:
            self._context.check_acknowledgeable()

    def remove_consumer(self, consumer: Consumer) -> bool:
        """Makes its pending messages available to others; False if it is not one of the consumers. `flush` follows."""
        if consumer not in self.consumers:
            return False
        self.delivery.remove(consumer)
        self.last_used = self.clock.monotonic()
        self._context.segments.segment_changed(self.topic_name, self.name)
        return True

    async def flush(self) -> None:
        """Call it after a consumer has left. Syncs its acknowledgments, or forgets its reader."""
        if self.durable:
            await self.cursor.flush()
        else:
            await self.forget_unless_used()

    async def forget_unless_used(self) -> None:
        """Deletes a non-durable subscription after its last consumer, but not while a seek disconnects that one."""
        if not self.durable and not self.consumers and not self.fenced:
            await self._owner.forget(self)

    def acknowledge(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Acknowledges any entries of one ledger, in any order. Repeated ones change nothing."""
        self.cursor.acknowledge(ledger_id, entry_ids)
        self.delivery.dispatcher.acknowledged(consumer, ledger_id, entry_ids)
        self._acknowledged(consumer, len(entry_ids))

    def acknowledge_indexes(self, consumer: Consumer, position: Position, open_bits: int, messages: int) -> None:
        """Acknowledges the messages of a batch except those in the bit set. `messages` is its size, or 0."""
        if not self._context.batch_index_acks:
            return  # the whole batch is redelivered
        newly, done = self.cursor.acknowledge_indexes(position, open_bits, messages)
        if done:
            self.delivery.dispatcher.acknowledged(consumer, position.ledger_id, [position.entry_id])
        elif newly:
            self.delivery.reduce_pending(consumer, position, newly)
        self._acknowledged(consumer, newly)

    def acknowledge_cumulative(self, consumer: Consumer, position: Position) -> bool:
        """Acknowledges everything up to the position. Ignored (False) where acks are individual, as in Pulsar."""
        if self.delivery.sub_type in INDIVIDUAL_ACK_TYPES:
            log.warning(
                consumer.client.host,
                self.topic_name,
                "ignoring a cumulative acknowledgment of consumer %s on %s",
                consumer.name,
                self.delivery.type_name,
            )
            return False
        consumer.acknowledges_cumulatively = True
        self.cursor.acknowledge_up_to(position)
        self._acknowledged(consumer, 1)
        return True

    @property
    def in_transactions(self) -> AcksInTransactions:
        return AcksInTransactions(
            self.topic_name, self.cursor, self.delivery, self._context.coordinator(), self.check_acknowledgeable
        )

    def transaction_ended(self, transaction: TransactionId, acks: TransactionAcks, *, commit: bool) -> None:
        """A transaction that acknowledged messages here has ended. The cursor has followed a commit."""
        if commit:
            self._moved()
        else:
            self.in_transactions.released(transaction, acks)

    def _acknowledged(self, consumer: Consumer, count: int) -> None:
        consumer.acks.add(count, 0)
        self.last_acked_ms = consumer.last_acked_ms = self.clock.wall_ms()
        if self.cursor.mark_delete != self._mark_delete:
            self._mark_delete, self.last_advanced_ms = self.cursor.mark_delete, self.last_acked_ms
            if self._snapshots is not None:
                self._snapshots.moved()
        self._context.moved(self.name)

    def redeliver(self, consumer: Consumer, positions: Sequence[tuple[int, int]] | None) -> None:
        consumer.held_up_to_by = 0
        self.delivery.dispatcher.redeliver(consumer, positions)

    async def unsubscribe(self, consumer: Consumer, *, force: bool) -> None:
        """Deletes the subscription for its only consumer. `force` closes others first."""
        others = [other for other in self.consumers if other is not consumer]
        if others and not force:
            raise MetadataFailed(f"Unconnected or shared consumer attempting to unsubscribe from {self.name}")
        self.check_free()
        self.fenced = True
        try:
            consumer.closed = True
            self.delivery.remove(consumer)  # without CLOSE_CONSUMER: its client expects SUCCESS
            for other in others:
                await other.disconnect()
            await self._owner.delete(self.name, force=True)
        except Exception:
            # After the error, which makes its client believe that it is subscribed: only then does it subscribe again.
            self._context.topic.spawn(consumer.disconnect())
            raise
        finally:
            self.fenced = False

    async def reset(self, position: Position, open_bits: int = 0) -> None:
        """Makes the entry at `position` the next one to read, or the messages of it that are in the bit set, if any.

        Closes the consumers that get messages first. Their clients reconnect, so no message that was sent before the
        seek can reach the application after it (Pulsar binary protocol, "Seek"). With Failover that is only the active
        consumer. A caller that leaves does not end it: if its record failed, another reset in between would be lost.
        """
        await to_the_end(self._context.topic.spawn, self._reset(position, open_bits))

    async def _reset(self, position: Position, open_bits: int) -> None:
        self.check_free()
        self.check_acknowledgeable()
        self.fenced = True
        try:
            await self.delivery.disconnect_served()
            if self.closed:
                raise TopicFenced(f"Subscription {self.name} was closed in the meantime")
            self.check_acknowledgeable()  # the topic may have begun to move
            bits = open_bits if self._context.batch_index_acks else 0
            await self.cursor.reset(position, bits, self.delivery.dispatcher.rewind)
        finally:
            self.fenced = False
            if not self.durable and not self.closed:
                self._stop_expecting()
                self._expecting = self._context.topic.spawn(self._forget_unless_it_returns())
        self._context.moved(self.name)

    async def reset_to_time(self, publish_time_ms: int) -> None:
        """Like `reset`, to the first entry published at that time or later."""
        await self.reset(await self._log.find_by_time(publish_time_ms))

    def _stop_expecting(self) -> None:
        if self._expecting is not None:
            self._expecting.cancel()

    async def _forget_unless_it_returns(self) -> None:
        """Forgets a reader that seeks, unless it subscribes again."""
        await asyncio.sleep(RETURN_SECONDS)
        self._expecting = None
        await self.forget_unless_used()

    @property
    def has_reader(self) -> bool:
        return bool(self.consumers)

    @property
    def is_frozen(self) -> bool:
        return self.durable and self._context.is_frozen()

    @property
    def is_replicated(self) -> bool:
        """Whether consumers can move to other clusters, which follow this one (PIP-33)."""
        return is_replicated(self.cursor.properties)

    @property
    def properties(self) -> dict[str, str]:
        return without_replicated(self.cursor.properties)

    async def set_properties(self, properties: dict[str, str]) -> None:
        """Replaces the properties of the subscription; durable on return."""
        async with self._storing:
            stored = with_replicated(properties, replicated=self.is_replicated)
            await self._log.set_cursor_properties(self.name, stored)

    async def set_replicated(self, replicated: bool) -> None:
        """Makes the subscription replicated, or not; durable on return."""
        replicated = self._context.replicated.may_replicate(self.name, requested=replicated)
        async with self._storing:
            if replicated == self.is_replicated:
                return
            stored = with_replicated(self.properties, replicated=replicated)
            await self._log.set_cursor_properties(self.name, stored)
            self._renew_snapshots()
            self._context.replicated.changed()

    def _renew_snapshots(self) -> None:
        """Compares positions with other clusters if it is replicated."""
        compares = self.is_replicated and self.durable
        self._snapshots = self._context.replicated.snapshots_of(self.name, self.cursor) if compares else None
        self.delivery.pass_markers_to(None if self._snapshots is None else self._snapshots.read)

    async def follow(self, position: Position) -> None:
        """Acknowledges everything up to a position that consumers in another cluster have passed; durable on return.

        Never moves back. A subscription that is frozen, or is being moved, deleted, or unloaded, stays where it is.
        """
        if self.fenced or self.closed or self.is_frozen or not self.cursor.acknowledge_up_to(position):
            return
        if self._snapshots is not None:
            self._snapshots.followed()
        self._moved()
        await self.cursor.flush()

    def _moved(self) -> None:
        """The cursor moved forward over entries that consumers have or were about to get."""
        mark_delete = self.cursor.mark_delete
        if mark_delete != self._mark_delete:
            self._mark_delete, self.last_advanced_ms = mark_delete, self.clock.wall_ms()
        self.delivery.dispatcher.forget_up_to(mark_delete)
        if self.cursor.read_position <= mark_delete:
            self.cursor.rewind()
            self.delivery.dispatcher.jump()
        self.delivery.dispatcher.wake()
        if self._snapshots is not None:
            self._snapshots.moved()
        self._context.moved(self.name)

    def drop_unsent(self, messages_from: Callable[[Position], int]) -> None:
        """The topic forgets its messages now; `messages_from` counts those from a position on."""

    async def close(self) -> None:
        """Closes the consumers with CLOSE_CONSUMER, and keeps the cursor."""
        self.closed = True
        self._stop_expecting()
        await self.delivery.disconnect_all()
        self.delivery.dispatcher.close()
