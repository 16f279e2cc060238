"""A subscription of a non-persistent topic: drops and counts what its consumers cannot take at once.

Everything else is as in any subscription. Nothing stays pending: a message is done after dispatch, whatever the client
acknowledges or returns, and there is no position to seek to (Pulsar docs, "Non-persistent topics").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.rates.rate import Rate
from broker_core.topic.subscription import Subscription, SubscriptionOwner
from broker_core.topic.subscription_context import SubscriptionContext

if TYPE_CHECKING:
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.position import Position


class NonPersistentSubscription(Subscription):
    def __init__(
        self, owner: SubscriptionOwner, context: SubscriptionContext, name: str, cursor: ManagedCursor
    ) -> None:
        super().__init__(owner, context, name, cursor)
        self.dropped: Rate = Rate(self.clock)

    def rates(self) -> list[Rate]:
        return [*super().rates(), self.dropped]

    def drop_unsent(self, messages_from: Callable[[Position], int]) -> None:
        """Drops what the dispatcher has not sent in its pass: it is lost to this subscription."""
        last = self._log.last_confirmed
        if self.cursor.mark_delete >= last:
            return
        self.dropped.add(messages_from(self.cursor.read_position) + self.delivery.dispatcher.waiting, 0)
        self.cursor.expire_to(last)
        self._moved()

    async def reset(self, position: Position, open_bits: int = 0) -> None:
        self.check_free()
