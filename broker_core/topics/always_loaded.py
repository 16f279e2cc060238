"""Topics that have work to do while no client uses them: with a TTL, retention by time, or replication."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError
from broker_core.names import PERSISTENT, NamespaceName, TopicName, parse_topic
from broker_core.rates.time_slices import TimeSlices, sliced

if TYPE_CHECKING:
    from broker_core.metadata.tenancy.tenancy import Tenancy
    from broker_core.topics.documents import TopicDocuments
    from broker_core.topics.loaded import LoadedTopics

log = logging.getLogger(__name__)


class AlwaysLoadedTopics:
    def __init__(
        self,
        tenancy: Tenancy,
        documents: TopicDocuments,
        loaded: LoadedTopics,
        load: Callable[[TopicName], Awaitable[object]],
    ) -> None:
        self._tenancy = tenancy
        self._documents = documents
        self._loaded = loaded
        self._load = load

    async def load_all(self) -> None:
        await self._load_each(self._documents.all_persistent())

    async def load_affected(self, namespace: NamespaceName, topic: TopicName | None) -> None:
        """Loads topics for which a policy of `topic` is in force, or any policy of `namespace` if `topic` is None."""
        await self._load_each(self._persistent(namespace, topic))

    async def _load_each(self, keys: list[str]) -> None:
        async for key in sliced(keys, TimeSlices(0)):
            if key not in self._loaded:
                await self.load_if_needed(parse_topic(key))

    def is_needed(self, name: TopicName) -> bool:
        """Whether the topic has work to do without clients."""
        policies = self._tenancy.effective.of(name)
        return policies.ttl_seconds > 0 or policies.retention.limits.time_ms > 0 or self.is_replicated(name)

    async def load_if_needed(self, name: TopicName) -> None:
        if self.is_needed(name) and self._documents.get(name) is not None:
            try:
                await self._load(name)
            except BrokerError as error:  # one failure must not stop the others
                log.warning("topic %s: cannot load it for housekeeping and replication: %s", name, error)

    def is_replicated(self, name: TopicName) -> bool:
        return not name.is_segment and len(self._tenancy.effective.of(name).replication_clusters) > 1

    def _persistent(self, namespace: NamespaceName, topic: TopicName | None) -> list[str]:
        """Full names of the persistent topics that `LoadedTopics.affected_by` means, loaded or not."""
        if topic is None:
            return self._documents.of_namespace(namespace, PERSISTENT)
        base = topic.base
        names = [base, *(base.partition_name(index) for index in range(self._tenancy.partitioned.count(base)))]
        return [str(name) for name in names if name.is_persistent]
