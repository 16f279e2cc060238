"""Runs a statement in this process. Each reference is read once, into a table of DuckDB, which may spill to disk."""

import tempfile
from collections.abc import Callable, Sequence

import duckdb
import pyarrow as pa

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.sql.database import database
from pulsarctl.sql.planning import PlannedReference, columns_hint
from pulsarctl.sql.statement import Statement

Tell = Callable[[int, int], None]
"""Learns how many of how many parts are done."""

_SETTINGS = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_OF_THE_QUERY = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.SyntaxException,
    duckdb.PermissionException,
)


def run_local(statement: Statement, references: Sequence[PlannedReference], tell: Tell) -> pa.Table:
    """Raises `UsageProblem` for a query that the engine does not understand, `CliError`, and what reading raises."""
    with tempfile.TemporaryDirectory(prefix="pulsarctl-sql-") as scratch, database(scratch) as connection:
        for command in _SETTINGS:
            connection.execute(command)
        for each in references:
            connection.register("rows", each.table.schema.empty_table())
            create = f"CREATE TEMP TABLE {each.reference.relation} AS SELECT * FROM rows"  # noqa: S608  # our name
            connection.execute(create)
        try:
            connection.sql(statement.text)  # names and types are checked before anything is read
            _load(connection, references, tell)
            return connection.sql(statement.text).to_arrow_table()
        except _OF_THE_QUERY as error:
            raise UsageProblem(f"cannot run the query: {_reason(error)}", hint=_hint(error, references)) from error
        except duckdb.Error as error:
            raise CliError(f"the query failed: {_reason(error)}") from error


def _hint(error: Exception, references: Sequence[PlannedReference]) -> str | None:
    """For a name that does not exist: the columns, or what DuckDB suggests."""
    first, _, rest = str(error).strip().partition("\n")
    if "column" in first and ("not found" in first or "does not have" in first):
        return columns_hint(references)
    suggestion = rest.strip().partition("\n")[0]
    return suggestion if suggestion and not suggestion.endswith(":") else None


def _load(connection: "duckdb.DuckDBPyConnection", references: Sequence[PlannedReference], tell: Tell) -> None:
    """The reader stays on this thread: its errors and Ctrl-C arrive as they are."""
    done, count = 0, sum(len(each.parts) for each in references)
    for each in references:
        relation = each.reference.relation
        for part in each.parts:
            tell(done, count)
            for batch in each.table.read(part):
                connection.register("rows", pa.Table.from_batches([batch]))
                insert = f"INSERT INTO {relation} SELECT * FROM rows"  # noqa: S608  # made by `references`
                connection.execute(insert)
            done += 1


def _reason(error: Exception) -> str:
    """Without the kind of the error in front, and without candidates after it."""
    first = str(error).strip().partition("\n")[0]
    return first.partition(": ")[2] or first
