"""`ops export` and `ops import`: topics to files, and files to topics."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.backlog.engine import Engine
from pulsarctl.errors import Conflict
from pulsarctl.output.render import Progress, Table
from pulsarctl.shell.arguments import Topic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import monotonic, pause
from pulsarctl.values.names import full_topic
from pulsarctl.values.quantities import human_size, parse_size
from pulsarctl.verbs.spark_options import Conf, EngineOption, LocalMax, Master, SparkSubmit, show_spark_submit

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.transfer.import_progress import ImportProgress
    from pulsarctl.transfer.imported_rows import ImportSource
    from pulsarctl.transfer.row_sender import RowSender
    from pulsarctl.verbs.export_plan import ExportPlan

Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Directory that gets the files.")]
Source = Annotated[Path, typer.Argument(metavar="PATH", help="Exported directory, any other directory, or one file.")]
Format = Annotated[str, typer.Option("-f", "--format", metavar="FORMAT", help="Format: parquet, jsonl, csv, or avro.")]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "-f", "--format", metavar="FORMAT", help="Format of the files. Default: by the ending of their names."
    ),
]
Start = Annotated[
    str, typer.Option("--start", metavar="POSITION", help="First message: earliest, LEDGER:ENTRY, or @TIME.")
]
End = Annotated[str, typer.Option("--end", metavar="POSITION", help="Last message: latest, LEDGER:ENTRY, or @TIME.")]
ByOption = Annotated[
    str, typer.Option("--by", metavar="HOW", help="Files by day (publish time, UTC), by key, or none.")
]
KeyGroups = Annotated[int, typer.Option("--key-groups", min=1, max=999, help="Number of groups for --by key.")]
Typed = Annotated[
    bool, typer.Option("--typed", help="Decode values by their schemas (parquet and jsonl). Default: bytes as stored.")
]
Incremental = Annotated[
    bool, typer.Option("--incremental", help="Add what was published since the last export to this directory.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Delete an earlier export in this directory first.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, and exit.")]
Rate = Annotated[float, typer.Option("-r", "--rate", min=0, help="Maximum messages per second; 0 is no limit.")]
NoSchema = Annotated[bool, typer.Option("--no-schema", help="Send values without the schemas of the export.")]
RecordSchema = Annotated[
    str, typer.Option("--record-schema", metavar="KIND", help="Encode typed records as json or avro.")
]
Again = Annotated[bool, typer.Option("--again", help="Import data that was imported into this topic before.")]


def install_transfer(noun: Noun) -> None:
    noun.verb("export")(export)
    noun.verb("import")(import_)


def export(
    call: Call,
    topic: Topic,
    directory: Directory,
    format: Format = "parquet",
    start: Start = "earliest",
    end: End = "latest",
    by: ByOption = "none",
    key_groups: KeyGroups = 16,
    typed: Typed = False,
    incremental: Incremental = False,
    overwrite: Overwrite = False,
    engine: EngineOption = Engine.AUTO,
    local_max: LocalMax = "64M",
    master: Master = "local[*]",
    conf: Conf = None,
    dry_run: DryRun = False,
    spark_submit: SparkSubmit = False,
) -> None:
    """Write the messages of a topic to files: Parquet, JSON lines, CSV, or Avro.

    Files appear whole, and _export.json, which names them, comes last. With --incremental, each run adds what was
    published since the run before. The command acknowledges nothing, and ends with the last message that existed when
    it started. Large topics are read on Spark.

    Example: pulsarctl ops export shop/orders ./orders --format parquet --by day --incremental
    """
    from pulsarctl.verbs import export_plan

    if spark_submit:
        show_spark_submit(master, pairs(conf), "--engine", "spark")
        return
    request = export_plan.ExportRequest(
        topic=full_topic(topic),
        directory=directory.expanduser().absolute(),
        format=export_plan.format_named(format),
        start=start,
        end=end,
        by=export_plan.by_named(by),
        key_groups=key_groups,
        typed=typed,
        incremental=incremental,
        overwrite=overwrite,
        engine=engine,
        local_bytes_max=parse_size(local_max),
        master=master,
        spark_settings=pairs(conf),
    )
    plan = export_plan.plan(call, request)
    if dry_run:
        _show_plan(call, plan)
        return
    for text in plan.notices:
        call.notice(text)
    written = export_plan.run(call, plan)
    value = {
        "topic": request.topic,
        "directory": str(request.directory),
        "messages": sum(each.rows for each in written),
        "files": len(written),
        "bytes": sum(each.bytes for each in written),
        "engine": plan.choice.engine,
    }
    call.show(value, _two_columns("EXPORT", value))


def import_(
    call: Call,
    source: Source,
    topic: Topic,
    format: InputFormat = None,
    rate: Rate = 0,
    no_schema: NoSchema = False,
    record_schema: RecordSchema = "json",
    again: Again = False,
    dry_run: DryRun = False,
) -> None:
    """Send the messages of files to a topic, with keys, properties, event times, and the order of each key.

    The files are those of ops export, or others with a column value and optionally key, properties, event_time, and
    more. A command that was interrupted continues when it is run again. Where the topic deduplicates, it then sends no
    message twice; elsewhere, up to 5,000 messages may be sent twice.

    Example: pulsarctl ops import ./orders shop/orders-copy
    """
    from pulsarctl.transfer import import_progress
    from pulsarctl.transfer.file_formats import FileFormat
    from pulsarctl.transfer.imported_rows import import_source
    from pulsarctl.verbs.export_plan import format_named, require_arrow

    require_arrow()
    name = full_topic(topic)
    found = import_source(source.expanduser())
    if no_schema:
        found = replace(found, schemas={})
    file = import_progress.file_for(os.environ, call.settings.service_url, name, found.id)
    before = import_progress.load(file)
    if again:
        before = import_progress.ImportProgress(attempt=before.attempt + 1)
    elif before.done and (found.rows or 0) <= before.rows:  # an incremental export may have more by now
        raise Conflict(f"{source} is already imported into {name}", hint="send it once more with --again")
    if dry_run:
        value = {"topic": name, "files": len(found.files), "messages": found.rows, "continuesAfter": before.rows}
        call.show(value, _two_columns("PLAN", value))
        return
    wanted: FileFormat | None = None if format is None else format_named(format)
    sender = _send(call, name, found, wanted, record_schema, rate, before, file)
    value = {"topic": name, "messages": sender.row, "sent": sender.sent, "storedBefore": sender.row - sender.sent}
    call.show(value, _two_columns("IMPORT", value))


def _send(
    call: Call,
    topic: str,
    source: "ImportSource",
    wanted: Any,
    record_schema: str,
    rate: float,
    before: "ImportProgress",
    file: Path,
) -> "RowSender":
    """Sends everything that is not stored yet, and keeps the progress."""
    from pulsarctl.transfer import import_progress
    from pulsarctl.transfer.row_sender import RowSender
    from pulsarctl.verbs.on_spark import access

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    name = f"import-{source.id}-{before.attempt}"
    sender = RowSender(
        access(call), topic, name, schemas=source.schemas, record_schema=record_schema, after=before.rows
    )
    import_progress.save(file, before)
    started, kept = monotonic(), before.rows
    with sender:
        for path in source.files:
            for rows in _slices(source.read(path, wanted), rate):
                sender.send(rows)
                _keep_to(rate, sender.sent, started)
                progress.show(f"{sender.row:,} messages")
                if sender.stored > kept:
                    kept = sender.stored
                    import_progress.save(file, replace(before, rows=kept))
            sender.flush()
    import_progress.save(file, replace(before, rows=sender.row, done=True))
    progress.clear()
    return sender


def _slices(batches: "Iterable[pa.RecordBatch]", rate: float) -> "Iterator[pa.RecordBatch]":
    """A tenth of a second's worth at once."""
    rows = max(int(rate / 10), 1) if rate else 5000
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _keep_to(rate: float, sent: int, started: float) -> None:
    """Waits until `sent` messages are not more than `rate` for each second since the start."""
    if rate and (early := started + sent / rate - monotonic()) > 0:
        pause(early)


def _show_plan(call: Call, plan: "ExportPlan") -> None:
    value: dict[str, Any] = {
        "engine": plan.choice.engine,
        "partitions": len({part.topic for part in plan.parts}),
        "ledgers": len({(part.topic, part.ledger_id) for part in plan.parts}),
        "entries": sum(part.entries for part in plan.parts),
        "bytes": sum(part.size for part in plan.parts),
        "tasks": len(plan.parts),
        "run": plan.layout.run,
    }
    call.show(value, _two_columns("PLAN", value))


def _two_columns(heading: str, value: dict[str, Any]) -> Table:
    rows = [(name, human_size(found) if name == "bytes" else found) for name, found in value.items()]
    return Table((heading, "VALUE"), rows)
