"""The documents of tenants, namespaces, topic policies, and partitioned topics, in memory as typed values.

They are read once at the start. A change is read as a restart would read it, then stored, and only then visible here.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from broker_core.config.broker import BrokerConfig
from broker_core.errors import NotFound
from broker_core.metadata.policies.policy_set import NOTHING_SET, PolicySet
from broker_core.metadata.tenancy.documents import (
    GLOBAL_TOPIC_POLICIES,
    NAMESPACE,
    PARTITIONED_TOPIC,
    TENANT,
    TOPIC_POLICIES,
    BadValue,
    DocumentReader,
    PartitionedTopic,
    Tenant,
    read_stored,
)
from broker_core.metadata.tenancy.namespace import Namespace
from broker_core.names import NamespaceName, TopicName

log = logging.getLogger(__name__)

DEFAULT_NAMESPACES = ("public/default", "public/functions", "pulsar/system")


class Documents(Protocol):
    """The metadata store: documents by kind and key. Reads come from memory; writes wait for the disk."""

    async def put(self, kind: str, key: str, doc: dict[str, Any], /) -> None: ...

    async def delete(self, kind: str, key: str, /) -> None: ...

    def get(self, kind: str, key: str, /) -> dict[str, Any] | None: ...

    def list(self, kind: str, /) -> Iterable[str]:
        """The keys of a kind."""


class Records:
    def __init__(self, documents: Documents, config: BrokerConfig) -> None:
        self._documents = documents
        self.cluster = config.server.cluster_name
        self._policies = config.policies
        self._reader = DocumentReader(self.cluster, config.policies.default_bundles, config.policies.most_bundles)
        read, stored = self._reader, self._stored
        self.tenants: dict[str, Tenant] = read_stored(TENANT, read.tenant, stored(TENANT), _report)
        self.namespaces: dict[NamespaceName, Namespace] = read_stored(
            NAMESPACE, read.namespace, stored(NAMESPACE), _report
        )
        self.leaving: dict[NamespaceName, Namespace] = {}  # namespaces that are being deleted
        self.topic_policies: dict[TopicName, PolicySet] = read_stored(
            TOPIC_POLICIES, read.topic_policies, stored(TOPIC_POLICIES), _report
        )
        self.global_topic_policies: dict[TopicName, PolicySet] = read_stored(
            GLOBAL_TOPIC_POLICIES, read.topic_policies, stored(GLOBAL_TOPIC_POLICIES), _report
        )
        self.partitioned: dict[TopicName, PartitionedTopic] = read_stored(
            PARTITIONED_TOPIC, read.partitioned_topic, stored(PARTITIONED_TOPIC), _report
        )

    def _stored(self, kind: str) -> Iterable[tuple[str, Any]]:
        return ((key, self._documents.get(kind, key)) for key in self._documents.list(kind))

    @property
    def is_new(self) -> bool:
        """Whether the store has no tenants, readable or not."""
        return not list(self._documents.list(TENANT))

    async def create_defaults(self, admin_roles: tuple[str, ...] = ()) -> None:
        """Creates Pulsar's default tenants and namespaces."""
        names = [NamespaceName.parse(text) for text in DEFAULT_NAMESPACES]
        # Concurrent, so that the store can commit them together: every first start waits for this.
        async with asyncio.TaskGroup() as changes:
            for tenant in sorted({name.tenant for name in names}):
                changes.create_task(self.put_tenant(tenant, Tenant(admin_roles, (self.cluster,))))
            for name in names:
                changes.create_task(self.put_namespace(self.new_namespace(name, {})))
        # Programs that start Apache Pulsar's image wait for this line.
        log.info("Successfully updated the policies on namespace %s", names[0])

    async def put_tenant(self, name: str, tenant: Tenant) -> None:
        document = tenant.to_document()
        name, in_force = self._reader.tenant(name, document)
        await self._documents.put(TENANT, name, document)
        self.tenants[name] = in_force

    async def delete_tenant(self, name: str) -> None:
        await self._documents.delete(TENANT, name)
        del self.tenants[name]

    def new_namespace(self, name: NamespaceName, document: Mapping[str, Any]) -> Namespace:
        """A namespace with the settings of a REST `Policies` object; absent ones get Pulsar's defaults."""
        reader = self._reader._replace(default_bundles=self._policies.default_bundles)
        return reader.namespace(str(name), document)[1]

    async def put_namespace(self, namespace: Namespace) -> None:
        document = namespace.to_document()
        name, in_force = self._reader.namespace(str(namespace.name), document)
        await self._documents.put(NAMESPACE, str(name), document)
        self.namespaces[name] = in_force

    def hide_namespace(self, name: NamespaceName) -> None:
        """Before its deletion, so that no topic is created in it in the meantime."""
        self.leaving[name] = self.namespaces.pop(name)

    def show_namespace(self, name: NamespaceName) -> None:
        """Show a namespace again whose deletion failed."""
        self.namespaces[name] = self.leaving.pop(name)

    async def delete_namespace(self, name: NamespaceName) -> None:
        """A hidden one, with the policies of its topics, some of which may never have existed here."""
        await self._forget_topic_policies(name)
        await self._documents.delete(NAMESPACE, str(name))
        del self.leaving[name]

    async def _forget_topic_policies(self, name: NamespaceName) -> None:
        for is_global, sets in ((False, self.topic_policies), (True, self.global_topic_policies)):
            for topic in [topic for topic in sets if topic.namespace == name]:
                await self.put_topic_policies(topic, NOTHING_SET, is_global=is_global)

    def has_namespace(self, name: NamespaceName) -> bool:
        """Whether the namespace can have topics."""
        return name in self.namespaces or name.exists_by_use

    def check_namespace_of(self, topic: TopicName) -> None:
        """Raises `NotFound` unless the topic's namespace exists."""
        if not self.has_namespace(topic.namespace):
            raise NotFound("Namespace not found")

    def policies_of(self, topic: TopicName, *, is_global: bool) -> PolicySet:
        """The policies set on the topic: for all clusters, or for this one (PIP 92)."""
        sets = self.global_topic_policies if is_global else self.topic_policies
        return sets.get(topic.base, NOTHING_SET)

    async def put_topic_policies(self, topic: TopicName, policies: PolicySet, *, is_global: bool) -> None:
        kind = GLOBAL_TOPIC_POLICIES if is_global else TOPIC_POLICIES
        sets = self.global_topic_policies if is_global else self.topic_policies
        if policies.is_empty:
            await self._documents.delete(kind, str(topic))
            sets.pop(topic, None)
            return
        document = policies.to_document(self.cluster)
        _, in_force = self._reader.topic_policies(str(topic), document)
        await self._documents.put(kind, str(topic), document)
        sets[topic] = in_force

    async def put_partitioned(self, topic: TopicName, metadata: PartitionedTopic) -> None:
        document = metadata.to_document()
        _, in_force = self._reader.partitioned_topic(str(topic), document)
        await self._documents.put(PARTITIONED_TOPIC, str(topic), document)
        self.partitioned[topic] = in_force

    async def delete_partitioned(self, topic: TopicName) -> None:
        await self._documents.delete(PARTITIONED_TOPIC, str(topic))
        del self.partitioned[topic]


def _report(bad_value: BadValue) -> None:
    log.error("%s", bad_value)
