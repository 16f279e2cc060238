"""`ops export`: topics to files."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.commands.ops.job import Where, facts, show_plan
from pulsarctl.commands.ops.range_options import AllowLoss, End, FullScan, ShowPlan, Start
from pulsarctl.commands.ops.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit
from pulsarctl.commands.ops.transfer_summary import summary, tell_left_out, tell_undecoded
from pulsarctl.errors import CliError
from pulsarctl.shell.arguments import AnyTopic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import choice
from pulsarctl.values.names import readable_topic

if TYPE_CHECKING:
    from pulsarctl.commands.ops.export_plan import ExportRequest
    from pulsarctl.transfer.places import Place

Directory = Annotated[
    str,
    typer.Argument(
        metavar="DIRECTORY|URI",
        help="Directory that gets the files, or s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, or abfss://...",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT",
        autocompletion=choice("parquet", "jsonl", "csv", "avro"),
        help="Format: parquet, jsonl, csv, or avro.",
    ),
]
ByOption = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="HOW",
        autocompletion=choice("day", "key", "none"),
        help="How to split files: day (publish time, UTC), key, or none.",
    ),
]
KeyGroups = Annotated[int, typer.Option("--key-groups", min=1, max=999, help="Number of groups for --by key.")]
Typed = Annotated[
    bool, typer.Option("--typed", help="Decode values by their schemas (parquet and jsonl). Default: bytes as stored.")
]
Incremental = Annotated[
    bool, typer.Option("--incremental", help="Add what was published since the last export to this directory.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete an earlier export in this directory first.")]


def install_export(noun: Noun) -> None:
    noun.verb("export")(export)


def export(
    call: Call,
    topic: AnyTopic,
    directory: Directory,
    format: Format = "parquet",
    start: Start = "earliest",
    end: End = "latest",
    full_scan: FullScan = False,
    by: ByOption = "none",
    key_groups: KeyGroups = 16,
    typed: Typed = False,
    incremental: Incremental = False,
    allow_loss: AllowLoss = False,
    overwrite: Overwrite = False,
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: ShowPlan = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Write the messages of a topic to files: Parquet, JSON lines, CSV, or Avro.

    A file appears when it is complete, and _export.json, which lists the files, is written last. With --incremental,
    each run adds what was published since the previous run, and fails if messages may have been trimmed since. The
    command acknowledges nothing, and ends with the last message that existed when it started. Large topics are read on
    Spark, whose executors write to an object store in parallel.

    Example: pulsarctl ops export shop/eu/orders ./orders --format parquet --by day --incremental
    """
    from pulsarctl.commands.ops import export_plan

    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    request = export_plan.ExportRequest(
        topic=readable_topic(topic),
        place=export_plan.place_named(directory),
        format=export_plan.format_named(format),
        start=start,
        end=end,
        full_scan=full_scan,
        by=export_plan.by_named(by),
        key_groups=key_groups,
        typed=typed,
        incremental=incremental,
        allow_loss=allow_loss,
        overwrite=overwrite,
    )
    where = Where.given(engine, local_max, master, conf)
    if dry_run:
        plan = export_plan.plan(call, request, where)
        show_plan(call, facts(plan.job, plan.parts) | {"run": plan.layout.run})
    else:
        _export(call, request, where)


def _export(call: Call, request: "ExportRequest", where: Where) -> None:
    from pulsarctl.commands.ops import export_plan

    with _alone(request.place):  # before the plan, which continues what is there
        plan = export_plan.plan(call, request, where)
        written = export_plan.run(call, plan)
    left_out = tell_left_out(call, written.left_out)
    tell_undecoded(call, written.undecoded)
    value = {
        "topic": request.topic,
        "directory": request.place.describe(),
        "messages": sum(each.rows for each in written.files),
        **left_out,
        "files": len(written.files),
        "bytes": sum(each.bytes for each in written.files),
        "engine": plan.job.choice.engine,
    }
    call.show(value, summary("EXPORT", value))


@contextmanager
def _alone(place: "Place") -> Iterator[None]:
    """No other export of this machine writes there meanwhile. Raises `Conflict`, or `CliError`."""
    from pulsarctl.transfer.places import reason_of

    with ExitStack() as lock:
        try:
            lock.enter_context(place.alone())
        except OSError as error:
            raise CliError(f"cannot export to {place.describe()}: {reason_of(error)}") from error
        yield
