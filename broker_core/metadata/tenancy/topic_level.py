"""The policies set on single topics, for this cluster or for all clusters (PIP 39, PIP 92)."""

import dataclasses
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from broker_core.config.broker import BrokerConfig
from broker_core.errors import BrokerError, NotAllowed, NotFound, PreconditionFailed
from broker_core.metadata.policies.kept import AUTH_POLICIES
from broker_core.metadata.policies.offload_policies import OffloadPolicies
from broker_core.metadata.policies.offload_stores import AllowedStores
from broker_core.metadata.policies.policy_set import NOTHING_SET, PolicySet
from broker_core.metadata.policies.retention_and_quotas import check_fit
from broker_core.metadata.policies.values import DispatchRate
from broker_core.metadata.tenancy.changes import Changes
from broker_core.metadata.tenancy.namespace import Namespace
from broker_core.metadata.tenancy.records import Records
from broker_core.metadata.tenancy.replication import ReplicationRules
from broker_core.metadata.tenancy.unsent_policies import UnsentPolicies
from broker_core.names import NamespaceName, TopicName

log = logging.getLogger(__name__)


class TopicLevelPolicies:
    """`unsent`: topics whose policies for all clusters have to be sent to the other ones."""

    def __init__(
        self,
        records: Records,
        changes: Changes,
        config: BrokerConfig,
        unsent: UnsentPolicies,
        replication: ReplicationRules,
    ) -> None:
        self.unsent = unsent
        self._replication = replication
        self._records = records
        self._changes = changes
        self._config = config
        self._allowed_stores = AllowedStores.of(config.offload)

    def of(self, topic: TopicName, *, is_global: bool = False) -> PolicySet:
        """The policies set on the topic itself; a partition has those of its partitioned topic."""
        return self._records.policies_of(topic, is_global=is_global)

    async def set(self, topic: TopicName, *, is_global: bool = False, **policies: Any) -> None:
        """Sets fields of `PolicySet`; None removes one. The caller checks that the topic exists.

        Raises as `ReplicationRules.check`.
        """
        await self._change(topic, lambda _: policies, is_global=is_global)

    async def set_dispatch_rate(
        self, topic: TopicName, subscription: str, rate: DispatchRate | None, *, is_global: bool = False
    ) -> None:
        """Sets the rate of one subscription and keeps those of the others; None removes it."""

        def changed(before: PolicySet) -> Mapping[str, Any]:
            rates = {**(before.get("dispatch_rates") or {}), subscription: rate}
            return {"dispatch_rates": {name: limit for name, limit in rates.items() if limit is not None} or None}

        await self._change(topic, changed, is_global=is_global)

    async def _change(
        self, topic: TopicName, change: Callable[[PolicySet], Mapping[str, Any]], *, is_global: bool
    ) -> None:
        """`change` returns what to set; it is called when no other change can interfere."""
        if not self._config.policies.topic_policies:
            raise NotAllowed("Topic level policies is disabled, to enable the topic level policy and retry.")
        if topic.is_partition:
            raise PreconditionFailed("Not allowed to set/get topic policy for a partition")
        async with self._changes.alone:
            before = self.of(topic, is_global=is_global)
            changes = change(before)
            self._check_clusters(topic, changes.get("replication_clusters") or ())
            self.check_store(changes.get("offload"))
            check_fit(before, changes)
            await self._put(topic, before.changed(**changes), is_global=is_global)
        await self._changes.tell(topic.namespace, topic)

    def _check_clusters(self, topic: TopicName, clusters: Sequence[str]) -> None:
        if not clusters:
            return
        namespace = self._records.namespaces.get(topic.namespace)
        if namespace is None:
            raise NotFound("Namespace does not exist")
        self._replication.check(clusters, self._records.tenants[topic.tenant], namespace)

    def check_store(self, policies: OffloadPolicies | None) -> None:
        """Raises `InvalidValue` for a store that only an operator may add."""
        if policies is not None:
            self._allowed_stores.check_policies(policies)

    async def _put(self, topic: TopicName, policies: PolicySet, *, is_global: bool) -> None:
        """Policies to send to other clusters are noted first: a crash after that sends the old policies again."""
        is_sent = is_global and bool(self.other_clusters(topic.namespace))
        if is_sent:
            await self.unsent.add(topic)
        await self._records.put_topic_policies(topic, policies, is_global=is_global)
        if is_sent:
            self.unsent.changed.set()

    def other_clusters(self, name: NamespaceName) -> frozenset[str]:
        """The clusters with which the namespace shares its policies for all clusters."""
        namespace = self._records.namespaces.get(name)
        return frozenset(namespace.replication_clusters if namespace else ()) - {self._records.cluster}

    async def was_sent(self, topic: TopicName, policies: PolicySet) -> None:
        """The other clusters will get these, which may have changed again meanwhile."""
        async with self._changes.alone:
            if self.of(topic, is_global=True) == policies:
                await self.unsent.discard(topic)

    async def accept(self, changes: Mapping[TopicName, PolicySet], done: Callable[[], Awaitable[None]]) -> None:
        """Stores the policies for all clusters that another cluster sent, also for topics that do not exist yet.

        Awaits `done` while no other change can interfere.
        """
        async with self._changes.alone:
            changed = [topic for topic, policies in changes.items() if await self._accept(topic, policies)]
            await done()
        for topic in changed:
            await self._changes.tell(topic.namespace, topic)

    async def _accept(self, topic: TopicName, sent: PolicySet) -> bool:
        """Returns whether it is a change."""
        namespace = self._records.namespaces.get(topic.namespace)
        policies = NOTHING_SET if namespace is None else self._fitting(topic, sent, namespace)
        if namespace is None or self.of(topic, is_global=True) == policies:
            return False
        await self._records.put_topic_policies(topic, policies, is_global=True)
        return True

    def _fitting(self, topic: TopicName, policies: PolicySet, namespace: Namespace) -> PolicySet:
        """Without values that the admin API refuses: the other cluster may know other clusters, or have other rules."""
        checks: dict[str, Callable[[Any], None]] = {
            "replication_clusters": lambda clusters: self._replication.check_global(clusters, namespace),
            "size_quota": lambda _: check_fit(NOTHING_SET, dict(policies)),
        }
        for field, check in checks.items():
            try:
                if policies.get(field) is not None:
                    check(policies.get(field))
            except BrokerError as error:
                log.warning("topic %s: cannot use %s of another cluster: %s", topic, field, error)
                policies = policies.changed(**{field: None})
        return policies

    async def remove(self, topic: TopicName) -> None:
        """Removes all policies of a topic: local ones here, and global ones in all clusters."""
        async with self._changes.alone:
            await self._forget_grants(topic)
            for is_global in (False, True):
                if not self.of(topic, is_global=is_global).is_empty:
                    await self._put(topic, NOTHING_SET, is_global=is_global)
        await self._changes.tell(topic.namespace, topic)

    async def forget(self, topic: TopicName) -> None:
        """Removes the policies of a topic that was deleted in this cluster; other clusters keep topic and policies."""
        async with self._changes.alone:
            await self._forget_grants(topic)
            if topic.is_part:  # they belong to the whole topic, which stays
                return
            await self.unsent.discard(topic)
            for is_global in (False, True):
                if not self.of(topic, is_global=is_global).is_empty:
                    await self._records.put_topic_policies(topic, NOTHING_SET, is_global=is_global)

    async def _forget_grants(self, topic: TopicName) -> None:
        namespace = self._records.namespaces.get(topic.namespace)
        grants = namespace.kept.get(AUTH_POLICIES, {}) if namespace is not None else {}
        if namespace is not None and str(topic) in grants.get("destination_auth", {}):
            remaining = {name: roles for name, roles in grants["destination_auth"].items() if name != str(topic)}
            kept = {**namespace.kept, AUTH_POLICIES: {**grants, "destination_auth": remaining}}
            await self._records.put_namespace(dataclasses.replace(namespace, kept=kept))
