"""Everything of a topic that has a backlog: subscriptions and replicators, as housekeeping and quotas see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from broker_core.errors import SubscriptionNotFound
from broker_core.publishing.replication import REPLICATOR_PREFIX

if TYPE_CHECKING:
    from broker_core.names import TopicName
    from broker_core.storage.cursor import ManagedCursor
    from broker_core.storage.position import Position


class Backlogged(Protocol):
    """A subscription or a replicator."""

    name: str
    cursor: ManagedCursor

    @property
    def durable(self) -> bool:
        """Whether its cursor survives a restart."""

    @property
    def has_reader(self) -> bool:
        """Whether a consumer or another cluster gets its messages now."""

    async def skip(self, entries: int) -> None:
        """Acknowledges the next `entries` unacknowledged entries."""

    async def clear_backlog(self) -> None:
        """Acknowledges everything in the topic now."""

    async def expire_before(self, publish_time_ms: int) -> int:
        """Acknowledges older messages, up to the first later one; returns how many expired."""

    async def expire_up_to(self, position: Position, *, inclusive: bool) -> int:
        """Acknowledges everything up to the position, or before it; returns how many messages expired."""


class Backlogs(Mapping[str, Backlogged]):
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
