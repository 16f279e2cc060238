"""The documents that `tenancy` stores, by kind. Requests are read strictly, stored documents leniently. Pure.

A change is stored as a document, and the values in force afterwards are those read back from that document, so a
restart finds exactly what was in force. A stored value that is invalid (an older release may have accepted it) counts
as not set. It is reported, blocks nothing, and disappears with the next change of its document.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from broker_core.config.policies import MOST_BUNDLES
from broker_core.config.topic import MOST_PARTITIONS
from broker_core.errors import BrokerError, InvalidRequest
from broker_core.metadata.policies.json_values import Fields, OnBad, int32, names, properties, refuse, whole_number
from broker_core.metadata.policies.policy_set import PolicySet
from broker_core.metadata.policies.topic_policies import CLUSTER as ANY_CLUSTER
from broker_core.metadata.policies.topic_policies import POLICIES
from broker_core.metadata.tenancy.namespace import Namespace
from broker_core.names import NamespaceName, TopicName, parse_topic

CLUSTER = "cluster"
TOPIC = "topic"
SEGMENT = "segment"
TENANT = "tenant"
NAMESPACE = "namespace"
TOPIC_POLICIES = "topic-policies"
GLOBAL_TOPIC_POLICIES = "global-topic-policies"
PARTITIONED_TOPIC = "partitioned-topic"
GROWING_TO = "growing_to"  # ours: Pulsar's metadata has no such field


class BadValue(NamedTuple):
    """`field` is empty if the whole document is invalid."""

    kind: str
    key: str
    field: str
    reason: str

    def __str__(self) -> str:
        effect = f"{self.field} is ignored" if self.field else "it is ignored"
        return f"stored {self.kind} {self.key}: {effect}, set it again: {self.reason}"


Key = TypeVar("Key")
Value = TypeVar("Value")
OnBadValue = Callable[[BadValue], None]
PropertyChange = Callable[[Mapping[str, str]], dict[str, str]]
"""From the properties that are there to those that follow. Called once no other change can come between."""


class Tenant(NamedTuple):
    admin_roles: tuple[str, ...] = ()
    allowed_clusters: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        return {"adminRoles": list(self.admin_roles), "allowedClusters": list(self.allowed_clusters)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], on_bad: OnBad = refuse) -> "Tenant":
        """Reads Pulsar's `TenantInfo`."""
        fields = Fields(document, on_bad)
        return cls(fields.read("adminRoles", names, ()), fields.read("allowedClusters", names, ()))


class PartitionedTopic(NamedTuple):
    """`growing_to`: the number of partitions of an update that began and has not ended; 0 if there is none."""

    partitions: int
    properties: Mapping[str, str] = MappingProxyType({})
    growing_to: int = 0

    def to_document(self) -> dict[str, Any]:
        growing = {GROWING_TO: self.growing_to} if self.growing_to else {}
        return {"partitions": self.partitions, "properties": dict(self.properties), **growing}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], on_bad: OnBad = refuse) -> "PartitionedTopic":
        """Reads Pulsar's `PartitionedTopicMetadata`; raises `InvalidRequest` without a valid number of partitions."""
        count = int32(document.get("partitions"), "partitions")
        if not 0 < count <= MOST_PARTITIONS:
            raise InvalidRequest(f"partitions must be between 1 and {MOST_PARTITIONS}, not {count}")
        fields = Fields(document, on_bad)
        growing_to = fields.read(GROWING_TO, whole_number, 0)
        return cls(count, fields.read("properties", properties, {}), min(growing_to, MOST_PARTITIONS))


def read_topic(document: Mapping[str, Any], on_bad: OnBad = refuse) -> tuple[int | None, dict[str, str]]:
    """When the topic was created (wall clock, ms), if known, and its properties."""
    fields = Fields(document, on_bad)
    return fields.read("created_ms", whole_number), fields.read("properties", properties, {})


class DocumentReader(NamedTuple):
    """Reads documents with the configuration of this instance."""

    cluster: str
    default_bundles: int
    most_bundles: int

    def tenant(self, key: str, document: Mapping[str, Any], on_bad: OnBad = refuse) -> tuple[str, Tenant]:
        return key, Tenant.from_document(document, on_bad)

    def namespace(
        self, key: str, document: Mapping[str, Any], on_bad: OnBad = refuse
    ) -> tuple[NamespaceName, Namespace]:
        name = NamespaceName.parse(key)
        return name, Namespace.from_document(
            name,
            document,
            cluster=self.cluster,
            default_bundles=self.default_bundles,
            most_bundles=self.most_bundles,
            on_bad=on_bad,
        )

    def topic_policies(
        self, key: str, document: Mapping[str, Any], on_bad: OnBad = refuse
    ) -> tuple[TopicName, PolicySet]:
        return parse_topic(key), PolicySet.from_document(document, self.cluster, on_bad)

    def partitioned_topic(
        self, key: str, document: Mapping[str, Any], on_bad: OnBad = refuse
    ) -> tuple[TopicName, PartitionedTopic]:
        return parse_topic(key), PartitionedTopic.from_document(document, on_bad)


def read_stored(
    kind: str,
    read: Callable[[str, Mapping[str, Any], OnBad], tuple[Key, Value]],
    documents: Iterable[tuple[str, Any]],
    report: OnBadValue,
) -> dict[Key, Value]:
    """All documents of a kind, by key; a document without a readable key is skipped and reported."""
    values = {}
    for key, document in documents:

        def on_bad(field: str, error: BrokerError, key: str = key) -> None:
            report(BadValue(kind, key, field, error.reason))

        if not isinstance(document, Mapping):
            on_bad("", InvalidRequest("it is not a JSON object"))
        try:
            name, value = read(key, document if isinstance(document, Mapping) else {}, on_bad)
            values[name] = value
        except BrokerError as error:
            on_bad("", error)
    return values


def find_bad_values(documents: Iterable[tuple[str, str, Any]]) -> list[BadValue]:
    """The stored values that every broker ignores, whatever its configuration; a document is a kind, a key, a value."""
    bad_values: list[BadValue] = []
    for kind, key, document in documents:
        for cluster in _clusters_in(document):
            reader = DocumentReader(cluster, 1, MOST_BUNDLES)
            reads: Mapping[str, Callable[..., Any]] = {
                TENANT: reader.tenant,
                NAMESPACE: reader.namespace,
                TOPIC_POLICIES: reader.topic_policies,
                GLOBAL_TOPIC_POLICIES: reader.topic_policies,
                PARTITIONED_TOPIC: reader.partitioned_topic,
                TOPIC: lambda key, document, on_bad: (key, read_topic(document, on_bad)),
            }
            if kind in reads:
                read_stored(kind, reads[kind], [(key, document)], bad_values.append)
    return list(dict.fromkeys(bad_values))


def _clusters_in(document: Any) -> set[str]:
    """The clusters for which a document has rates; it says nothing about other clusters."""
    places = [declared.path[0] for declared in POLICIES.values() if ANY_CLUSTER in declared.path]
    by_cluster = [document.get(place) for place in places] if isinstance(document, Mapping) else []
    return {cluster for rates in by_cluster if isinstance(rates, Mapping) for cluster in rates} or {""}
