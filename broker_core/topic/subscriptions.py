"""The subscriptions of one topic by name: created at a position, found, and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed, PreconditionFailed, SubscriptionNotFound
from broker_core.names import RESERVED_SUBSCRIPTIONS, is_reserved_subscription
from broker_core.rates.rate import Rate
from broker_core.rates.time_slices import gathered, sliced
from broker_core.replication.replicators import Replicators
from broker_core.storage.records.position import EARLIEST, LATEST, Position
from broker_core.tasks import to_the_end
from broker_core.topic.replicated_property import with_replicated
from broker_core.topic_context import TopicPart

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic.state import Lifecycle
    from broker_core.topic.subscription import Subscription
    from broker_core.topic.subscription_context import SubscriptionContext


class Subscriptions(TopicPart, Mapping[str, "Subscription"]):
    def __init__(
        self,
        context: SubscriptionContext,
        lifecycle: Lifecycle,
        kind: type[Subscription],
        by_name: dict[str, Subscription],
    ) -> None:
        """`kind` is the class of the topic's subscriptions; `by_name`, which other parts read, starts empty."""
        self._context = context
        self._name = context.topic.name
        self._log = context.topic.log
        self._limits = context.limits
        self._lifecycle = lifecycle
        self._kind = kind
        self._spawn = context.topic.spawn
        self._changing: dict[str, asyncio.Future[None]] = {}
        self.by_name = by_name
        self.delivered = Rate(context.topic.clock)  # to deleted subscriptions; the others have their own
        self._last_used = 0.0  # the same of deleted ones

    def __getitem__(self, name: str) -> Subscription:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    def find(self, name: str) -> Subscription:
        try:
            return self.by_name[name]
        except KeyError:
            self._lifecycle.check_open()
            raise SubscriptionNotFound(f"Subscription {name} not found for topic {self._name}") from None

    @property
    def last_used(self) -> float:
        """When (monotonic) a consumer left, or a subscription was deleted; 0 if neither has happened."""
        return max([self._last_used, *(subscription.last_used for subscription in self.by_name.values())])

    def consumers(self) -> Iterator[Consumer]:
        return (consumer for subscription in self.by_name.values() for consumer in subscription.consumers)

    async def load(self) -> None:
        """Adds the durable subscriptions of the log; the broker's own cursors are none."""
        async for name, cursor in sliced(list(self._log.cursors.items())):
            if name not in RESERVED_SUBSCRIPTIONS and not Replicators.is_cursor(name):
                self.by_name[name] = self._new(name, cursor)

    async def close(self) -> None:
        await gathered(list(self.by_name.values()), lambda subscription: subscription.close())

    async def open(
        self,
        name: str,
        *,
        durable: bool,
        start: Position | None,
        earliest: bool,
        properties: dict[str, str],
        replicated: bool = False,
        limited: bool = True,
    ) -> Subscription:
        """The subscription of that name, created at `start`, or at the earliest or latest entry, if missing.

        Without `limited`, the topic may get more subscriptions than its policies allow.
        """
        self._lifecycle.check_open()
        await self._change_ended(name)
        existing = self.by_name.get(name)
        if existing is not None:
            if existing.durable != durable:
                kind = "Durable" if existing.durable else "NonDurable"
                raise NotAllowed(f"{kind} subscription with the same name already exists.")
            if replicated:
                await existing.set_replicated(replicated)
            return existing
        if is_reserved_subscription(name):
            raise NotAllowed(f"Subscription name {name} is reserved")
        if limited:
            being_created = sum(other not in self.by_name for other in self._changing)
            self._limits.check_subscriptions(len(self.by_name) + being_created)
        replicated = self._context.replicated.may_replicate(name, requested=replicated)
        initial = start if start is not None else (EARLIEST if earliest else LATEST)
        stored = with_replicated(properties, replicated=replicated)
        self._changing[name] = asyncio.get_running_loop().create_future()
        await to_the_end(self._spawn, self._create(name, initial, stored, durable=durable))
        self._lifecycle.check_open()
        if replicated:
            self._context.replicated.changed()
        return self.find(name)

    async def _change_ended(self, name: str) -> None:
        """Waits while the subscription is being created or deleted."""
        while name in self._changing:
            await asyncio.wait([self._changing[name]])
            self._lifecycle.check_open()

    async def _create(self, name: str, initial: Position, properties: dict[str, str], *, durable: bool) -> None:
        """Other requests for the name wait until its cursor is durable: they would join one that may yet fail."""
        try:
            cursor = await self._log.open_cursor(name, initial=initial, durable=durable, properties=properties)
            if not self._lifecycle.is_closed:
                self.by_name[name] = self._new(name, cursor)
        finally:
            self._changing.pop(name).set_result(None)

    async def open_replicated(self, name: str) -> Subscription:
        """The subscription as another cluster has it, created at the earliest entry if missing."""
        existing = self.by_name.get(name)
        if existing is not None:
            return existing
        return await self.open(name, durable=True, start=None, earliest=True, properties={}, replicated=True)

    async def delete(self, name: str, *, force: bool = False) -> None:
        """Deletes a subscription and its cursor. `force` allows it while consumers are connected."""
        await self._change_ended(name)
        subscription = self.find(name)
        if subscription.consumers and not force:
            raise PreconditionFailed("Subscription has active connected consumers")
        subscription.closed = True  # at once: no consumer may join any longer
        self._changing[name] = asyncio.get_running_loop().create_future()
        await to_the_end(self._spawn, self._delete(subscription))

    async def _delete(self, subscription: Subscription) -> None:
        """If it fails, the cursor is still there, and consumers may come back to a new subscription over it."""
        name = subscription.name
        try:
            await subscription.close()
            self._lifecycle.check_open()
            await self._log.delete_cursor(name)
        finally:
            if self.by_name.get(name) is subscription:  # a non-durable one may be forgotten by now
                del self.by_name[name]
                self._remember(subscription)
            cursor = self._log.cursors.get(name)
            if cursor is not None and not self._lifecycle.is_closed:
                cursor.rewind()
                self.by_name[name] = self._new(name, cursor)
            self._changing.pop(name).set_result(None)
        self._context.replicated.changed()
        self._context.moved(name)

    async def forget(self, subscription: Subscription) -> None:
        """A non-durable subscription lost its last consumer."""
        if self.by_name.get(subscription.name) is subscription:
            del self.by_name[subscription.name]
            self._remember(subscription)
            subscription.closed = True
            subscription.delivery.dispatcher.close()
            await self._log.delete_cursor(subscription.name)

    async def policies_changed(self) -> None:
        async for subscription in sliced(list(self.by_name.values())):
            if self.by_name.get(subscription.name) is subscription:
                subscription.delivery.limit()
                subscription.wake()

    def _new(self, name: str, cursor: ManagedCursor) -> Subscription:
        return self._kind(self, self._context, name, cursor)

    def _remember(self, gone: Subscription) -> None:
        """Keeps the counters, which must only grow, and the time."""
        self._last_used = gone.clock.monotonic()
        self.delivered.absorb(gone.delivery.former_rate)
