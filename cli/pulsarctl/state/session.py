"""One run of `export`, `diff`, or `apply`: what to read for a document, and the plan that follows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulsarctl.bulk.crew import Crew
from pulsarctl.errors import NotFound
from pulsarctl.state import grammar, layers, scalable
from pulsarctl.state.live import Found, Needed, Reader, Step, Wanted
from pulsarctl.state.plan import Plan, plan
from pulsarctl.state.scope import Scope
from pulsarctl.values.names import namespace_of

ONLY_ITS_NAME = Wanted(False, False, False, False, frozenset())


@dataclass(frozen=True, slots=True)
class Declared:
    """A checked document, and what it describes completely."""

    objects: dict[str, Any]
    scope: Scope

    @classmethod
    def load(cls, places: list[str], variables: Mapping[str, str]) -> "Declared":
        """Raises `UsageProblem`; sends no request."""
        checked = grammar.check(layers.load(places, variables))
        return cls(checked, Scope.of(checked.pop("scope", ())))

    def plan(self, crew: Crew, step: Step, *, prune: bool) -> Plan:
        """Reads the objects that the document mentions, and for pruning those in its scope."""
        return plan(self.objects, Reader(crew, step).read(self._needed(prune)), self.scope, prune=prune)

    def _needed(self, prune: bool) -> Needed:
        topics, namespaces = self.objects.get("topics", {}), self.objects.get("namespaces", {})
        scalable_topics = self.objects.get(scalable.SECTION, {})
        holders = frozenset(namespace_of(topic) for topic in (*topics, *scalable_topics))
        tenants = frozenset(self.objects.get("tenants", {}))
        return Needed(
            self.scope if prune else Scope(),
            frozenset(self.objects.get("clusters", {})),
            tenants,
            frozenset(name.partition("/")[0] for name in namespaces) - tenants,
            frozenset(namespaces) | holders,
            holders,
            self._wanted(prune),
            frozenset(scalable_topics),
        )

    def _wanted(self, prune: bool) -> Callable[[str], Wanted | None]:
        topics = self.objects.get("topics", {})

        def wanted(topic: str) -> Wanted | None:
            declared = topics.get(topic)
            is_covered = prune and self.scope.has_topic(topic)
            if declared is None:
                return ONLY_ITS_NAME if is_covered else None
            if is_covered:
                return Wanted()
            policies = frozenset(declared.get("policies", {}))
            return Wanted(
                "partitions" in declared,
                "properties" in declared,
                "schema" in declared,
                "subscriptions" in declared,
                None if prune and "policies" in declared else policies,
            )

        return wanted


def export(crew: Crew, scope: Scope, step: Step) -> Found:
    """Everything in a scope. Raises `NotFound`: applied with --prune, a file without it would delete it elsewhere."""
    existing = Reader(crew, step).read(Needed(scope, scalable_topics=frozenset()))
    missing = existing.missing(scope)
    if missing:
        raise NotFound(f"cannot export {missing[0]}: the broker does not have it")
    return existing
