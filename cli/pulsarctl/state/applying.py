"""A plan -> a broker: deletions from the inside out, then everything else from the outside in.

Changes of one kind run in parallel. A failure does not stop the others, and what depends on a failed object is not
tried. Every change is made from what the broker has, so a second run finishes what the first one began.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pulsarctl.admin.client import AdminClient
from pulsarctl.bulk.crew import Crew
from pulsarctl.errors import CannotConnect, CliError, NotFound
from pulsarctl.state import operations, scalable
from pulsarctl.state.plan import Change, Part, Plan
from pulsarctl.values.names import namespace_of

Step = Callable[[int, int], None]  # how many changes are done, and how many there are


@dataclass(frozen=True, slots=True)
class Failure:
    """`part` of the object that failed; empty for the object itself."""

    change: Change
    part: str
    error: CliError

    def __str__(self) -> str:
        part = f" {self.part}" if self.part else ""
        return f"cannot {self.change.action} {self.change.kind} {self.change.name}{part}: {self.error.message}"


@dataclass(slots=True)
class Applied:
    """The outcome of a plan."""

    done: int = 0
    failures: list[Failure] = field(default_factory=list)
    skipped: list[Change] = field(default_factory=list)


def apply(plan: Plan, crew: Crew, step: Step = lambda *_: None) -> Applied:
    """Makes the changes of a plan without refusals."""
    applied, lost = Applied(), set[tuple[str, str]]()
    every = list(phases(plan))
    total = sum(map(len, every))
    for phase in every:
        ready = [change for change in phase if not _holders(change) & lost]
        applied.skipped += [change for change in phase if _holders(change) & lost]
        for outcome in crew.act(ready, lambda admin, change: _make(admin, change, plan.cluster)):
            failures = [Failure(outcome.item, "", outcome.error)] if outcome.error else outcome.value or []
            applied.failures += failures
            applied.done += not failures
            if outcome.item.action == "create" and any(not failure.part for failure in failures):
                lost.add((outcome.item.kind, outcome.item.name))
            step(applied.done, total)
    return applied


def phases(plan: Plan) -> Iterator[list[Change]]:
    """Each phase may rely on the ones before it."""
    for kind in (scalable.KIND, "topic", "namespace", "tenant"):
        yield plan.of(kind, "delete")
    yield plan.of("cluster", "create", "update")
    tenants = plan.of("tenant", "create", "update")
    yield [_widened(change) for change in tenants]
    yield plan.of("namespace", "create", "update")
    yield plan.of("topic", "create", "update")
    yield plan.of(scalable.KIND, "create", "update")
    yield [change for change in tenants if _widened(change) is not change]
    yield plan.of("cluster", "delete")


def _widened(change: Change) -> Change:
    """A tenant with all its old and new clusters, until its namespaces have left the old ones."""
    part = change.part("allowedClusters")
    if part is None or not part.old or set(part.old) <= set(part.new or []):
        return change
    both = Part(part.path, part.old, sorted({*part.old, *(part.new or [])}))
    return replace(change, parts=tuple(both if changed is part else changed for changed in change.parts))


def _holders(change: Change) -> set[tuple[str, str]]:
    """The objects that must exist before the change."""
    if change.kind in ("topic", scalable.KIND):
        namespace = namespace_of(change.name)
        return {("namespace", namespace), ("tenant", namespace.partition("/")[0])}
    return {("tenant", change.name.partition("/")[0])} if change.kind == "namespace" else set()


def _make(admin: AdminClient, change: Change, cluster: str) -> list[Failure]:
    """Makes one change; returns its failures.

    A failed part is tried again at the end: a retention that is to shrink must wait for its backlog quota, and one
    that is to grow must not. An object that is gone already is not a failure: two runs may prune at once.
    """
    failed: list[tuple[operations.Step, CliError]] = []
    steps = list(operations.steps(change, cluster))
    for step in steps:
        error = _tried(admin, step)
        if error is not None and not (change.action == "delete" and isinstance(error, NotFound)):
            failed.append((step, error))
            if not step.part:
                break
    if 0 < len(failed) < len(steps) and all(step.part for step, _ in failed):
        failed = [(step, error) for step, _ in failed if (error := _tried(admin, step)) is not None]
    return [Failure(change, step.part, error) for step, error in failed]


def _tried(admin: AdminClient, step: operations.Step) -> CliError | None:
    """The error of a step. Raises `CannotConnect`, because the other changes would fail the same way."""
    try:
        step.run(admin)
    except CannotConnect:
        raise
    except CliError as error:
        return error
    return None
