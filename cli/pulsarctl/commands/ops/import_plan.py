"""Plans and runs `ops import`: what is sent, how far it has come, and which engine does it."""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pulsarctl.backlog.engine import Engine, EngineChoice
from pulsarctl.commands.ops.job import Job, Where
from pulsarctl.commands.ops.on_spark import access
from pulsarctl.commands.ops.one_transaction import one_transaction
from pulsarctl.errors import CannotConnect, Conflict, NotAuthorized, NotFound, TimedOut, UsageProblem
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.values.quantities import human_size

if TYPE_CHECKING:
    from pyspark import SparkContext

    from pulsarctl.tables.access import Access
    from pulsarctl.transfer.file_formats import FileFormat
    from pulsarctl.transfer.import_progress import ImportProgress
    from pulsarctl.transfer.imported_rows import ImportSource
    from pulsarctl.transfer.target import Target
    from pulsarctl.transfer.transaction_sender import TransactionSender

SPARK_SETTINGS = {"spark.speculation": "false"}
"""A second attempt beside the first would wait for the name of its producer."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What the command line asks for."""

    source: "ImportSource"
    topic: str
    format: "FileFormat | None"
    rate: float
    record_schema: str
    again: bool


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """`file` keeps the progress, and `before` is what it says. The job reads the files that are left."""

    request: ImportRequest
    file: Path
    before: "ImportProgress"
    job: Job


@dataclass(frozen=True, slots=True)
class Imported:
    """`messages` are those of all runs, and `sent` those of this run."""

    messages: int
    sent: int


def alone(call: Call, request: ImportRequest) -> AbstractContextManager[None]:
    """Raises `Conflict` if another process sends the same data to the same topic."""
    from pulsarctl.transfer.only_run import only_run

    return only_run(_file(call, request), f"import {request.source.place.describe()} into {request.topic}")


def _file(call: Call, request: ImportRequest) -> Path:
    from pulsarctl.transfer import import_progress

    return import_progress.file_for(os.environ, call.settings.service_url, request.topic, request.source.id)


def plan(call: Call, request: ImportRequest, where: Where) -> ImportPlan:
    """Raises `Conflict` for data that was imported before, and `CliError` without Spark where it is asked for."""
    from pulsarctl.transfer import import_progress

    source = request.source
    file = _file(call, request)
    if not file.exists():
        file = import_progress.file_of_same(file, request.topic, source.id, lambda: _created(call, request.topic))
    before = _before(file, request)
    size = sum(source.sizes[before.files :])
    rows = max((source.rows or 0) - before.stored, 0)
    return ImportPlan(request, file, before, _job(call, request.topic, where, rows, size))


def _created(call: Call, topic: str) -> dict[str, str]:
    """When the partitions that exist were created. Empty if the admin API does not tell."""
    from pulsarctl.tables.same_topic import created_at

    try:
        return created_at(call.admin, call.admin.topics.parts(topic), must_tell=False) or {}
    except (NotFound, NotAuthorized, CannotConnect, TimedOut):
        return {}


def partitions(call: Call, topic: str) -> int:
    """The number of senders. A topic that does not exist counts as one partition."""
    try:
        return len(call.admin.topics.parts(topic))
    except NotFound:
        return 1


def run(call: Call, planned: ImportPlan) -> Imported:
    """Sends everything that is not stored yet, and keeps the progress. Raises `CliError`."""
    from pulsarctl.transfer import import_progress

    target = target_of(access(call), planned)
    begun = _begun(call, planned, target)
    import_progress.save(begun.file, begun.before)
    return planned.job.run(
        call,
        lambda progress: send_locally(begun, target, progress),
        lambda context, progress: send_on_spark(context, begun, target, progress),
    )


def run_together(call: Call, planned: ImportPlan, ttl: str) -> Imported:
    """Sends all in one transaction. Nothing is kept before its commit: an aborted import starts over."""
    from pulsarctl.transfer import import_progress

    if planned.before.partitions and not planned.before.done:
        raise UsageProblem(
            "cannot continue an interrupted import in a transaction, because some messages are already published",
            hint="run it without --transaction, or add --again to start over",
        )
    target = target_of(access(call), planned)
    begun = _begun(call, planned, target)
    progress = Progress(quiet=call.settings.quiet)
    with one_transaction(call, target, ttl) as sender:
        _send_files(begun, sender, progress)
    progress.clear()
    come = begun.before.after(len(planned.request.source.files), begun.before.messages + sender.sent)
    import_progress.save(begun.file, come.ended())
    return Imported(come.messages, sender.sent)


def _send_files(planned: ImportPlan, sender: "TransactionSender", progress: Progress) -> None:
    from pulsarctl.transfer.pace import Pace, slices

    request = planned.request
    pace = Pace(request.rate)
    for name in request.source.files[planned.before.files :]:
        for rows in slices(request.source.read(name, request.format, in_transaction=True), request.rate):
            with request.source.naming(name):
                sender.send(rows)
            pace.keep(sender.sent)
            progress.show(f"{sender.sent:,} messages")
        sender.end_file()


def _begun(call: Call, planned: ImportPlan, target: "Target") -> ImportPlan:
    """With rows that may be stored."""
    from pulsarctl.transfer.created_topics import target_created_at

    created = target_created_at(call.admin, target, must_tell=bool(planned.before.created))
    before = planned.before.begun(planned.request.topic, len(target.partitions), created)
    return replace(planned, before=replace(before, topic=planned.request.topic, source=planned.request.source.id))


def _before(file: Path, request: ImportRequest) -> "ImportProgress":
    from pulsarctl.transfer import import_progress

    if request.again:
        return import_progress.restarted(file, now_ms())
    before = import_progress.load(file)
    if before.done and len(request.source.files) <= before.files:  # an incremental export may have more by now
        raise Conflict(
            f"{request.source.place.describe()} is already imported into {request.topic}",
            hint="send it once more with --again",
        )
    return before


def _job(call: Call, topic: str, where: Where, rows: int, size: int) -> Job:
    """A partition has one sender, so Spark gains nothing if there is only one."""
    where = replace(where, settings={**where.settings, **SPARK_SETTINGS})
    job = Job.choose("import", where, rows, size, doing=f"sends {human_size(size)}")
    local = EngineChoice(Engine.LOCAL)
    if where.engine is Engine.AUTO and job.choice != local and partitions(call, topic) == 1:
        return replace(job, choice=local)
    return job


def target_of(where: "Access", planned: ImportPlan) -> "Target":
    """Creates the topic if the broker does so for clients."""
    from pulsarctl.transfer.target import CHECKPOINT_ROWS, Target, partitions_of

    request = planned.request
    names = partitions_of(where, request.topic)
    return Target(
        access=where,
        topic=request.topic,
        partitions=names,
        producer=f"import-{request.source.id}-{planned.before.attempt}",
        schemas=request.source.schemas,
        record_schema=request.record_schema,
        checkpoint_rows=CHECKPOINT_ROWS * len(names),
    )


def send_locally(planned: ImportPlan, target: "Target", progress: Progress) -> Imported:
    from pulsarctl.transfer import import_progress
    from pulsarctl.transfer.pace import Pace, slices
    from pulsarctl.transfer.row_sender import RowSender

    request, come = planned.request, planned.before
    pace = Pace(request.rate)
    with RowSender(target, file=come.files, after=come.row) as sender:
        for name in request.source.files[come.files :]:
            for rows in slices(request.source.read(name, request.format), request.rate):
                with request.source.naming(name):
                    sender.send(rows)
                pace.keep(sender.sent)
                progress.show(f"{come.messages + sender.row:,} messages")
                if sender.stored > come.row:
                    come = come.in_file(sender.stored)
                    import_progress.save(planned.file, come)
            come = come.after(come.files + 1, come.messages + sender.row)
            sender.end_file()
            import_progress.save(planned.file, come)
    import_progress.save(planned.file, come.ended())
    return Imported(come.messages, sender.sent)


def send_on_spark(context: "SparkContext", planned: ImportPlan, target: "Target", progress: Progress) -> Imported:
    """The progress is that of whole waves of files."""
    from pulsarctl.spark.jobs.imports import run_spark
    from pulsarctl.transfer import import_progress
    from pulsarctl.transfer.routed_rows import RouteFile, SendBlocks, waves

    request, come, sent = planned.request, planned.before, 0
    route = RouteFile(request.source, request.format, target, come.files, come.row)
    send = SendBlocks(target, request.rate / len(target.partitions))
    for wave in waves(request.source.sizes, come.files):
        label = f"{come.stored:,} messages, files {wave.start + 1} to {wave.stop} of {len(request.source.files)}"
        done = run_spark(context, route, send, wave, partial(_tell, progress, label))
        come = come.after(wave.stop, come.stored + done.rows)
        sent += done.sent
        import_progress.save(planned.file, come)
    import_progress.save(planned.file, come.ended())
    return Imported(come.messages, sent)


def _tell(progress: Progress, label: str, done: int) -> None:
    progress.show(f"{label}: {done} tasks done")
