"""How a subscription delivers messages: its type, the dispatcher of that type, and the consumers that share it.

The type of a subscription is that of its connected consumers. Without consumers, the next one may have any type and
gets a new dispatcher.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.dispatch.hash_ranges import AUTO_SPLIT, KeySharedMode
from broker_core.dispatch.stamped_source import stamped
from broker_core.errors import ConsumerBusy
from broker_core.limits.dispatch_limit import NothingAllowed
from broker_core.rates.rate import Rate
from broker_core.topic.subscription_type import EXCLUSIVE, INDIVIDUAL_ACK_TYPES, new_dispatcher, type_name

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.dispatcher import Dispatcher
    from broker_core.metadata.policies.migration import Destination
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.storage.records.position import Position
    from broker_core.topic.subscription_context import SubscriptionContext


class Delivery:
    __slots__ = (
        "_context",
        "_cursor",
        "_name",
        "_read_markers",
        "dispatcher",
        "former_rate",
        "last_consumed_ms",
        "last_flow_ms",
        "sub_type",
        "was_used",
    )

    def __init__(self, context: SubscriptionContext, name: str, cursor: ManagedCursor) -> None:
        """`name` is the name of the subscription."""
        self._context = context
        self._name = name
        self._cursor = cursor
        self._read_markers: Callable[[Block], None] | None = None
        self.sub_type: int = EXCLUSIVE
        self.was_used = False  # a subscription has no type before its first consumer
        self.former_rate = Rate(context.topic.clock)  # counts consumers that have left; connected ones have their own
        self.last_flow_ms = 0  # the last one of former consumers, like the next value
        self.last_consumed_ms = 0
        self.dispatcher: Dispatcher = new_dispatcher(EXCLUSIVE, cursor, context.topic.log, context.dispatch, AUTO_SPLIT)
        self.limit()

    @property
    def consumers(self) -> list[Consumer]:
        return self.dispatcher.consumers

    @property
    def type_name(self) -> str:
        return type_name(self.sub_type)

    def rates(self) -> list[Rate]:
        rates = [self.former_rate]
        for consumer in self.consumers:
            rates += consumer.rate, consumer.acks, consumer.redeliveries
        return rates

    # -- joining and leaving

    async def make_room(self, sub_type: int, mode: KeySharedMode) -> None:
        """Raises `ConsumerBusy` unless a consumer of that type can join. Checks first whether the others are alive."""
        for occupant in self._in_the_way(sub_type, mode):
            if await occupant.client.outbound.is_alive() and not occupant.closed:
                break
        if self._in_the_way(sub_type, mode) and not self._agrees(sub_type, mode):  # one is alive, or has just joined
            same = sub_type == self.sub_type == EXCLUSIVE
            raise ConsumerBusy(
                "Exclusive consumer is already connected" if same else "Subscription is of different type"
            )

    def _in_the_way(self, sub_type: int, mode: KeySharedMode) -> list[Consumer]:
        """The consumers that must leave before one of that type can join."""
        return list(self.consumers) if sub_type != self.sub_type else self.dispatcher.conflicting_consumers(mode)

    def _agrees(self, sub_type: int, mode: KeySharedMode) -> bool:
        """Whether both are Key_Shared in the same mode; then the dispatcher knows whether hashes are left."""
        return sub_type == self.sub_type and self.dispatcher.divides_keys_like(mode)

    def add(self, consumer: Consumer, sub_type: int) -> None:
        """Adds a consumer; may raise `ConsumerBusy` or `ConsumerAssignFailed`."""
        if not self.consumers:
            self._become(sub_type, consumer)
        self.dispatcher.add(consumer)

    def _become(self, sub_type: int, consumer: Consumer) -> None:
        """Takes the type of the first consumer."""
        log, dispatch = self._context.topic.log, self._context.dispatch
        plain = self._context.compaction.view() if consumer.read_compacted else log
        source = stamped(plain, log, dispatch.entry_metadata)
        self.dispatcher.close()
        self.sub_type = sub_type
        self.was_used = True
        self.dispatcher = new_dispatcher(sub_type, self._cursor, source, dispatch, consumer.key_shared)
        self.dispatcher.read_markers = self._read_markers
        self.limit()

    def remove(self, consumer: Consumer) -> None:
        """Removes a consumer; its pending messages become available to others."""
        self.dispatcher.remove(consumer)
        self.former_rate.absorb(consumer.rate)
        self.last_flow_ms = max(self.last_flow_ms, consumer.last_flow_ms)
        self.last_consumed_ms = max(self.last_consumed_ms, consumer.last_consumed_ms)

    async def disconnect_served(self) -> None:
        """Closes the consumers that get messages: with Failover, only the active one."""
        active = self.dispatcher.active_consumer
        await (self.disconnect_all() if active is None else active.disconnect())

    async def disconnect_all(self) -> None:
        await asyncio.gather(*(consumer.disconnect() for consumer in list(self.consumers)))

    async def redirect(self, to: Destination) -> None:
        """Sends the consumers to another cluster."""
        urls = to.service_url, to.service_url_tls
        await asyncio.gather(*(consumer.redirect(*urls) for consumer in list(self.consumers)))

    def reduce_pending(self, consumer: Consumer, position: Position, messages: int) -> None:
        """The consumer acknowledged some messages of a batch, which another one may have."""
        for holder in self.consumers:
            if holder.pending.reduce(*position, messages):
                break
        self.dispatcher.acknowledged(consumer, position.ledger_id, [])

    # -- limits of the dispatcher

    def limit(self) -> None:
        """Applies the dispatch rates in force, or none while the topic is on its way to another cluster."""
        if self._cursor.durable and not self._context.delivers():
            self.dispatcher.budget.rates = NothingAllowed()
        else:
            self._context.throttles.limit(self._name, self.dispatcher)

    def pass_markers_to(self, read_markers: Callable[[Block], None] | None) -> None:
        """Calls `read_markers` for each block that is read, from now on."""
        self._read_markers = self.dispatcher.read_markers = read_markers

    @property
    def has_unacknowledged(self) -> bool:
        """Whether a consumer has messages that it did not acknowledge."""
        if self.sub_type in INDIVIDUAL_ACK_TYPES:
            return any(consumer.unacked_messages for consumer in self.consumers)
        oldest = self._cursor.oldest_unacknowledged() if self.consumers else None
        return oldest is not None and oldest < self._cursor.read_position

    @property
    def may_acknowledge_cumulatively(self) -> bool:
        """Whether a consumer acknowledges cumulatively, or may have done so before its client connected again."""
        if self.sub_type in INDIVIDUAL_ACK_TYPES:
            return False
        return any(consumer.acknowledges_cumulatively or not consumer.acks.messages for consumer in self.consumers)
