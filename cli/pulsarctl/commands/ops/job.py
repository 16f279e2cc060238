"""A job of `ops`: it chooses an engine, shows its plan, and runs in this process or on Spark.

A new job needs its verb, the work on one part (a callable that can be pickled), and a line in `commands.ops`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pulsarctl.backlog.engine import Engine, EngineChoice, choose
from pulsarctl.commands.ops.on_spark import explained, start_spark
from pulsarctl.commands.ops.transfer_summary import summary
from pulsarctl.output.render import Progress
from pulsarctl.shell.arguments import pairs
from pulsarctl.shell.call import Call
from pulsarctl.values.quantities import parse_size

if TYPE_CHECKING:
    from pyspark import SparkContext

    from pulsarctl.tables.ledger_ranges import LedgerRange

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Where:
    """The engine that the command line asks for."""

    engine: Engine
    local_bytes_max: int
    master: str
    settings: Mapping[str, str]

    @classmethod
    def given(cls, engine: Engine, local_max: str, master: str, conf: list[str] | None) -> Self:
        """From the options. Raises `UsageProblem`."""
        return cls(engine, parse_size(local_max), master, pairs(conf))


@dataclass(frozen=True, slots=True)
class Job:
    """`name` is the verb, `choice` the engine that runs it, and `size` the number of bytes to read."""

    name: str
    where: Where
    choice: EngineChoice
    size: int

    @classmethod
    def choose(cls, name: str, where: Where, entries: int, size: int, doing: str = "") -> Self:
        """`doing` says in a notice what the job does. Raises `CliError` if Spark is asked for and missing."""
        from pulsarctl.spark.session import require_spark

        choice = choose(
            where.engine,
            entries=entries,
            size=size,
            bytes_max=where.local_bytes_max,
            require_spark=require_spark,
            work=doing,
        )
        return cls(name, where, choice, size)

    @classmethod
    def reading(cls, name: str, where: Where, parts: "Sequence[LedgerRange]") -> Self:
        """The job that reads these parts."""
        return cls.choose(name, where, sum(part.entries for part in parts), sum(part.size for part in parts))

    def run(
        self,
        call: Call,
        locally: Callable[[Progress], Result],
        on_spark: "Callable[[SparkContext, Progress], Result]",
    ) -> Result:
        """Calls one of the two. Raises what it raises; a failure of Spark is a `CliError`."""
        if self.choice.notice:
            call.notice(self.choice.notice)
        progress = Progress(quiet=call.settings.quiet)
        call.call_on_close(progress.clear)
        try:
            if self.choice.engine is Engine.LOCAL:
                return locally(progress)
            context = start_spark(call, self.name, self.where.master, self.where.settings, progress, self.size)
            return explained(lambda: on_spark(context, progress))
        finally:
            progress.clear()

    def work_on(self, call: Call, work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """What `work` returns for each part, in the order of the parts. Raises as `run`."""

        def on_spark(context: "SparkContext", progress: Progress) -> list[Result]:
            from pulsarctl.spark.jobs.parts import run_spark

            return run_spark(context, self.name, work, parts, lambda done: show_done(progress, done, len(parts)))

        return self.run(call, lambda progress: _one_by_one(work, parts, progress), on_spark) if parts else []


def _one_by_one(work: Callable[[Part], Result], parts: Sequence[Part], progress: Progress) -> list[Result]:
    results: list[Result] = []
    for part in parts:
        show_done(progress, len(results), len(parts))
        results.append(work(part))
    return results


def show_done(progress: Progress, done: int, count: int) -> None:
    progress.show(f"{done} of {count} parts done")


def show_plan(call: Call, facts: dict[str, Any]) -> None:
    call.show(facts, summary("PLAN", facts))


def facts(job: Job, parts: "Sequence[LedgerRange]") -> dict[str, Any]:
    """The plan of a job that reads a topic."""
    return {
        "engine": job.choice.engine,
        "partitions": len({part.topic for part in parts}),
        "ledgers": len({(part.topic, part.ledger_id) for part in parts}),
        "entries": sum(part.entries for part in parts),
        "bytes": job.size,
        "tasks": len(parts),
    }
