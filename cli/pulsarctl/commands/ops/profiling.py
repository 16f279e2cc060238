"""`ops profile`: statistics of the values in each column of a topic."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.commands.ops.job import Job, Where, facts, show_plan
from pulsarctl.commands.ops.range_options import End, FullScan, ShowReading, Start
from pulsarctl.commands.ops.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.output.render import Table
from pulsarctl.shell.arguments import AnyTopic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import readable_topic

if TYPE_CHECKING:
    from pulsarctl.tables.topic_table import TopicTable

CELL_CHARACTERS = 24

Columns = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="COLUMN,...",
        help="Columns to profile. Default: key, producer, publish_time, event_time, value_size, and the value.",
    ),
]


def install_profile(noun: Noun) -> None:
    noun.verb("profile")(profile)


def profile(
    call: Call,
    topic: AnyTopic,
    columns: Columns = "",
    start: Start = "earliest",
    end: End = "latest",
    full_scan: FullScan = False,
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: ShowReading = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Show statistics of the values in each column of a topic.

    For each column and each field of the value: NULLs, distinct values, minimum, maximum, mean, quantiles, and the most
    frequent values. The numbers are exact for small topics and close estimates for large ones; JSON output says which.
    The command acknowledges nothing. Large topics are read on Spark.

    Example: pulsarctl ops profile shop/eu/orders --columns key,value -o json
    """
    from pulsarctl.commands.ops.export_plan import require_arrow

    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    require_arrow("profile a topic")
    from pulsarctl.profiling.profile import Profiling, merged, report

    table = _table(call, readable_topic(topic), columns, start, end, full_scan=full_scan)
    parts = table.plan()
    job = Job.reading("profile", Where.given(engine, local_max, master, conf), parts)
    if dry_run:
        show_plan(call, facts(job, parts))
        return
    found = report(merged(job.work_on(call, Profiling(table), parts)))
    call.show(found, _table_of(found))


def _table(call: Call, topic: str, columns: str, start: str, end: str, *, full_scan: bool) -> "TopicTable":
    from pulsarctl.commands.ops.on_spark import access
    from pulsarctl.profiling.profile import DEFAULT_COLUMNS
    from pulsarctl.tables.options import TableOptions
    from pulsarctl.tables.topic_table import TopicTable

    wanted = columns or ",".join((*DEFAULT_COLUMNS, "value"))
    options = TableOptions.parse({"topic": topic, "columns": wanted, "start": start, "end": end})
    return TopicTable.open(replace(options, access=access(call), full_scan=full_scan))


def _table_of(found: list[dict[str, Any]]) -> Table:
    heading = ("COLUMN", "ROWS", "NULLS", "DISTINCT", "MIN", "MEDIAN", "MAX", "MOST FREQUENT")
    return Table(heading, [_row(each) for each in found])


def _row(of: dict[str, Any]) -> tuple[object, ...]:
    about = "" if of["distinctIsExact"] else "~"
    top = of["top"][0] if of["top"] and of["top"][0]["count"] > 1 else None
    frequent = None if top is None else f"{_short(top['value'])} ({top['share']:.0%})"
    middle = (of["quantiles"] or {}).get("p50")
    spans = (_short(of["min"]), _short(middle), _short(of["max"]))
    return (of["column"], of["rows"], of["nulls"], f"{about}{of['distinct']}", *spans, frequent)


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"
