"""What a broker has, read in parallel, in the form of a document.

A tenant, a namespace, and a cluster are one request each. A topic is one request for each thing that is wanted of it.
Pulsar has no request for all policies of a topic, as pulsarctl's broker has. What disappears while it is read counts as
absent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.refusals import is_unknown_path
from pulsarctl.bulk.crew import Crew
from pulsarctl.errors import CliError, NotAuthorized, NotFound
from pulsarctl.policies.values import PERMISSIONS
from pulsarctl.state import grammar, scalable, settings
from pulsarctl.state.scope import Scope, is_system, is_system_topic
from pulsarctl.values.names import COMPACTION_CURSOR, is_partition, namespace_of, without_partition

T = TypeVar("T")
Document = dict[str, Any]
Objects = dict[str, Document]
Step = Callable[[str, int, int], None]  # what is read, how many of them, and how many there are
# Fields of Pulsar's `Policies` that documents do not have.
UNCOVERED = (
    "allowed_clusters",
    "resource_group_name",
    "offload_threshold",
    "offload_deletion_lag_ms",
    "offload_threshold_in_seconds",
    "latency_stats_sample_rate",
    "replicate_subscription_state",
    "migrated",
)
_UNSET = {"offload_threshold": -1, "offload_threshold_in_seconds": -1}  # elsewhere, -1 is a value that was set
METHOD_NOT_ALLOWED = 405  # Pulsar can only delete at that path
_CHEAP_STATS = {
    "getPreciseBacklog": False,
    "subscriptionBacklogSize": False,
    "excludePublishers": True,
    "excludeConsumers": True,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The parts of a topic to read. `policies` None: all of them."""

    partitions: bool = True
    properties: bool = True
    schema: bool = True
    subscriptions: bool = True
    policies: frozenset[str] | None = None


@dataclass(slots=True)
class Found:
    """`cluster` is the broker's own. `uncovered` has the settings that documents do not have, by object."""

    cluster: str
    clusters: Objects = field(default_factory=dict)
    tenants: Objects = field(default_factory=dict)
    namespaces: Objects = field(default_factory=dict)
    topics: Objects = field(default_factory=dict)
    scalable_topics: Objects = field(default_factory=dict)
    uncovered: dict[str, list[str]] = field(default_factory=dict)

    def missing(self, scope: Scope) -> list[str]:
        """The tenants and namespaces of a scope that the broker does not have."""
        lost = [f"tenant {name}" for name in scope.tenants if name not in self.tenants]
        return lost + [f"namespace {name}" for name in scope.namespaces if name not in self.namespaces]

    def section(self, name: str) -> Objects:
        objects: Objects = getattr(self, name.replace("-", "_"))
        return objects


@dataclass(frozen=True, slots=True)
class Needed:
    """The objects to read: all in `scope`, and the named ones. `topics` returns the parts of a topic, None for nothing.

    `implied` are tenants that only have to exist, which is assumed if the client may not read them. `scalable_topics`
    None: none of them, not even those in the scope.
    """

    scope: Scope
    clusters: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    implied: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    listed: frozenset[str] = frozenset()  # namespaces whose topics are listed
    topics: Callable[[str], Wanted | None] = lambda topic: Wanted()
    scalable_topics: frozenset[str] | None = None


class Reader:
    def __init__(self, crew: Crew, step: Step = lambda *_: None) -> None:
        self._crew = crew
        self._step = step
        self._reads_all_policies = True  # until a broker says that it cannot

    def read(self, needed: Needed) -> Found:
        """Raises the error of the first request that fails."""
        existing = Found(next(self._crew.results([None], lambda admin, _: own_cluster(admin))))
        clusters = self._names(needed.clusters, needed.scope.is_everything, lambda admin: admin.clusters.list())
        existing.clusters = self._objects("clusters", (clusters - {existing.cluster}) | needed.clusters, _cluster)
        tenants = self._names(needed.tenants, needed.scope.is_everything, lambda admin: admin.tenants.list())
        existing.tenants = self._objects("tenants", tenants | set(needed.scope.tenants), _tenant)
        existing.tenants |= self._objects("tenants", needed.implied - set(existing.tenants), _implied_tenant)
        namespaces = self._objects("namespaces", self._namespaces(needed, existing), _policies_document)
        for name, document in namespaces.items():
            existing.namespaces[name] = namespace_of_document(document, existing.cluster)
            uncovered = [key for key in UNCOVERED if _is_set(key, document.get(key))]
            existing.uncovered[f"namespace {name}"] = uncovered
        self._read_topics(needed, existing, namespaces)
        if needed.scalable_topics is not None:
            covered = [name for name in namespaces if needed.scope.has_namespace(name)]
            lists = self._crew.results(covered, lambda admin, namespace: admin.scalable_topics.list_any(namespace))
            names = {*needed.scalable_topics, *(name for listed in lists for name in listed)}
            existing.scalable_topics = self._objects(f"{scalable.KIND}s", names, scalable.read)
        return existing

    def _names(self, named: frozenset[str], all_of_them: bool, names: Callable[[AdminClient], list[str]]) -> set[str]:
        listed = next(self._crew.results([None], lambda admin, _: names(admin))) if all_of_them else []
        return {*named, *(name for name in listed if not is_system(name))}

    def _namespaces(self, needed: Needed, existing: Found) -> set[str]:
        covered = [name for name in existing.tenants if needed.scope.has_tenant(name)]
        lists = self._crew.results(covered, lambda admin, tenant: _or_none(lambda: admin.namespaces.list(tenant)) or [])
        inside = {name for names in lists for name in names if not is_system(name)}
        return {*needed.namespaces, *needed.listed, *needed.scope.namespaces, *inside}

    def _read_topics(self, needed: Needed, existing: Found, documents: Objects) -> None:
        listed = [name for name in documents if name in needed.listed or needed.scope.has_namespace(name)]
        kinds: dict[str, bool] = {}
        for count, topics in enumerate(self._crew.results(listed, _topics_of), 1):
            kinds.update(topics)
            self._step("lists of topics", count, len(listed))
        queries = [(name, wanted, kinds[name]) for name in sorted(kinds) if (wanted := needed.topics(name)) is not None]
        for count, (name, topic) in enumerate(self._crew.results(queries, self._topic), 1):
            self._step("topics", count, len(queries))
            if topic is not None:
                existing.uncovered[f"topic {name}"] = topic.pop("uncovered")
                grants = _grants(documents[namespace_of(name)])["destination_auth"].get(name)
                existing.topics[name] = topic | {"permissions": actions_by_role(grants or {})}

    def _objects(
        self, label: str, names: Iterable[str], read: Callable[[AdminClient, str], Document | None]
    ) -> Objects:
        sorted_names, objects = sorted(names), {}
        for count, outcome in enumerate(self._crew.results(sorted_names, read), 1):
            self._step(label, count, len(sorted_names))
            if outcome is not None:
                objects[sorted_names[count - 1]] = outcome
        return objects

    def _topic(self, admin: AdminClient, asked: tuple[str, Wanted, bool]) -> tuple[str, Document | None]:
        name, wanted, is_partitioned = asked
        try:
            return name, self._read_topic(admin, name, wanted, is_partitioned)
        except NotFound:
            return name, None

    def _read_topic(self, admin: AdminClient, name: str, wanted: Wanted, is_partitioned: bool) -> Document:
        document: Document = {"partitions": 0, "uncovered": []}
        if is_partitioned:
            metadata = admin.topics.partitioned_metadata(name) if wanted.partitions or wanted.properties else {}
            document["partitions"] = int(metadata.get("partitions", 1))
            document["properties"] = dict(sorted((metadata.get("properties") or {}).items()))
        elif wanted.properties:
            document["properties"] = dict(sorted((admin.topics.properties(name) or {}).items()))
        document["policies"] = self._policies(admin, name, wanted.policies, document["uncovered"])
        if wanted.schema:
            document["schema"] = schema_of(admin, name)
        if wanted.subscriptions:
            document["subscriptions"] = subscriptions_of(admin, name, is_partitioned)
        return document

    def _policies(
        self, admin: AdminClient, name: str, selected: frozenset[str] | None, uncovered: list[str]
    ) -> Document:
        """Adds to `uncovered` the policies that documents do not have, if the broker tells all policies at once."""
        chosen = [setting for setting in settings.TOPIC.values() if selected is None or setting.name in selected]
        by_path = self._all_policies(admin, name) if len(chosen) > 1 else None
        uncovered += sorted((by_path or {}).keys() - {setting.read for setting in settings.TOPIC.values()})
        values = {
            setting.name: setting.from_broker(
                _policy(admin, name, setting.read) if by_path is None else by_path.get(setting.read), ""
            )
            for setting in chosen
        }
        return {key: value for key, value in values.items() if value is not None}

    def _all_policies(self, admin: AdminClient, name: str) -> Document | None:
        """All policies by path; None if the broker has no such request."""
        if not self._reads_all_policies:
            return None
        try:
            return admin.topics.policies(name)
        except CliError as error:
            if error.status != METHOD_NOT_ALLOWED:
                raise
        self._reads_all_policies = False
        return None


def _policy(admin: AdminClient, topic: str, path: str) -> Any:
    """None also on a broker that does not have the policy."""
    try:
        return admin.topics.policy(topic, path)
    except NotFound as error:
        if is_unknown_path(error):
            return None
        raise


def own_cluster(admin: AdminClient) -> str:
    """The name of the broker's cluster; empty if it does not say."""
    try:
        name = admin.brokers.runtime_configuration().get("clusterName")
    except CliError:  # only superusers may ask
        name = None
    if name:
        return str(name)
    clusters = [cluster for cluster in admin.clusters.list() if cluster != "global"]
    return clusters[0] if len(clusters) == 1 else ""


def namespace_of_document(document: Document, cluster: str) -> Document:
    """A namespace, from Pulsar's `Policies`."""
    grants = _grants(document)
    policies = {setting.name: setting.in_namespace(document, cluster) for setting in settings.NAMESPACE.values()}
    return {
        "bundles": (document.get("bundles") or {}).get("numBundles"),
        "properties": dict(sorted((document.get("properties") or {}).items())),
        "policies": {name: value for name, value in policies.items() if value is not None},
        "permissions": actions_by_role(grants["namespace_auth"]),
        "subscription-permissions": {
            name: sorted(roles) for name, roles in sorted(grants["subscription_auth_roles"].items()) if roles
        },
    }


def actions_by_role(grants: Document) -> Document:
    """The actions of each role, without roles that have lost all actions."""
    return {role: PERMISSIONS.shape.stored(actions) for role, actions in sorted(grants.items()) if actions}


def _grants(document: Document) -> Document:
    policies = document.get("auth_policies") or {}
    return {key: policies.get(key) or {} for key in ("namespace_auth", "destination_auth", "subscription_auth_roles")}


def _is_set(key: str, value: Any) -> bool:
    """0 is a value: such a threshold offloads everything."""
    return value is not False and value not in (None, "", [], {}, _UNSET.get(key))


def _or_none(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except NotFound:
        return None


def _cluster(admin: AdminClient, name: str) -> Document | None:
    document = _or_none(lambda: admin.clusters.get(name))
    return None if document is None else cluster_of_document(document)


def cluster_of_document(document: Document) -> Document:
    """A cluster, from Pulsar's `ClusterData`, without what is not set."""
    known: Document = grammar.CLUSTER.stored(document)
    return {key: value for key, value in known.items() if value not in ("", False, [])}


def _tenant(admin: AdminClient, name: str) -> Document | None:
    document = _or_none(lambda: admin.tenants.get(name))
    return None if document is None else {"adminRoles": [], "allowedClusters": []} | grammar.TENANT.stored(document)


def _implied_tenant(admin: AdminClient, name: str) -> Document | None:
    try:
        return _tenant(admin, name)
    except NotAuthorized:
        return {}


def _policies_document(admin: AdminClient, name: str) -> Document | None:
    return _or_none(lambda: admin.namespaces.policies(name))


def _topics_of(admin: AdminClient, namespace: str) -> dict[str, bool]:
    """The topics of users, and whether each is partitioned. A non-persistent one alone lasts only while it is used."""
    partitioned = _or_none(lambda: admin.topics.list_partitioned(namespace)) or []
    names = _or_none(lambda: admin.topics.list(namespace)) or []
    is_partitioned = dict.fromkeys(partitioned, True)
    lasting = (name for name in names if name.startswith("persistent"))
    is_partitioned |= {
        name: False for name in lasting if not is_partition(name) or without_partition(name) not in is_partitioned
    }
    return {name: kind for name, kind in is_partitioned.items() if not is_system_topic(name)}


def schema_of(admin: AdminClient, topic: str) -> Document | None:
    """The latest version; None for a topic without a schema."""
    schema = _or_none(lambda: admin.schemas.get(topic))
    if schema is None:
        return None
    info = schema["schemaInfo"]
    members = {"type": info["type"], "schema": info["schema"], "properties": info["properties"]}
    return {key: value for key, value in members.items() if value not in ("", {}, None)}


def subscriptions_of(admin: AdminClient, topic: str, is_partitioned: bool) -> Objects:
    """The durable subscriptions, without those of the broker itself."""
    if topic.startswith("non-persistent"):
        return {}
    stats = admin.topics.partitioned_stats if is_partitioned else admin.topics.stats
    subscriptions = stats(topic, **_CHEAP_STATS).get("subscriptions") or {}
    return {
        name: {"properties": dict(sorted((subscription.get("subscriptionProperties") or {}).items()))}
        for name, subscription in sorted(subscriptions.items())
        if subscription.get("isDurable", True) and not name.startswith(COMPACTION_CURSOR)
    }
