"""Limits on the number of producers, consumers, subscriptions, and topics, with the errors that Pulsar's clients read.

The limits are policies (topic, namespace, configuration); 0 means no limit. Only the configuration has limits per
address. Clients that are connected stay when a limit is lowered. System topics have no limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from broker_core.errors import ConsumerBusy, LimitReached, ProducerBusy

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.metadata.policies.in_force import PoliciesInForce
    from broker_core.names import TopicName

TOPICS_EXCEEDED = "Exceed maximum number of topics in namespace."


class TopicLimits(NamedTuple):
    """The limits of one topic: its policies, and the configuration's limits per address."""

    topic: TopicName
    in_force: PoliciesInForce
    same_address_producers: int
    same_address_consumers: int

    @property
    def any_of_producers(self) -> bool:
        """Whether producers need to be counted; there may be many, and each new one runs this check."""
        return self.in_force.current.max_producers > 0 or self.same_address_producers > 0

    @property
    def any_of_consumers(self) -> bool:
        return self.in_force.current.max_consumers > 0 or self.same_address_consumers > 0

    def check_users_producers(self, connected: int) -> None:
        """Raises `ProducerBusy` if `connected` producers reach the limit; replicators neither count nor are limited."""
        if 0 < self.in_force.current.max_producers <= connected:
            raise ProducerBusy(f"Topic '{self.topic}' reached max producers limit")

    def check_producers(self, connected: Collection[Client], client: Client) -> None:
        """Raises `ProducerBusy` if a producer of that client may not join the connected ones."""
        if 0 < self.same_address_producers <= _from_address(connected, client):
            raise ProducerBusy(f"Topic '{self.topic}' reached max same address producers limit")

    def check_consumers(self, connected: Collection[Client], client: Client) -> None:
        """Raises `ConsumerBusy` if a consumer of that client may not join those of all subscriptions."""
        check_consumers(len(connected), self.in_force.current.max_consumers)
        if 0 < self.same_address_consumers <= _from_address(connected, client):
            raise ConsumerBusy("Topic reached max same address consumers limit")

    def check_consumers_of_subscription(self, connected: int) -> None:
        """Raises `ConsumerBusy` if a subscription with that number of consumers is full."""
        check_consumers_of_subscription(connected, self.in_force.current.max_consumers_per_subscription)

    def check_subscriptions(self, existing: int) -> None:
        """Raises `LimitReached` if a topic with that number of subscriptions cannot get another one."""
        check_subscriptions(self.topic, existing, self.in_force.current.max_subscriptions)


def check_consumers(existing: int, limit: int) -> None:
    """Raises `ConsumerBusy` if a topic with `existing` consumers cannot get another one."""
    if 0 < limit <= existing:
        raise ConsumerBusy("Topic reached max consumers limit")


def check_consumers_of_subscription(existing: int, limit: int) -> None:
    """Raises `ConsumerBusy` if a subscription with `existing` consumers cannot get another one."""
    if 0 < limit <= existing:
        raise ConsumerBusy("Subscription reached max consumers limit")


def check_subscriptions(topic: TopicName, existing: int, limit: int) -> None:
    """Raises `LimitReached` if a topic with `existing` subscriptions cannot get another one."""
    if 0 < limit <= existing:
        raise LimitReached(f"Exceed the maximum number of subscriptions of the topic: {topic}")


def check_topics(existing: int, new: int, limit: int) -> None:
    """Raises `LimitReached` if a namespace with `existing` topics cannot get `new` more."""
    if 0 < limit < existing + new:
        raise LimitReached(TOPICS_EXCEEDED)


def _from_address(clients: Iterable[Client], client: Client) -> int:
    host = client.host
    return sum(connected.host == host for connected in clients)
