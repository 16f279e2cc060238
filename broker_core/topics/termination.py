"""Terminating a topic: it takes no more messages, ever; who has read and acknowledged everything is told.

REACHED_END_OF_TOPIC goes to consumers whose subscription has no backlog (Pulsar's rule: acknowledged, not just
delivered), once each. Only Java clients know the command: others would drop the connection over it, subscribe
again, and so on for ever (rules, 9.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from broker_core.wire import commands

if TYPE_CHECKING:
    from broker_core.consumer import Consumer
    from broker_core.storage.position import Position
    from broker_core.topic import Topic

KNOWS_END_OF_TOPIC = ("Pulsar-Java", "Pulsar Client")  # how such clients' versions begin; the second is before 3.0


class Termination:
    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._told: WeakSet[Consumer] = WeakSet()

    async def terminate(self) -> Position:
        """Durable on return; publishes that came before complete. Returns the last position, also the second time."""
        topic = self._topic
        topic.check_open()
        producers = list(topic.producers.values())
        for producer in producers:
            producer.ignore_sends()  # a SEND_ERROR would make clients close the connection before receipts are read
        try:
            last = await topic.ledger.terminate()
        finally:
            for producer in producers:
                producer.disconnect()  # its client comes again and reads why it may not
        self.tell_readers()
        return last

    def tell_readers(self) -> None:
        """Something was acknowledged, or a consumer has come: who is at the end now?"""
        if self._topic.ledger.terminated is None:
            return
        for subscription in self._topic.subscriptions.values():
            if not subscription.cursor.backlog_entries:
                for consumer in subscription.consumers:
                    self._tell(consumer)

    def _tell(self, consumer: Consumer) -> None:
        if consumer in self._told or not consumer.session.client_version.startswith(KNOWS_END_OF_TOPIC):
            return
        self._told.add(consumer)
        consumer.session.outbound.send(commands.reached_end_of_topic(consumer.consumer_id))
