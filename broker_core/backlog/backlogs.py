"""Everything of a topic that has a backlog, by name: subscriptions and replicators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from broker_core.errors import SubscriptionNotFound
from broker_core.publishing.replication import REPLICATOR_PREFIX

if TYPE_CHECKING:
    from broker_core.backlog.backlogged import Backlogged
    from broker_core.names import TopicName


class Backlogs(Mapping[str, "Backlogged"]):
    """A view of mappings by cursor name. No name is in two of them: those of replicators are reserved."""

    def __init__(self, topic: TopicName, *parts: Mapping[str, Backlogged]) -> None:
        self._topic = topic
        self._parts = parts

    def __getitem__(self, name: str) -> Backlogged:
        for part in self._parts:
            if name in part:
                return part[name]
        raise KeyError(name)

    def find(self, name: str) -> Backlogged:
        """Raises `SubscriptionNotFound`."""
        if name not in self:
            raise no_backlog(name, self._topic)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            yield from part

    def __len__(self) -> int:
        return sum(map(len, self._parts))


def no_backlog(name: str, topic: TopicName) -> SubscriptionNotFound:
    """The error for an unknown name, in Pulsar's words for both kinds."""
    if name.startswith(REPLICATOR_PREFIX):
        return SubscriptionNotFound("Replicator not found")
    return SubscriptionNotFound(f"Subscription {name} not found for topic {topic}")
