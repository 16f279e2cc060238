"""`ops import`: files to topics."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.errors import Conflict
from pulsarctl.output.render import Progress
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import monotonic, pause
from pulsarctl.values.names import full_topic
from pulsarctl.verbs.range_options import ShowPlan
from pulsarctl.verbs.transfer_summary import summary

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.transfer.import_progress import ImportProgress
    from pulsarctl.transfer.imported_rows import ImportSource
    from pulsarctl.transfer.row_sender import RowSender

Source = Annotated[
    str,
    typer.Argument(metavar="PATH|URI", help="Exported directory, any other directory, or one file; or its URI."),
]
InputFormat = Annotated[
    str | None,
    typer.Option(
        "-f", "--format", metavar="FORMAT", help="Format of the files. Default: by the ending of their names."
    ),
]
Rate = Annotated[float, typer.Option("-r", "--rate", min=0, help="Maximum messages per second; 0 is no limit.")]
NoSchema = Annotated[bool, typer.Option("--no-schema", help="Send values without the schemas of the export.")]
RecordSchema = Annotated[
    str, typer.Option("--record-schema", metavar="KIND", help="Encode typed records as json or avro.")
]
Again = Annotated[bool, typer.Option("--again", help="Import data that was imported into this topic before.")]


def install_import(noun: Noun) -> None:
    noun.verb("import")(import_)


def import_(
    call: Call,
    source: Source,
    topic: Topic,
    format: InputFormat = None,
    rate: Rate = 0,
    no_schema: NoSchema = False,
    record_schema: RecordSchema = "json",
    again: Again = False,
    dry_run: ShowPlan = False,
) -> None:
    """Send the messages of files to a topic, with keys, properties, event times, and the order of each key.

    The files are those of ops export, or others with a column value and optionally key, properties, event_time, and
    more, in a directory or in an object store. A command that was interrupted continues when it is run again. Where the
    topic deduplicates, it then sends no message twice; elsewhere, up to 5,000 messages may be sent twice.

    Example: pulsarctl ops import ./orders shop/orders-copy
    """
    from pulsarctl.transfer import import_progress
    from pulsarctl.transfer.file_formats import FileFormat
    from pulsarctl.transfer.imported_rows import import_source
    from pulsarctl.verbs.export_plan import format_named, require_arrow

    require_arrow()
    name = full_topic(topic)
    found = import_source(source)
    if no_schema:
        found = replace(found, schemas={})
    file = import_progress.file_for(os.environ, call.settings.service_url, name, found.id)
    before = import_progress.load(file)
    if again:
        before = import_progress.ImportProgress(attempt=before.attempt + 1)
    elif before.done and (found.rows or 0) <= before.rows:  # an incremental export may have more by now
        raise Conflict(
            f"{found.place.describe()} is already imported into {name}", hint="send it once more with --again"
        )
    if dry_run:
        value = {"topic": name, "files": len(found.files), "messages": found.rows, "continuesAfter": before.rows}
        call.show(value, summary("PLAN", value))
        return
    wanted: FileFormat | None = None if format is None else format_named(format)
    sender = _send(call, name, found, wanted, record_schema, rate, before, file)
    value = {"topic": name, "messages": sender.row, "sent": sender.sent, "storedBefore": sender.row - sender.sent}
    call.show(value, summary("IMPORT", value))


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
