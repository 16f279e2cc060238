"""How many producers, consumers, subscriptions and topics there may be, with the refusals that Pulsar's clients read.

The limits are policies (topic, namespace, configuration); 0 is no limit. Those by address are the configuration's
alone. Whoever is in already stays when a limit is lowered; topics that the broker makes for itself have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from broker_core.errors import ConsumerBusy, LimitReached, ProducerBusy

if TYPE_CHECKING:
    from broker_core.consumer import Consumer
    from broker_core.producer import Producer
    from broker_core.session import Session
    from broker_core.subscription import Subscription
    from broker_core.topic import Topic

TOPICS_EXCEEDED = "Exceed maximum number of topics in namespace."


def check_producers(topic: Topic, session: Session) -> None:
    """Raises `ProducerBusy` when no producer of that connection may join."""
    if 0 < topic.policies.max_producers <= len(topic.producers):
        raise ProducerBusy(f"Topic '{topic.name}' reached max producers limit")
    limit = topic.limits.max_same_address_producers
    if 0 < limit <= _from_address(topic.producers.values(), session):
        raise ProducerBusy(f"Topic '{topic.name}' reached max same address producers limit")


def check_consumers(topic: Topic, session: Session) -> None:
    """Raises `ConsumerBusy` when no consumer of that connection may join, whatever its subscription."""
    if 0 < topic.policies.max_consumers <= sum(len(one.consumers) for one in topic.subscriptions.values()):
        raise ConsumerBusy("Topic reached max consumers limit")
    limit = topic.limits.max_same_address_consumers
    consumers = (consumer for one in topic.subscriptions.values() for consumer in one.consumers)
    if 0 < limit <= _from_address(consumers, session):
        raise ConsumerBusy("Topic reached max same address consumers limit")


def check_consumers_of(subscription: Subscription) -> None:
    """Raises `ConsumerBusy` when the subscription is full."""
    if 0 < subscription.topic.policies.max_consumers_per_subscription <= len(subscription.consumers):
        raise ConsumerBusy("Subscription reached max consumers limit")


def check_subscriptions(topic: Topic) -> None:
    """Raises `LimitReached` when no further subscription may be made."""
    if 0 < topic.policies.max_subscriptions <= len(topic.subscriptions):
        raise LimitReached(f"Exceed the maximum number of subscriptions of the topic: {topic.name}")


def check_topics(existing: int, new: int, limit: int) -> None:
    """Raises `LimitReached` when a namespace that has `existing` topics may not get `new` more."""
    if 0 < limit < existing + new:
        raise LimitReached(TOPICS_EXCEEDED)


def _from_address(clients: Iterable[Producer] | Iterable[Consumer], session: Session) -> int:
    host = session.host
    return sum(one.session.host == host for one in clients)
