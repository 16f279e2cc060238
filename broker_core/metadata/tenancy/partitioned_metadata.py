"""The partitioned topics of this instance: how many partitions each one has, and its properties.

This is metadata only. Which partitions exist is not known here: the broker creates and deletes them.
"""

from collections.abc import Mapping

from broker_core.config.broker import BrokerConfig
from broker_core.errors import (
    Conflict,
    NotAcceptable,
    TopicNotFound,
    Unprocessable,
)
from broker_core.metadata.tenancy.changes import Changes
from broker_core.metadata.tenancy.documents import PartitionedTopic, PropertyChange
from broker_core.metadata.tenancy.records import Records
from broker_core.names import NamespaceName, TopicName, check_partitioned_name


class PartitionedMetadata:
    def __init__(self, records: Records, changes: Changes, config: BrokerConfig) -> None:
        self._records = records
        self._changes = changes
        self._config = config

    def count(self, topic: TopicName) -> int:
        """The number of partitions; 0 if the topic is not partitioned."""
        metadata = self._records.partitioned.get(topic)
        return metadata.partitions if metadata else 0

    def find(self, topic: TopicName) -> PartitionedTopic | None:
        return self._records.partitioned.get(topic)

    def in_namespace(self, namespace: NamespaceName, domain: str) -> list[TopicName]:
        tenant, local = namespace.tenant, namespace.local
        topics = (
            topic
            for topic in self._records.partitioned  # without a `NamespaceName` for each: there may be thousands
            if topic.namespace_local == local and topic.tenant == tenant and topic.domain == domain
        )
        return sorted(topics, key=str)

    async def create(self, topic: TopicName, partitions: int, properties: Mapping[str, str] | None = None) -> None:
        """The broker checks that no non-partitioned topic of that name exists."""
        self.check_count(partitions)
        check_partitioned_name(topic)
        async with self._changes.alone:
            self._records.check_namespace_of(topic)
            if topic in self._records.partitioned:
                raise Conflict("This topic already exists")
            await self._records.put_partitioned(topic, PartitionedTopic(partitions, dict(properties or {})))

    async def note_growth(self, topic: TopicName, growing_to: int) -> None:
        """Notes the number that the topic will have, so that a restart can finish the update; 0 if there is none."""
        async with self._changes.alone:
            current = self.check_update(topic, max(growing_to, self.count(topic)))
            await self._records.put_partitioned(topic, current._replace(growing_to=growing_to))

    async def update(self, topic: TopicName, partitions: int) -> None:
        """Sets a larger number of partitions, or the same; a smaller one is refused."""
        async with self._changes.alone:
            current = self.check_update(topic, partitions)
            growing_to = current.growing_to if current.growing_to > partitions else 0
            changed = current._replace(partitions=partitions, growing_to=growing_to)
            await self._records.put_partitioned(topic, changed)

    def unfinished(self) -> list[tuple[TopicName, int]]:
        """The topics whose update began and has not ended, and to which number."""
        items = self._records.partitioned.items()
        return [(topic, metadata.growing_to) for topic, metadata in items if metadata.growing_to > metadata.partitions]

    def reach(self, topic: TopicName) -> int:
        """Return the same as `count`, with the partitions of an update that has not ended."""
        metadata = self._records.partitioned.get(topic)
        return max(metadata.partitions, metadata.growing_to) if metadata else 0

    def check_update(self, topic: TopicName, partitions: int) -> PartitionedTopic:
        """The topic as it is. Raises what `update` raises."""
        current = self._records.partitioned.get(topic)
        if current is None:
            raise Conflict(f"Topic {topic} is not the partitioned topic.")
        if partitions < current.partitions:
            refused = f"Desired partitions {partitions} can't be less than the current partitions"
            raise Unprocessable(f"{refused} {current.partitions}.")
        self.check_count(partitions)
        return current

    async def change_properties(self, topic: TopicName, change: PropertyChange) -> None:
        async with self._changes.alone:
            current = self._records.partitioned.get(topic)
            if current is None:
                raise TopicNotFound(f"Topic {topic} not found")
            await self._records.put_partitioned(topic, current._replace(properties=change(current.properties)))

    async def delete(self, topic: TopicName) -> None:
        """Removes the metadata only; the broker deletes the partitions."""
        async with self._changes.alone:
            if topic not in self._records.partitioned:
                raise TopicNotFound(f"Topic {topic} not found.")
            await self._records.delete_partitioned(topic)

    def check_count(self, partitions: int) -> None:
        """Raises `NotAcceptable` when no topic may have that many partitions."""
        most = self._config.topics.partition_limit
        if partitions <= 0:
            raise NotAcceptable("Number of partitions should be more than 0")
        if most < partitions:
            raise NotAcceptable(f"Number of partitions should be less than or equal to {most}")
