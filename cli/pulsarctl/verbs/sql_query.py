"""Plans and runs a query of topics: references, tables, parts, and the engine that reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pulsarctl.backlog.engine import Choice, Engine, choose
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.verbs.on_spark import access, explained, start_spark

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.sql.planning import PlannedReference
    from pulsarctl.sql.statement import Statement

_LIBRARIES = ("pyarrow", "numpy", "duckdb", "sqlglot")


@dataclass(frozen=True, slots=True)
class SqlRequest:
    """What the command line asks for. `bounded` False: read topics as a whole."""

    text: str
    engine: Engine
    local_bytes_max: int
    master: str
    spark_settings: Mapping[str, str]
    decode: str = "auto"
    bounded: bool = True
    tier_store: str = ""


@dataclass(frozen=True, slots=True)
class SqlPlan:
    """What a query reads, and by which engine."""

    request: SqlRequest
    statement: "Statement"
    references: "Sequence[PlannedReference]"
    choice: Choice

    @property
    def size(self) -> int:
        return sum(each.size for each in self.references)

    @property
    def tasks(self) -> int:
        return sum(len(each.parts) for each in self.references)


def plan(call: Call, request: SqlRequest) -> SqlPlan:
    """Asks the admin API. Raises `NotFound`, `UsageProblem`."""
    require_sql()
    from pulsarctl.sql.planning import planned
    from pulsarctl.sql.statement import parse
    from pulsarctl.tables.options import TableOptions

    statement = parse(request.text, datetime.fromtimestamp(now_ms() / 1000, UTC), bounded=request.bounded)
    where = {"tier_store": request.tier_store} if request.tier_store else {}
    options = TableOptions.parse({"topic": "any", "decode": request.decode, **where})
    references = planned(statement.references, replace(options, access=access(call)))
    choice = _choice(request, statement, references)
    return SqlPlan(request, statement, references, choice)


def _choice(request: SqlRequest, statement: "Statement", references: "Sequence[PlannedReference]") -> Choice:
    """A function that only Spark may run decides, too."""
    from pulsarctl.spark.session import require_spark
    from pulsarctl.sql.functions import only_on_spark

    engine, missing = request.engine, only_on_spark(statement.tree)
    if missing and engine is Engine.LOCAL:
        raise UsageProblem(
            f"cannot run {', '.join(missing)} in this process: the result could differ from Spark's",
            hint="use --engine spark",
        )
    return choose(
        Engine.SPARK if missing else engine,
        entries=sum(each.entries for each in references),
        size=sum(each.size for each in references),
        bytes_max=request.local_bytes_max,
        require_spark=require_spark,
    )


def run(call: Call, of: SqlPlan) -> "pa.Table":
    """The rows of the result. Raises `CliError`."""
    from pulsarctl.sql.local import run_local
    from pulsarctl.sql.printed import with_names

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)

    def tell(done: int, count: int) -> None:
        progress.show(f"{done} of {count} parts done")

    try:
        if of.choice.engine is Engine.LOCAL:
            return with_names(run_local(of.statement, of.references, tell), of.statement.names)
        return with_names(_on_spark(call, of, progress), of.statement.names)
    finally:
        progress.clear()


def _on_spark(call: Call, of: SqlPlan, progress: Progress) -> "pa.Table":
    from pulsarctl.spark.jobs.sql import SETTINGS, run_spark

    request = of.request
    settings = {**SETTINGS, **request.spark_settings}
    context = start_spark(call, "sql", request.master, settings, progress, of.size)

    def tell(done: int) -> None:
        progress.show(f"{done} tasks done")

    return explained(lambda: run_spark(context, of.statement, of.references, tell))


def require_sql() -> None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise CliError(
            f"cannot run SQL: {', '.join(missing)} {verb} not installed", hint="run pip install 'pulsarctl[sql]'"
        )
