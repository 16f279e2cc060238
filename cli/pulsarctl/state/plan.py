"""The difference between a document and what a broker has, as changes of objects.

A part of an object that the document does not mention is left alone, unless the object is in the scope of the
document. Without `prune`, nothing is deleted at all.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pulsarctl.admin.schemas import as_value
from pulsarctl.state import scalable, settings
from pulsarctl.state.live import Document, Found, Objects
from pulsarctl.state.scope import Scope, is_kept
from pulsarctl.values.names import namespace_of

KINDS = {
    "clusters": "cluster",
    "tenants": "tenant",
    "namespaces": "namespace",
    "topics": "topic",
    scalable.SECTION: scalable.KIND,
}
TABLES = {"namespace": settings.NAMESPACE, "topic": settings.TOPIC, scalable.KIND: scalable.POLICIES}
NOT_COMPARED = ("bundles", "position", scalable.SEGMENTS)  # they only count when something is created
FIXED = (scalable.KIND, "properties")  # what differs in them is refused
BY_NAME = ("properties", "policies", "permissions", "subscription-permissions", "subscriptions")


@dataclass(frozen=True, slots=True)
class Part:
    """One difference inside an object. `old` is None if it is added, `new` if it is removed."""

    path: tuple[str, ...]
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Change:
    """`action`: create, update, or delete. `kind`: cluster, tenant, namespace, topic, or scalable topic."""

    kind: str
    name: str
    action: str
    parts: tuple[Part, ...] = ()

    def part(self, *path: str) -> Part | None:
        return next((part for part in self.parts if part.path == path), None)

    def under(self, section: str) -> list[Part]:
        return [part for part in self.parts if part.path[0] == section]


@dataclass(frozen=True, slots=True)
class Plan:
    """`refusals` say what cannot be done at all. `cluster` is the broker's own."""

    cluster: str
    changes: list[Change] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.refusals

    def of(self, kind: str, *actions: str) -> list[Change]:
        return [change for change in self.changes if change.kind == kind and change.action in actions]


def plan(declared: dict[str, Objects], existing: Found, scope: Scope, *, prune: bool) -> Plan:
    """`declared` is a checked document."""
    made = Plan(existing.cluster)
    for section, kind in KINDS.items():
        live = existing.section(section)
        for name, object_ in sorted(declared.get(section, {}).items()):
            whole = prune and _covers(scope, kind, name)
            change = _change(made, kind, name, object_ or {}, live.get(name), prune=prune, whole=whole)
            if change is not None:
                made.changes.append(change)
        if prune:
            made.changes.extend(_deletions(kind, live, _mentioned(section, declared), scope))
    made.refusals.extend(_orphans(declared, existing))
    return made


def _covers(scope: Scope, kind: str, name: str) -> bool:
    match kind:
        case "topic" | scalable.KIND:
            return scope.has_topic(name)
        case "namespace":
            return scope.has_namespace(name)
        case "tenant":
            return scope.has_tenant(name)
    return scope.is_everything


def _mentioned(section: str, declared: dict[str, Objects]) -> set[str]:
    """Names in the document, and what holds them: a topic mentions its namespace and its tenant."""
    names = set(declared.get(section, {}))
    if section in ("namespaces", "tenants"):
        inner = set(declared.get("namespaces", {})) | _holders(declared)
        names |= inner if section == "namespaces" else {name.partition("/")[0] for name in inner}
    return names


def _holders(declared: dict[str, Objects]) -> set[str]:
    """The namespaces of the topics."""
    return {namespace_of(topic) for section in ("topics", scalable.SECTION) for topic in declared.get(section, {})}


def _deletions(kind: str, live: Objects, mentioned: set[str], scope: Scope) -> Iterator[Change]:
    for name in sorted(live):
        if name not in mentioned and _covers(scope, kind, name) and not (kind != "topic" and is_kept(name)):
            yield Change(kind, name, "delete")


def _change(
    made: Plan, kind: str, name: str, declared: Document, live: Document | None, *, prune: bool, whole: bool
) -> Change | None:
    comparison = _Comparison(kind, made.cluster, prune=prune, whole=whole)
    if live is None:
        return Change(kind, name, "create", tuple(comparison.additions(declared)))
    impossible = {"topic": _impossible, scalable.KIND: scalable.refusal}.get(kind)
    refusal = impossible(name, declared, live) if impossible else None
    if refusal is not None:
        made.refusals.append(refusal)
        return None
    parts = tuple(comparison.differences(declared, live))
    return Change(kind, name, "update", parts) if parts else None


def _impossible(name: str, declared: Document, live: Document) -> str | None:
    old, new = live["partitions"], declared.get("partitions")
    if new is None or new >= old > 0 or new == old:
        return None
    if old == 0:
        return f"topic {name} has no partitions, and cannot get {new}: delete it first, with its messages"
    if new == 0:
        return f"topic {name} has {old} partitions, and cannot be a topic without: delete it first, with its messages"
    return f"topic {name} has {old} partitions, and cannot have only {new}: Pulsar cannot remove partitions"


def _orphans(declared: dict[str, Objects], existing: Found) -> Iterator[str]:
    """Objects to create in something that does not exist and is not going to."""
    namespaces = {*declared.get("namespaces", {}), *existing.namespaces}
    for namespace in sorted(_holders(declared) - namespaces):
        yield f"namespace {namespace} does not exist: add it under 'namespaces'"
    tenants = {*declared.get("tenants", {}), *existing.tenants}
    for tenant in sorted({name.partition("/")[0] for name in declared.get("namespaces", {})} - tenants):
        yield f"tenant {tenant} does not exist: add it under 'tenants'"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The comparison of one object. `whole`: settings that the document does not mention are removed."""

    kind: str
    cluster: str
    prune: bool
    whole: bool

    def additions(self, declared: Document) -> Iterator[Part]:
        for key, value in declared.items():
            if key in BY_NAME:
                yield from self._in_section(key, value, {}, removes=False)
            elif value not in ([], 0) and not self._is_default(key, value):
                yield Part((key,), None, value)

    def differences(self, declared: Document, live: Document) -> Iterator[Part]:
        for key in _keys(declared, live):
            new, old = declared.get(key), live.get(key)
            if key in NOT_COMPARED:
                continue
            if key in BY_NAME:
                if new is not None or (self.whole and (self.kind, key) != FIXED):
                    removes = self.prune and (self.whole or new is not None)
                    yield from self._in_section(key, new or {}, old or {}, removes=removes)
            elif new is None:
                if self.whole and key != "partitions" and old and not self._is_default(key, old):
                    yield Part((key,), old, None)
            elif not _equal(key, new, old or type(new)()):
                yield Part((key,), old or None, new)

    def _in_section(self, section: str, declared: Document, live: Document, *, removes: bool) -> Iterator[Part]:
        for name in _keys(declared, live):
            new, old = declared.get(name), live.get(name)
            if name not in declared:
                if removes:
                    yield Part((section, name), old, None)
            elif old is None:
                if not (section == "policies" and new == self._nothing(name)):
                    yield Part((section, name), None, new)
            elif section == "subscriptions":
                properties = declared[name].get("properties", {} if removes else old["properties"])
                if properties != old["properties"]:
                    yield Part((section, name, "properties"), old["properties"], properties)
            else:
                kept = old | new if name == settings.QUOTA and not removes else new  # each type is a policy of its own
                if not _equal(name, kept, old):
                    yield Part((section, name), old, kept)

    def _nothing(self, policy: str) -> Any:
        return TABLES[self.kind][policy].nothing(self.cluster)

    def _is_default(self, key: str, value: Any) -> bool:
        """A tenant without allowed clusters gets the broker's own."""
        return key == "allowedClusters" and value == [self.cluster]


def _equal(key: str, new: Any, old: Any) -> bool:
    return _schema(new) == _schema(old) if key == "schema" else bool(new == old)


def _schema(declared: Document) -> tuple[Any, Any]:
    """What brokers compare. A definition may be an object or its text, and BYTES is stored as NONE."""
    kind, definition = declared.get("type"), declared.get("schema", "")
    value = as_value(str(kind), definition) if isinstance(definition, str) else definition
    return "NONE" if kind == "BYTES" else kind, value


def _keys(declared: Document, live: Document) -> Iterable[str]:
    return [*declared, *(key for key in live if key not in declared)]
