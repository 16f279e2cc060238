"""Plans and runs a query of topics: references, tables, parts, and the engine that was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pulsarctl.backlog.engine import EngineChoice
from pulsarctl.commands.ops.job import Job, Where, show_done
from pulsarctl.commands.ops.on_spark import access, explained_query
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call
from pulsarctl.sql.engine import SqlEngine
from pulsarctl.values.clock import now_ms
from pulsarctl.values.quantities import human_size

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext

    from pulsarctl.sql.planning import PlannedReference
    from pulsarctl.sql.statement import Statement

LARGE_BYTES = 1 << 30
_LIBRARIES = ("pyarrow", "numpy", "duckdb", "sqlglot")


@dataclass(frozen=True, slots=True)
class SqlPlan:
    """What a query reads, and the job that runs it."""

    job: Job
    statement: "Statement"
    references: "Sequence[PlannedReference]"

    @property
    def tasks(self) -> int:
        return sum(len(each.parts) for each in self.references)


def plan(
    call: Call, text: str, engine: SqlEngine, where: Where, options: Mapping[str, str], *, bounded: bool
) -> SqlPlan:
    """Asks the admin API. `options` are those of the tables, and `bounded` False reads topics as a whole.

    Raises `NotFound`, `UsageProblem`.
    """
    require_sql()
    from pulsarctl.sql.planning import planned
    from pulsarctl.sql.statement import parse
    from pulsarctl.tables.options import TableOptions

    now = datetime.fromtimestamp(now_ms() / 1000, UTC)
    statement = parse(text, now, engine, bounded=bounded)
    if engine is SqlEngine.SPARK:
        _check_names(where, statement)
    table = TableOptions.parse({"topic": "any", **options})
    references = planned(statement.references, replace(table, access=access(call)))
    return SqlPlan(_job(engine, where, sum(each.size for each in references)), statement, references)


def _job(engine: SqlEngine, where: Where, size: int) -> Job:
    """Each engine has its own language, so only the user chooses."""
    from pulsarctl.sql.dialects import SPARK_SETTINGS

    notice = None
    if engine is SqlEngine.LOCAL and size >= LARGE_BYTES:
        notice = f"notice: one process reads {human_size(size)}; --engine spark reads in parallel, in Spark SQL"
    where = replace(where, settings={**SPARK_SETTINGS, **where.settings})
    return Job("sql", where, EngineChoice(where.engine, notice), size)


def _check_names(where: Where, statement: "Statement") -> None:
    """Before Spark starts, which takes seconds. Extensions of Spark may add functions."""
    from pulsarctl.spark.function_names import unknown_to_spark
    from pulsarctl.spark.session import require_spark

    require_spark()
    if "spark.sql.extensions" not in where.settings and (unknown := unknown_to_spark(statement.tree)):
        names = ", ".join(unknown)
        hint = "omit --engine spark to run the query in DuckDB's SQL"
        raise UsageProblem(f"cannot run the query: Spark has no function {names}", hint=hint)


def run(call: Call, query: SqlPlan) -> "pa.Table":
    """The rows of the result. Raises `CliError`."""
    from pulsarctl.sql.local import run_local
    from pulsarctl.sql.printed import with_names

    def locally(progress: Progress) -> "pa.Table":
        return run_local(query.statement, query.references, partial(show_done, progress))

    def on_spark(context: "SparkContext", progress: Progress) -> "pa.Table":
        from pulsarctl.spark.jobs.sql import run_spark
        from pulsarctl.sql.planning import columns_hint

        def show_tasks(done: int) -> None:
            progress.show(f"{done} tasks done")

        return explained_query(
            lambda: run_spark(context, query.statement, query.references, show_tasks), columns_hint(query.references)
        )

    return with_names(query.job.run(call, locally, on_spark))


def require_sql() -> None:
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise CliError(
            f"cannot run SQL: {', '.join(missing)} {verb} not installed", hint="run pip install 'pulsarctl[sql]'"
        )
