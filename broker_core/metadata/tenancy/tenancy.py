"""Tenants, namespaces, and their policies; `topic_level` and `partitioned_metadata` hold the other metadata.

Everything is a small document (`records`). A change is checked, then stored, and only then in force; after that, the
listeners of `on_change` are called. Which topics exist is not known here, so the broker says whether a namespace is
empty. Reasons of refusals are those of Pulsar's admin REST API.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.config.security import names
from broker_core.errors import (
    Conflict,
    Forbidden,
    InvalidValue,
    NotFound,
    PreconditionFailed,
)
from broker_core.metadata.policies.kept import ALLOWED_CLUSTERS, AUTH_POLICIES, KEPT, MIGRATED
from broker_core.metadata.policies.policy_set import PolicySet
from broker_core.metadata.policies.retention_and_quotas import check_fit
from broker_core.metadata.tenancy.bundles import Bundles
from broker_core.metadata.tenancy.changes import Changes
from broker_core.metadata.tenancy.documents import CLUSTER, PropertyChange, Tenant
from broker_core.metadata.tenancy.effective import EffectivePolicies
from broker_core.metadata.tenancy.namespace import Namespace
from broker_core.metadata.tenancy.partitioned_metadata import PartitionedMetadata
from broker_core.metadata.tenancy.permissions import Permissions
from broker_core.metadata.tenancy.records import Documents, Records
from broker_core.metadata.tenancy.replication import ReplicationRules
from broker_core.metadata.tenancy.tool_records import FAILURE_DOMAINS, ISOLATION_POLICIES, ToolRecords
from broker_core.metadata.tenancy.topic_level import TopicLevelPolicies
from broker_core.metadata.tenancy.unsent_policies import UnsentPolicies
from broker_core.names import NamespaceName, TopicName, check_new_entity


async def _nothing() -> None:
    """Removes nothing more."""


class Tenancy:
    """Created by `await Tenancy.open(documents, config)`; every method without `async` answers from memory."""

    def __init__(self, records: Records, documents: Documents, config: BrokerConfig) -> None:
        self._records = records
        self._changes = Changes()
        self.tool_records = ToolRecords(documents, self._changes.alone)
        self._config = config
        self.cluster = records.cluster
        self.effective = EffectivePolicies(records, config)
        self.replication = ReplicationRules(records.cluster, self.tool_records)
        self.on_change, self.on_permissions = self._changes.on_change, self._changes.on_permissions
        unsent = UnsentPolicies(documents)
        self.topic_policies = TopicLevelPolicies(records, self._changes, config, unsent, self.replication)
        self.partitioned = PartitionedMetadata(records, self._changes, config)

    @classmethod
    async def open(cls, documents: Documents, config: BrokerConfig) -> "Tenancy":
        """Reads all documents; a store without tenants gets Pulsar's default tenants and namespaces.

        Not with authorization but without brokerClientAuthenticationPlugin: as in Pulsar, which creates them with it.
        """
        records = Records(documents, config)
        security = config.security
        if records.is_new and (not security.authorization or security.internal_plugin):
            await records.create_defaults(tuple(sorted(names(security.super_users))))
        return cls(records, documents, config)

    # Clusters and tenants

    def clusters(self) -> list[str]:
        """This cluster, and the others that tools registered."""
        return sorted({self.cluster, *self.tool_records.keys(CLUSTER)})

    async def delete_cluster(self, name: str) -> None:
        """Raises `NotFound`, or `PreconditionFailed` if something names the cluster."""
        async with self._changes.alone:
            if name not in self.clusters():
                raise NotFound("Cluster does not exist")
            if name == self.cluster:
                raise PreconditionFailed(f"cannot delete cluster {name}: this broker belongs to it")
            if self._uses_cluster(name) or self.tool_records.get(ISOLATION_POLICIES, name):
                raise PreconditionFailed("Cluster not empty")
            await self.tool_records.delete(CLUSTER, name)
            await self.tool_records.delete(FAILURE_DOMAINS, name)

    def _uses_cluster(self, name: str) -> bool:
        """Whether a tenant, a namespace, or a topic names the cluster."""
        tenants = (tenant.allowed_clusters for tenant in self._records.tenants.values())
        namespaces = (namespace.replication_clusters for namespace in self._records.namespaces.values())
        allowed = (namespace.kept.get(ALLOWED_CLUSTERS) or () for namespace in self._records.namespaces.values())
        sets = (self._records.topic_policies, self._records.global_topic_policies)
        topics = (policies.get("replication_clusters") or () for policy_set in sets for policies in policy_set.values())
        return any(name in clusters for clusters in chain(tenants, namespaces, allowed, topics))

    def tenants(self) -> list[str]:
        return sorted(self._records.tenants)

    def tenant(self, name: str) -> Tenant:
        if name not in self._records.tenants:
            raise NotFound("Tenant does not exist")
        return self._records.tenants[name]

    async def create_tenant(self, name: str, tenant: Tenant) -> None:
        check_new_entity("Tenant", name)
        async with self._changes.alone:
            self._check_clusters(tenant.allowed_clusters)
            if name in self._records.tenants:
                raise Conflict("Tenant already exist")
            await self._records.put_tenant(name, tenant)

    async def update_tenant(self, name: str, tenant: Tenant) -> None:
        async with self._changes.alone:
            if name not in self._records.tenants:
                raise NotFound(f"Tenant {name} not found")
            self._check_clusters(tenant.allowed_clusters)
            self._check_unused_clusters(name, tenant.allowed_clusters)
            await self._records.put_tenant(name, tenant)
        self._changes.tell_permissions()

    async def delete_tenant(self, name: str) -> None:
        async with self._changes.alone:
            if name not in self._records.tenants:
                raise NotFound("Tenant doesn't exist")
            if self.namespaces(name) or any(namespace.tenant == name for namespace in self._records.leaving):
                raise Conflict("The tenant still has active namespaces")
            await self._records.delete_tenant(name)

    # Namespaces and their policies

    def namespaces(self, tenant: str) -> list[NamespaceName]:
        if tenant not in self._records.tenants:
            raise NotFound("Tenant not found")
        return sorted((name for name in self._records.namespaces if name.tenant == tenant), key=str)

    def all_namespaces(self) -> list[NamespaceName]:
        return sorted(self._records.namespaces, key=str)

    def has_namespace(self, name: NamespaceName) -> bool:
        """Whether the namespace can have topics."""
        return self._records.has_namespace(name)

    def namespace(self, name: NamespaceName) -> Namespace:
        if name not in self._records.namespaces:
            raise NotFound("Namespace does not exist")
        return self._records.namespaces[name]

    def is_migrated(self, name: NamespaceName) -> bool:
        """Whether its own flag sends its clients to another cluster (PIP-188)."""
        namespace = self._records.namespaces.get(name)
        return namespace is not None and bool(namespace.kept.get(MIGRATED))

    async def create_namespace(self, name: NamespaceName, document: Mapping[str, Any] | None = None) -> None:
        """Creates it with the settings of a REST `Policies` object; absent ones get Pulsar's defaults."""
        check_new_entity("Namespace", name.local.rpartition("/")[2])
        namespace = self._records.new_namespace(name, document or {})
        self._check_policies(namespace.policies)
        async with self._changes.alone:
            tenant = self.tenant(name.tenant)
            named = [name.cluster] if name.exists_by_use else []
            for cluster in (*namespace.replication_clusters, *named):
                if cluster not in tenant.allowed_clusters:
                    refused = f"Cluster [{cluster}] is not in the list of allowed clusters list"
                    raise Forbidden(f"{refused} for tenant [{name.tenant}]")
            if name in self._records.namespaces or name in self._records.leaving:
                raise Conflict("Namespace already exists")
            self.replication.check(namespace.replication_clusters, tenant, namespace)
            await self._records.put_namespace(namespace)

    async def delete_namespace(
        self, name: NamespaceName, is_empty: Callable[[], bool], remove_rest: Callable[[], Awaitable[None]] = _nothing
    ) -> None:
        """Raises `Conflict` unless `is_empty()`, which is called when no other change can interfere.

        `remove_rest` removes what users do not count as content. The namespace is deleted last: a crash leaves nothing
        that the next namespace of that name would get, and the deletion can be repeated.
        """
        async with self._changes.alone:
            if name not in self._records.namespaces:
                raise NotFound(f"Namespace {name} does not exist.")
            if not is_empty() or any(topic.namespace == name for topic in self._records.partitioned):
                raise Conflict("Cannot delete non empty namespace")
            self._records.hide_namespace(name)
        try:
            await remove_rest()  # it deletes topics, which is a change of its own
            async with self._changes.alone:
                await self.topic_policies.unsent.discard_all_of(name)
                await self._records.delete_namespace(name)
        except BaseException:
            self._records.show_namespace(name)
            raise
        self.effective.forget(name)

    async def set_namespace_policies(self, name: NamespaceName, **policies: Any) -> None:
        """Sets fields of `PolicySet`; None removes one. The namespace's topics follow at once."""
        async with self._changes.alone:
            namespace = self.namespace(name)
            changed = namespace.policies.changed(**policies)
            self._check_policies(PolicySet(**policies))
            check_fit(namespace.policies, policies)
            await self._records.put_namespace(dataclasses.replace(namespace, policies=changed))
        await self._changes.tell(name, None)
        if "subscription_auth_mode" in policies:
            self._changes.tell_permissions()

    async def change_namespace_properties(self, name: NamespaceName, change: PropertyChange) -> None:
        async with self._changes.alone:
            namespace = self.namespace(name)
            await self._records.put_namespace(dataclasses.replace(namespace, properties=change(namespace.properties)))

    async def split_bundle(self, name: NamespaceName, bundle: str, positions: Sequence[int]) -> None:
        """The bundle ends at each position, and another one begins there; without positions, nothing changes."""
        async with self._changes.alone:
            namespace = self.namespace(name)
            current = namespace.bundles.find(str(name), bundle)  # another request may have split it
            bundles = namespace.bundles.split(current, positions, self._config.policies.most_bundles)
            if bundles != namespace.bundles:
                await self._records.put_namespace(dataclasses.replace(namespace, bundles=bundles))

    async def set_kept(self, name: NamespaceName, field: str, value: Any) -> None:
        """Sets a field of `metadata.policies.kept`; None removes it."""
        await self.change_kept(name, field, lambda _: value, lambda: None)

    async def change_kept(
        self, name: NamespaceName, field: str, change: Callable[[Any], Any], before: Callable[[], Any]
    ) -> None:
        """Do the same as `set_kept`; `change` gets what `before` returns, once no other change can interfere."""
        async with self._changes.alone:
            namespace = self.namespace(name)
            value = change(before())
            kept = {key: setting for key, setting in namespace.kept.items() if key != field}
            kept |= {} if value is None else {field: KEPT[field](value, field)}
            await self._records.put_namespace(dataclasses.replace(namespace, kept=kept))
        if field == AUTH_POLICIES:
            self._changes.tell_permissions()

    # Permissions

    def find_tenant(self, name: str) -> Tenant | None:
        return self._records.tenants.get(name)

    def find_permissions(self, name: NamespaceName) -> Permissions | None:
        """Return the permissions, or None if the namespace does not exist."""
        namespace = self._records.namespaces.get(name)
        if namespace is None:
            return None
        return Permissions.of(namespace.kept.get(AUTH_POLICIES, {}), namespace.policies.get("subscription_auth_mode"))

    async def set_replication_clusters(self, name: NamespaceName, clusters: tuple[str, ...]) -> None:
        """The topics of the namespace follow before this returns. Raises as `ReplicationRules.check`."""
        async with self._changes.alone:
            namespace = self.namespace(name)
            self.replication.check(clusters, self.tenant(name.tenant), namespace)
            await self._records.put_namespace(dataclasses.replace(namespace, replication_clusters=clusters))
        await self._changes.tell(name, None)

    def bundles_of(self, name: NamespaceName) -> Bundles:
        """The bundles of a namespace, also of one that exists only by use."""
        namespace = self._records.namespaces.get(name)
        return namespace.bundles if namespace is not None else Bundles.evenly(self._config.policies.default_bundles)

    def check_namespace_of(self, topic: TopicName) -> None:
        """Raises `NotFound` unless the topic's namespace exists."""
        self._records.check_namespace_of(topic)

    # Checks

    def _check_clusters(self, clusters: Sequence[str]) -> None:
        if not clusters or not all(cluster.strip() for cluster in clusters):
            raise InvalidValue("Clusters cannot be empty or blank")
        known = self.clusters()
        if unknown := [cluster for cluster in clusters if cluster not in known]:
            raise InvalidValue(f"Clusters do not exist: {', '.join(unknown)}; use some of {', '.join(known)}")

    def _check_unused_clusters(self, tenant: str, allowed: Sequence[str]) -> None:
        """Raises `Conflict` if a namespace of the tenant is in a cluster that is no longer allowed."""
        for name in self.namespaces(tenant):
            for cluster in self._records.namespaces[name].replication_clusters:
                if cluster not in allowed:
                    raise Conflict(f"cannot take cluster {cluster} from tenant {tenant}: namespace {name} is in it")

    def _check_policies(self, policies: PolicySet) -> None:
        self.topic_policies.check_store(policies.get("offload"))
        auto_creation = policies.get("auto_topic_creation")
        if auto_creation is not None and auto_creation.partitions is not None:
            self.partitioned.check_count(auto_creation.partitions)
