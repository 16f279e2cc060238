"""Tenants, namespaces, and topics of one cluster -> another one, in an order that may be interrupted anywhere.

    1. tenants and namespaces, with permissions, without the policies that could remove, refuse, or delay messages
    2. the topics, and before a switch also what clients need to be let in there
    3. for each topic its schemas, entries, and subscriptions (`topic_copy`)
    4. all settings of namespaces and topics, as the source has them

A namespace that this command creates keeps everything and accepts every schema until the last step. It carries a
property meanwhile, so that a later run knows what to take back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.bulk.crew import Crew
from pulsarctl.errors import Conflict, NotFound, PartialFailure
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.topic_copy import PartitionCopy
from pulsarctl.migration.topic_setup import prepare
from pulsarctl.state import exporting
from pulsarctl.state.applying import apply
from pulsarctl.state.live import Found, Needed, Reader, Step
from pulsarctl.state.operations import steps
from pulsarctl.state.plan import Change, Part, Plan
from pulsarctl.state.scope import Scope
from pulsarctl.state.session import Declared
from pulsarctl.values.names import namespace_of

Objects = dict[str, Any]
MARK = "pulsarctl-migration"
# Names of policies as in files of `apply`.
PROTECTING: Objects = {
    "retention": {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1},
    "schema-compatibility-strategy": "ALWAYS_COMPATIBLE",
}
# They could remove, refuse, or delay what is copied, or count the subscription that holds it.
DEFERRED = frozenset(
    {
        *PROTECTING,
        *("message-ttl", "backlog-quota", "subscription-expiration-time", "inactive-topic-policies"),
        *("publish-rate", "dispatch-rate", "subscription-dispatch-rate", "replicator-dispatch-rate", "subscribe-rate"),
        *("max-producers-per-topic", "max-consumers-per-topic", "max-subscriptions-per-topic"),
        *("max-producers", "max-consumers", "max-subscriptions", "max-consumers-per-subscription"),
        *("max-topics-per-namespace", "max-message-size"),
        *("max-unacked-messages-per-consumer", "max-unacked-messages-per-subscription"),
        *("deduplication", "deduplication-snapshot-interval", "delayed-delivery", "encryption-required"),
        *("entry-filters", "entry-filters-per-topic", "subscription-types-enabled", "subscription-auth-mode"),
        *("auto-subscription-creation", "schema-autoupdate-strategy", "is-allow-auto-update-schema"),
        "schema-validation-enforce",
    }
)


@dataclass(frozen=True, slots=True)
class MigratedTopics:
    """The topics to migrate. `topics` are full names; empty means all topics of the scope."""

    scope: Scope
    topics: frozenset[str] = field(default_factory=frozenset)

    def has(self, topic: str) -> bool:
        return not self.topics or topic in self.topics


def declared_in(source: Endpoint, chosen: MigratedTopics, parallel: int, step: Step) -> Declared:
    """The state of the source, without what belongs to the source alone: other clusters, and what replicates there.

    Raises `NotFound` for a name that the source does not have.
    """
    with Crew(source.settings, parallel) as crew:
        tenants = frozenset(name.partition("/")[0] for name in chosen.scope.namespaces)
        existing = Reader(crew, step).read(Needed(chosen.scope, tenants=tenants))
    missing = [
        *existing.missing(chosen.scope),
        *(f"topic {name}" for name in sorted(chosen.topics - {*existing.topics})),
    ]
    if missing:
        raise NotFound(f"cannot migrate {missing[0]}: {source.name} does not have it")
    return Declared(_objects(existing, chosen), Scope())


def _objects(existing: Found, chosen: MigratedTopics) -> Objects:
    objects = exporting.objects(existing)
    topics = {name: settings for name, settings in objects["topics"].items() if chosen.has(name)}
    namespaces = objects["namespaces"]
    if chosen.topics:
        namespaces = {name: namespaces[name] for name in {namespace_of(topic) for topic in topics}}
    return {
        "tenants": {name: _without(settings, "allowedClusters") for name, settings in objects["tenants"].items()},
        "namespaces": {
            name: _without_policies(settings, "replication-clusters") for name, settings in namespaces.items()
        },
        "topics": {name: _without_policies(settings, "replication-clusters") for name, settings in topics.items()},
    }


def _without(values: Objects, *names: str) -> Objects:
    return {key: value for key, value in values.items() if key not in names}


def _at_once(objects: Objects) -> Objects:
    return {name: _without_policies(settings, *DEFERRED) for name, settings in objects.items()}


def _without_policies(values: Objects, *names: str) -> Objects:
    return values | {"policies": _without(values.get("policies") or {}, *names)}


class ClusterCopy:
    """The methods in the order in which a migration calls them."""

    def __init__(self, declared: Declared, source: Endpoint, target: Endpoint, parallel: int, step: Step) -> None:
        self._objects = declared.objects
        self._source = source
        self._target = target
        self._parallel = parallel
        self._step = step

    @property
    def topics(self) -> list[str]:
        """The topics with messages to copy."""
        return sorted(name for name in self._objects["topics"] if name.startswith("persistent://"))

    def size(self) -> tuple[int, int]:
        """How many entries there are to copy, and their bytes."""
        with Crew(self._source.settings, self._parallel) as crew:
            all_sizes = [part_size for sizes in crew.results(self.topics, _sizes) for part_size in sizes]
        return sum(entries for entries, _ in all_sizes), sum(size for _, size in all_sizes)

    def plan(self) -> Plan:
        """The changes to make, without the messages."""
        return self._plan(self._settings())

    def make_namespaces(self) -> None:
        """Creates what is missing, marks it, and lets clients in. Raises `PartialFailure`, or `Conflict` for what
        cannot be.
        """
        missing = self._missing_namespaces()
        namespaces = {
            name: {"bundles": settings.get("bundles"), "policies": PROTECTING, "properties": {MARK: "true"}}
            for name, settings in self._objects["namespaces"].items()
            if name in missing
        }
        self._apply({"tenants": self._objects["tenants"], "namespaces": namespaces, "topics": {}})
        created = {name: self._objects["namespaces"][name] for name in self._marked()}
        self._apply({"tenants": {}, "namespaces": _at_once(created), "topics": {}})

    def parts(self) -> Iterator[PartitionCopy]:
        """Every partition to copy; its topic exists when it is returned."""
        for topic in self.topics:
            yield from prepare(self._source, topic, self._target, topic)

    def let_in(self) -> None:
        """Permissions, and the policies that do no harm to a copy, of all namespaces and of the topics, which exist.
        Raises `PartialFailure`.
        """
        settings = self._settings()
        topics = {name: settings["topics"][name] for name in self.topics}
        self._apply({"tenants": {}, "namespaces": _at_once(settings["namespaces"]), "topics": _at_once(topics)})

    def make_settings(self) -> None:
        """Everything else, and takes back what protected the namespaces. Raises `PartialFailure`."""
        self._apply(self._settings())
        admin = self._target.admin()
        try:
            for name, settings in self._objects["namespaces"].items():
                _unprotect(admin, name, settings)
        finally:
            admin.close()

    def _settings(self) -> Objects:
        """Subscriptions and schemas come with the messages."""
        topics = {
            name: _without(settings, "subscriptions", "schema") for name, settings in self._objects["topics"].items()
        }
        return {key: value for key, value in self._objects.items() if key != "topics"} | {"topics": topics}

    def _missing_namespaces(self) -> Sequence[str]:
        admin = self._target.admin()
        try:
            return [name for name in self._objects["namespaces"] if not _exists(admin, name)]
        finally:
            admin.close()

    def _marked(self) -> Sequence[str]:
        """The namespaces that this run or an interrupted one has created."""
        admin = self._target.admin()
        try:
            return [name for name in self._objects["namespaces"] if MARK in admin.namespaces.properties(name)]
        finally:
            admin.close()

    def _plan(self, objects: Objects) -> Plan:
        with Crew(self._target.settings, self._parallel) as crew:
            return Declared(objects, Scope()).plan(crew, self._step, prune=False)

    def _apply(self, objects: Objects) -> None:
        plan = self._plan(objects)
        if plan.refusals:
            raise Conflict(f"cannot migrate to {self._target.name}: {plan.refusals[0]}")
        with Crew(self._target.settings, self._parallel) as crew:
            applied = apply(plan, crew, lambda done, total: self._step("changes", done, total))
        if applied.failures:
            more = len(applied.failures) - 1
            raise PartialFailure(
                f"{applied.failures[0]}" + (f" (and {more} more)" if more else ""),
                hint="remove the cause, and run the same command again",
            )


def _sizes(admin: AdminClient, topic: str) -> list[tuple[int, int]]:
    sizes = []
    for part in admin.topics.parts(topic):
        try:
            stats = admin.topics.internal_stats(part)
        except NotFound:  # a partition that was never loaded
            continue
        sizes.append((stats["numberOfEntries"], stats["totalSize"]))
    return sizes


def _exists(admin: AdminClient, namespace: str) -> bool:
    try:
        admin.namespaces.policies(namespace)
    except NotFound:
        return False
    return True


def _unprotect(admin: AdminClient, namespace: str, settings: Objects) -> None:
    if MARK not in admin.namespaces.properties(namespace):
        return
    unwanted = [name for name in PROTECTING if name not in settings["policies"]]
    parts = [Part(("policies", name), PROTECTING[name], None) for name in unwanted]
    parts.append(Part(("properties", MARK), "true", None))
    for step in steps(Change("namespace", namespace, "update", tuple(parts)), ""):
        step.run(admin)
