"""How many producers, consumers, subscriptions and topics there may be, with the refusals that Pulsar's clients read.

The limits are policies (topic, namespace, configuration); 0 is no limit. Those by address are the configuration's
alone. Whoever is in already stays when a limit is lowered; topics that the broker makes for itself have none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.errors import ConsumerBusy, LimitReached, ProducerBusy

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.names import TopicName
    from broker_core.policies.in_force import PoliciesInForce

TOPICS_EXCEEDED = "Exceed maximum number of topics in namespace."


@dataclass(frozen=True, slots=True)
class TopicLimits:
    """Of one topic: its policies, and the configuration's limits by address."""

    topic: TopicName
    in_force: PoliciesInForce
    same_address_producers: int
    same_address_consumers: int

    @property
    def any_of_producers(self) -> bool:
        """Whether it is worth counting the producers; there may be many, and each comes through here."""
        return self.in_force.current.max_producers > 0 or self.same_address_producers > 0

    @property
    def any_of_consumers(self) -> bool:
        return self.in_force.current.max_consumers > 0 or self.same_address_consumers > 0

    def check_users_producers(self, connected: int) -> None:
        """Raises `ProducerBusy` when none may join that many producers; replicators neither count nor are asked."""
        if 0 < self.in_force.current.max_producers <= connected:
            raise ProducerBusy(f"Topic '{self.topic}' reached max producers limit")

    def check_producers(self, connected: Collection[Client], client: Client) -> None:
        """Raises `ProducerBusy` when no producer of that client may join those that are connected."""
        if 0 < self.same_address_producers <= _from_address(connected, client):
            raise ProducerBusy(f"Topic '{self.topic}' reached max same address producers limit")

    def check_consumers(self, connected: Collection[Client], client: Client) -> None:
        """Raises `ConsumerBusy` when no consumer of that client may join those of all subscriptions."""
        if 0 < self.in_force.current.max_consumers <= len(connected):
            raise ConsumerBusy("Topic reached max consumers limit")
        if 0 < self.same_address_consumers <= _from_address(connected, client):
            raise ConsumerBusy("Topic reached max same address consumers limit")

    def check_consumers_of_subscription(self, connected: int) -> None:
        """Raises `ConsumerBusy` when a subscription with that many consumers is full."""
        if 0 < self.in_force.current.max_consumers_per_subscription <= connected:
            raise ConsumerBusy("Subscription reached max consumers limit")

    def check_subscriptions(self, existing: int) -> None:
        """Raises `LimitReached` when a topic with that many subscriptions may get no other."""
        if 0 < self.in_force.current.max_subscriptions <= existing:
            raise LimitReached(f"Exceed the maximum number of subscriptions of the topic: {self.topic}")


def check_topics(existing: int, new: int, limit: int) -> None:
    """Raises `LimitReached` when a namespace that has `existing` topics may not get `new` more."""
    if 0 < limit < existing + new:
        raise LimitReached(TOPICS_EXCEEDED)


def _from_address(clients: Iterable[Client], client: Client) -> int:
    host = client.host
    return sum(one.host == host for one in clients)
