"""Runs a statement in this process. Each reference is read once, into a table of DuckDB, which may spill to disk."""

import tempfile
from collections.abc import Callable, Sequence

import duckdb
import pyarrow as pa

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.sql.database import database
from pulsarctl.sql.planning import PlannedReference
from pulsarctl.sql.statement import Statement
from pulsarctl.sql.translation import MACROS, for_duckdb

Tell = Callable[[int, int], None]
"""Learns how many of how many parts are done."""

_SETTINGS = ("SET enable_external_access = false", "SET lock_configuration = true")
_OF_THE_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.SyntaxException)


def run_local(statement: Statement, references: Sequence[PlannedReference], tell: Tell) -> pa.Table:
    """Raises `UsageProblem` for a query that the engine does not understand, `CliError`, and what reading raises."""
    with tempfile.TemporaryDirectory(prefix="pulsarctl-sql-") as scratch, database(scratch) as connection:
        _load(connection, references, tell)
        for command in (*MACROS, *_SETTINGS):
            connection.execute(command)
        try:
            return connection.sql(for_duckdb(statement, references)).to_arrow_table()
        except _OF_THE_QUERY as error:
            hint = "if Spark SQL has what is missing, use --engine spark"
            raise UsageProblem(f"cannot run the query: {_reason(error)}", hint=hint) from error
        except duckdb.Error as error:
            raise CliError(f"the query failed: {_reason(error)}") from error


def _load(connection: "duckdb.DuckDBPyConnection", references: Sequence[PlannedReference], tell: Tell) -> None:
    """The reader stays on this thread: its errors and Ctrl-C arrive as they are."""
    done, count = 0, sum(len(each.parts) for each in references)
    for each in references:
        relation = each.reference.relation
        connection.register("rows", each.table.schema.empty_table())
        create = f"CREATE TEMP TABLE {relation} AS SELECT * FROM rows"  # noqa: S608  # made by `references`
        connection.execute(create)
        for part in each.parts:
            tell(done, count)
            for batch in each.table.read(part):
                connection.register("rows", pa.Table.from_batches([batch]))
                insert = f"INSERT INTO {relation} SELECT * FROM rows"  # noqa: S608  # made by `references`
                connection.execute(insert)
            done += 1
        connection.unregister("rows")


def _reason(error: Exception) -> str:
    """Without the kind of the error in front, and without candidates after it."""
    first = str(error).strip().partition("\n")[0]
    return first.partition(": ")[2] or first
