"""Work on every part of a topic's plan, in this process or on Spark: what `ops profile` and `ops verify` share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pulsarctl.backlog.engine import Choice, Engine, choose
from pulsarctl.output.render import Progress, Table
from pulsarctl.shell.call import Call
from pulsarctl.values.quantities import human_size
from pulsarctl.verbs.on_spark import explained, start_spark

if TYPE_CHECKING:
    from pulsarctl.tables.ledger_ranges import LedgerRange

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Where:
    """The engine that the command line asks for."""

    engine: Engine
    local_bytes_max: int
    master: str
    spark_settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PartsPlan:
    """The parts that are read, and by which engine."""

    where: Where
    parts: "Sequence[LedgerRange]"
    choice: Choice

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


def plan_parts(parts: "Sequence[LedgerRange]", where: Where) -> PartsPlan:
    """Raises `CliError` without Spark where it is asked for."""
    from pulsarctl.spark.session import require_spark

    choice = choose(
        where.engine,
        entries=sum(part.entries for part in parts),
        size=sum(part.size for part in parts),
        bytes_max=where.local_bytes_max,
        require_spark=require_spark,
    )
    return PartsPlan(where, parts, choice)


def work_on(call: Call, verb: str, plan: PartsPlan, work: "Callable[[LedgerRange], Result]") -> list[Result]:
    """The results in the order of the plan. Raises what the work raises; on Spark, `CliError`."""
    if plan.choice.notice:
        call.notice(plan.choice.notice)
    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)

    def tell(done: int, count: int) -> None:
        progress.show(f"{done} of {count} parts done")

    try:
        if plan.choice.engine is Engine.LOCAL or not plan.parts:
            return _in_turn(work, plan.parts, tell)
        from pulsarctl.spark.jobs.parts import run_spark

        where = plan.where
        context = start_spark(call, verb, where.master, where.spark_settings, progress, plan.size)
        return explained(lambda: run_spark(context, verb, work, plan.parts, tell))
    finally:
        progress.clear()


def show_plan(call: Call, plan: PartsPlan) -> None:
    value: dict[str, Any] = {
        "engine": plan.choice.engine,
        "partitions": len({part.topic for part in plan.parts}),
        "ledgers": len({(part.topic, part.ledger_id) for part in plan.parts}),
        "entries": sum(part.entries for part in plan.parts),
        "bytes": plan.size,
        "tasks": len(plan.parts),
    }
    rows = [(name, human_size(found) if name == "bytes" else found) for name, found in value.items()]
    call.show(value, Table(("PLAN", "VALUE"), rows))


def _in_turn(
    work: "Callable[[LedgerRange], Result]", parts: "Sequence[LedgerRange]", tell: Callable[[int, int], None]
) -> list[Result]:
    found: list[Result] = []
    for part in parts:
        tell(len(found), len(parts))
        found.append(work(part))
    return found
