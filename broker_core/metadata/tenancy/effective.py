"""The policies in force for topics: their own, else their namespace's, else the configuration's."""

from broker_core.config.broker import BrokerConfig
from broker_core.metadata.policies.policy_set import PolicySet, configured, resolve
from broker_core.metadata.policies.topic_policies import TopicPolicies
from broker_core.metadata.tenancy.namespace import Namespace
from broker_core.metadata.tenancy.records import Records
from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.names import NamespaceName, TopicName


class EffectivePolicies:
    """Answers from memory. Topics without their own policies share one object for each namespace."""

    def __init__(self, records: Records, config: BrokerConfig) -> None:
        self._records = records
        self._config = config
        self._configured: TopicPolicies | None = None  # what the configuration alone gives; read on demand
        # Resolved on demand; valid while the namespace is the same object, which every change replaces.
        self._of_namespaces: dict[NamespaceName, tuple[Namespace, TopicPolicies]] = {}

    def of(self, topic: TopicName) -> TopicPolicies:
        """The policies in force for the topic. A loaded topic keeps them until `Tenancy.on_change` reports a change."""
        sets = (self._records.topic_policies, self._records.global_topic_policies)  # a local value takes precedence
        own = [policies for policies in (level.get(topic.base) for level in sets) if policies is not None]
        if not own and not is_system_topic(topic):
            return self.in_namespace(topic.namespace)
        levels = [*own, *self._levels_of(self._records.namespaces.get(topic.namespace))]
        if is_system_topic(topic):  # brokers of several versions write to it
            anything = PolicySet(schema_compatibility_strategy=self._config.schema.system_compatibility)
            levels = [PolicySet(allow_schema_update=True), *levels, anything]
        return self._resolved(levels)

    def in_namespace(self, name: NamespaceName) -> TopicPolicies:
        """The policies in force for topics of the namespace that have none of their own, including future topics."""
        namespace = self._records.namespaces.get(name)
        if namespace is None:
            return self._resolved([])
        known = self._of_namespaces.get(name)
        if known is None or known[0] is not namespace:
            known = self._of_namespaces[name] = (namespace, self._resolved(self._levels_of(namespace)))
        return known[1]

    def forget_all(self) -> None:
        """Forget all policies, because the configuration changed."""
        self._configured = None
        self._of_namespaces.clear()

    def forget(self, name: NamespaceName) -> None:
        """Forget the policies of a namespace that is deleted."""
        self._of_namespaces.pop(name, None)

    def _resolved(self, levels: list[PolicySet]) -> TopicPolicies:
        if self._configured is None:
            self._configured = configured(self._config)
        return resolve(levels, self._configured)

    @staticmethod
    def _levels_of(namespace: Namespace | None) -> list[PolicySet]:
        """A namespace's clusters are kept beside its policies, because it always has some."""
        if namespace is None:
            return []
        return [namespace.policies, PolicySet(replication_clusters=namespace.replication_clusters)]
