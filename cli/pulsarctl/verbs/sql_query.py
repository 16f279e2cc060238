"""Plans and runs a query of topics: references, tables, parts, and the engine that was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call
from pulsarctl.sql.engine import SqlEngine
from pulsarctl.values.clock import now_ms
from pulsarctl.values.quantities import human_size
from pulsarctl.verbs.on_spark import access, explained_query, start_spark

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.sql.planning import PlannedReference
    from pulsarctl.sql.statement import Statement

LARGE_BYTES = 1 << 30
_LIBRARIES = ("pyarrow", "numpy", "duckdb", "sqlglot")


@dataclass(frozen=True, slots=True)
class SqlRequest:
    """What the command line asks for. `bounded` False: read topics as a whole."""

    text: str
    engine: SqlEngine
    master: str
    spark_settings: Mapping[str, str]
    decode: str = "auto"
    bounded: bool = True
    tier_store: str = ""


@dataclass(frozen=True, slots=True)
class SqlPlan:
    """What a query reads."""

    request: SqlRequest
    statement: "Statement"
    references: "Sequence[PlannedReference]"

    @property
    def notice(self) -> str | None:
        """What the user may want to know before a long wait."""
        if self.request.engine is SqlEngine.SPARK or self.size < LARGE_BYTES:
            return None
        return f"notice: one process reads {human_size(self.size)}; --engine spark reads in parallel, in Spark SQL"

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

    now = datetime.fromtimestamp(now_ms() / 1000, UTC)
    statement = parse(request.text, now, request.engine, bounded=request.bounded)
    if request.engine is SqlEngine.SPARK:
        _check_names(request, statement)
    where = {"tier_store": request.tier_store} if request.tier_store else {}
    options = TableOptions.parse({"topic": "any", "decode": request.decode, **where})
    references = planned(statement.references, replace(options, access=access(call)))
    return SqlPlan(request, statement, references)


def _check_names(request: SqlRequest, statement: "Statement") -> None:
    """Before Spark starts, which takes seconds. Extensions of Spark may add functions."""
    from pulsarctl.spark.function_names import unknown_to_spark
    from pulsarctl.spark.session import require_spark

    require_spark()
    if "spark.sql.extensions" not in request.spark_settings and (unknown := unknown_to_spark(statement.tree)):
        names = ", ".join(unknown)
        hint = "omit --engine spark to run the query in DuckDB's SQL"
        raise UsageProblem(f"cannot run the query: Spark has no function {names}", hint=hint)


def run(call: Call, of: SqlPlan) -> "pa.Table":
    """The rows of the result. Raises `CliError`."""
    from pulsarctl.sql.local import run_local
    from pulsarctl.sql.printed import with_names

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)

    def tell(done: int, count: int) -> None:
        progress.show(f"{done} of {count} parts done")

    try:
        if of.request.engine is SqlEngine.SPARK:
            return with_names(_on_spark(call, of, progress))
        return with_names(run_local(of.statement, of.references, tell))
    finally:
        progress.clear()


def _on_spark(call: Call, of: SqlPlan, progress: Progress) -> "pa.Table":
    from pulsarctl.spark.jobs.sql import SETTINGS, run_spark
    from pulsarctl.sql.planning import columns_hint

    request = of.request
    settings = {**SETTINGS, **request.spark_settings}
    context = start_spark(call, "sql", request.master, settings, progress, of.size)

    def tell(done: int) -> None:
        progress.show(f"{done} tasks done")

    return explained_query(lambda: run_spark(context, of.statement, of.references, tell), columns_hint(of.references))


def require_sql() -> None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise CliError(
            f"cannot run SQL: {', '.join(missing)} {verb} not installed", hint="run pip install 'pulsarctl[sql]'"
        )
