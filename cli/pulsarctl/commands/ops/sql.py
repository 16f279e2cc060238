"""`ops sql`: a query of topics, printed in the format that was asked for."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.commands.ops.job import Where
from pulsarctl.commands.ops.range_options import FullScan, ShowPlan, TierStore
from pulsarctl.commands.ops.spark_options import Conf, Master, SparkSubmit, show_spark_submit
from pulsarctl.commands.ops.transfer_summary import summary
from pulsarctl.errors import UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.shell.arguments import pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.sql.engine import SqlEngine
from pulsarctl.values.choice import choice
from pulsarctl.values.text_files import read_text
from pulsarctl.values.times import utc

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.commands.ops.sql_query import SqlPlan
    from pulsarctl.sql.conditions import Conditions
    from pulsarctl.sql.planning import PlannedReference

_ENGINES = {SqlEngine.LOCAL: "DuckDB", SqlEngine.SPARK: "Spark"}
FORMATS = ("table", "json", "jsonl", "csv", "parquet", "html")

Query = Annotated[str | None, typer.Argument(metavar="QUERY", help="A SELECT in DuckDB's SQL; topics are its tables.")]
File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="File with the query; - is stdin.")]
Format = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        autocompletion=choice(*FORMATS),
        help="Output format: table, json, jsonl, csv, parquet, or html. Default: a table on a terminal, otherwise CSV.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Show what each mention of a topic would read, and exit.")]
Decode = Annotated[
    str,
    typer.Option(
        "--decode",
        metavar="HOW",
        autocompletion=choice("auto", "raw", "string", "json", "avro", "protobuf", "keyvalue"),
        help="Decode values as auto (by schema), raw, string, json, avro, protobuf, or keyvalue.",
    ),
]

EngineOption = Annotated[
    SqlEngine,
    typer.Option(
        "--engine", metavar="ENGINE", help="Where to run: local (DuckDB in this process), or spark (Spark SQL)."
    ),
]


def install_sql(noun: Noun) -> None:
    noun.verb("sql")(sql)


def sql(
    call: Call,
    query: Query = None,
    file: File = None,
    output: Format = None,
    explain: Explain = False,
    decode: Decode = "auto",
    full_scan: FullScan = False,
    tier_store: TierStore = "",
    engine: EngineOption = SqlEngine.LOCAL,
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: ShowPlan = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Query topics as typed tables, live and offloaded messages alike.

    A topic is a table by its short name, or by its full name in quotes: orders, "shop/eu/orders". Values are typed by
    the schema of the topic. The query sees the messages that existed when it started, and acknowledges nothing. Bounds
    on publish_time, partition, ledger_id, entry_id, and message_id limit what is read. DuckDB runs the query in this
    process, in its own SQL. With --engine spark, Spark runs it, in Spark SQL. Requires pip install 'pulsarctl[sql]'.

    Example: pulsarctl ops sql "SELECT key, count(*) FROM orders GROUP BY key ORDER BY 2 DESC LIMIT 10"
    """
    from pulsarctl.commands.ops import sql_query

    wanted = _format(call, output)
    text = _text(query, file)
    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    where = Where(Engine(engine), 0, master, pairs(conf))
    options = {"decode": decode, **({"tier_store": tier_store} if tier_store else {})}
    plan = sql_query.plan(call, text, engine, where, options, bounded=not full_scan)
    if explain or dry_run:
        (_explain if explain else _show_plan)(call, plan, wanted)
        return
    _WRITERS[wanted](sql_query.run(call, plan), text, call.settings.web_url)
    call.tell(f"{_ENGINES[engine]} ran the query")


def _text(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageProblem("specify one query", hint='use pulsarctl ops sql "SELECT ...", or --file FILE')
    if file is None:
        return str(query)
    return typer.get_text_stream("stdin").read() if str(file) == "-" else read_text(file.expanduser())


def _format(call: Call, output: str | None) -> str:
    """`-o` of this verb, or a shared one that says the same."""
    chosen = (output or call.output.value).lower()
    if chosen == Output.AUTO:
        return "table" if render.resolve(Output.AUTO) is Output.TABLE else "csv"
    if chosen not in FORMATS:
        raise UsageProblem(f"cannot print rows as {chosen}", hint="use one of " + ", ".join(FORMATS))
    return chosen


def _as_table(rows: "pa.Table", query: str, cluster: str) -> None:
    from pulsarctl.sql.printed import text_rows

    render.show(None, Output.TABLE, table=Table(tuple(rows.column_names), list(text_rows(rows))))


def _as_json(rows: "pa.Table", query: str, cluster: str) -> None:
    from pulsarctl.sql.printed import json_rows

    render.show(list(json_rows(rows)), Output.JSON)


def _as_json_lines(rows: "pa.Table", query: str, cluster: str) -> None:
    from pulsarctl.sql.printed import json_rows

    for row in json_rows(rows):
        render.show(row, Output.JSONL)


def _as_csv(rows: "pa.Table", query: str, cluster: str) -> None:
    from pulsarctl.sql.printed import csv_text

    for piece in csv_text(rows):
        render.text(piece.removesuffix("\n"))


def _as_page(rows: "pa.Table", query: str, cluster: str) -> None:
    from pulsarctl.sql.result_page import page

    render.data("".join(page(rows, query, cluster)).encode())


def _as_parquet(rows: "pa.Table", query: str, cluster: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if render.resolve(Output.AUTO) is Output.TABLE:
        raise UsageProblem("cannot print Parquet on a terminal", hint="redirect the output: > result.parquet")
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    render.data(sink.getvalue().to_pybytes())


_WRITERS: "dict[str, Callable[[pa.Table, str, str], None]]" = {
    "table": _as_table,
    "json": _as_json,
    "jsonl": _as_json_lines,
    "csv": _as_csv,
    "html": _as_page,
    "parquet": _as_parquet,
}


def _show_plan(call: Call, plan: "SqlPlan", wanted: str) -> None:
    value: dict[str, Any] = {
        "engine": plan.job.choice.engine,
        "topics": len({each.reference.topic for each in plan.references}),
        "ledgers": len({(part.topic, part.ledger_id) for each in plan.references for part in each.parts}),
        "entries": sum(each.entries for each in plan.references),
        "bytes": plan.job.size,
        "tasks": plan.tasks,
    }
    render.show(value, _of_plan(wanted), table=summary("PLAN", value))


def _explain(call: Call, plan: "SqlPlan", wanted: str) -> None:
    """What each reference reads, and the statement that the engine gets."""
    references = [_explained(each) for each in plan.references]
    value = {"engine": plan.job.choice.engine, "statement": plan.statement.text, "references": references}
    rows: list[tuple[object, ...]] = [("engine", plan.job.choice.engine), ("statement", plan.statement.text)]
    for each in references:
        rows += [("", ""), *((name, found) for name, found in each.items() if found not in (None, []))]
    render.show(value, _of_plan(wanted), table=Table(("PLAN", "VALUE"), rows))


def _of_plan(wanted: str) -> Output:
    return {"json": Output.JSON, "jsonl": Output.JSONL}.get(wanted, Output.TABLE)


def _explained(of: "PlannedReference") -> dict[str, Any]:
    return {
        "relation": of.reference.relation,
        "topic": of.reference.topic,
        "columns": list(of.table.columns),
        **_bounds(of.reference.conditions),
        "ledgers": len({(part.topic, part.ledger_id) for part in of.parts}),
        "entries": of.entries,
        "bytes": of.size,
        "tasks": len(of.parts),
    }


def _bounds(of: "Conditions") -> dict[str, Any]:
    low, high = of.publish_time.low, of.publish_time.high
    return {
        "publishedFrom": None if low is None else utc(low),
        "publishedUntil": None if high is None else utc(high),
        "ledgersFrom": of.ledger_id.low,
        "ledgersUntil": of.ledger_id.high,
        "entriesFrom": of.entry_id.low,
        "entriesUntil": of.entry_id.high,
        "partitions": None if of.partitions is None else sorted(of.partitions),
        "partitionsFrom": of.partition.low,
        "partitionsUntil": of.partition.high,
    }
