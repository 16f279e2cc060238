"""Termination: a topic takes no more messages, and consumers that have acknowledged everything are told.

REACHED_END_OF_TOPIC goes to consumers whose subscription has no backlog (Pulsar's rule: acknowledged, not just
delivered), once for each consumer. Only Java clients get it: others would close the connection and subscribe again,
endlessly (docs/reference/protocol.md "Commands that clients accept").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from weakref import WeakSet

from broker_core.errors import NotAllowed
from broker_core.wire import commands

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.publishing.producer import Producer
    from broker_core.storage.records.position import Position
    from broker_core.topic.subscription import Subscription
    from broker_core.topic_log import DurableLog

KNOWS_END_OF_TOPIC = (
    "Pulsar-Java",
    "Pulsar Client",
)  # prefixes of client versions that know the command; the second one is before 3.0


class Termination:
    def __init__(
        self,
        log: DurableLog | None,
        producers: Mapping[str, Producer],
        subscriptions: Mapping[str, Subscription],
        read_to_end: Callable[[str], None],
    ) -> None:
        """`read_to_end` learns of each subscription that has no backlog any more."""
        self._log = log
        self._producers = producers
        self._subscriptions = subscriptions
        self._read_to_end = read_to_end
        self._at_end: WeakSet[Subscription] = WeakSet()
        self._told: WeakSet[Consumer] = WeakSet()

    @property
    def at(self) -> Position | None:
        """The last position of a terminated topic; None while it takes messages."""
        return None if self._log is None else self._log.terminated

    async def terminate(self) -> Position:
        """Durable on return; earlier publishes complete. Returns the last position, also when called again."""
        if self._log is None:
            raise NotAllowed("Termination of a non-persistent topic is not allowed")
        producers = list(self._producers.values())
        for producer in producers:
            producer.ignore_sends()  # a SEND_ERROR would make clients close the connection before receipts are read
        try:
            last = await self._log.terminate()
        finally:
            for producer in producers:
                producer.disconnect()  # its client reconnects and gets the reason
        self.tell_readers()
        return last

    def tell_readers(self) -> None:
        """Tells consumers at the end, of all subscriptions."""
        for name in list(self._subscriptions):
            self.tell_readers_of(name)

    def tell_readers_of(self, name: str) -> None:
        """Tells the consumers of one subscription. Hot path: called when its cursor moved, or a consumer is ready."""
        if self._log is None or self._log.terminated is None or (subscription := self._subscriptions.get(name)) is None:
            return
        if subscription.cursor.backlog_entries:
            self._at_end.discard(subscription)
            return
        for consumer in subscription.consumers:
            self._tell(consumer)
        if subscription not in self._at_end:
            self._at_end.add(subscription)
            self._read_to_end(name)

    def _tell(self, consumer: Consumer) -> None:
        if consumer in self._told or not consumer.client.client_version.startswith(KNOWS_END_OF_TOPIC):
            return
        self._told.add(consumer)
        consumer.client.outbound.send(commands.reached_end_of_topic(consumer.consumer_id))
