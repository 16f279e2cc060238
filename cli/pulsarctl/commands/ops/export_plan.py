"""Plans and runs `ops export`: what is read, where it goes, and which engine does it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pulsarctl.commands.ops.job import Job, Where
from pulsarctl.commands.ops.on_spark import access
from pulsarctl.errors import CliError, Conflict, NotFound, UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.values.choice import one_of
from pulsarctl.values.clock import now_ms
from pulsarctl.values.extras import require

if TYPE_CHECKING:
    from pulsarctl.tables.data_loss import LeftOut
    from pulsarctl.tables.ledger_ranges import LedgerRange
    from pulsarctl.tables.options import TableOptions
    from pulsarctl.tables.plan import TopicSnapshot
    from pulsarctl.tables.topic_table import TopicTable
    from pulsarctl.transfer.exporting import Written
    from pulsarctl.transfer.file_formats import FileFormat
    from pulsarctl.transfer.manifest import Manifest
    from pulsarctl.transfer.part_files import By, FileFacts, Layout
    from pulsarctl.transfer.places import Place


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What the command line asks for."""

    topic: str
    place: "Place"
    format: "FileFormat"
    start: str
    end: str
    full_scan: bool
    by: "By"
    key_groups: int
    typed: bool
    incremental: bool
    allow_loss: bool
    overwrite: bool


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """`before` is the export that this run adds to."""

    request: ExportRequest
    table: "TopicTable"
    layout: "Layout"
    parts: "Sequence[LedgerRange]"
    job: Job
    before: "Manifest | None"
    created: dict[str, str]
    snapshot: "TopicSnapshot"
    gone: "Sequence[str]"


def format_named(text: str) -> "FileFormat":
    require_arrow("export")
    from pulsarctl.transfer.file_formats import FileFormat

    return FileFormat(one_of(text, FileFormat, "format"))


def place_named(text: str) -> "Place":
    require_arrow("export")
    from pulsarctl.transfer.places import Directory, place_at

    place = place_at(text)
    if isinstance(place, Directory) and place.path.exists() and not place.path.is_dir():
        raise Conflict(f"cannot export to {place.path}: it is not a directory")
    return place


def by_named(text: str) -> "By":
    from pulsarctl.transfer.part_files import By

    return By(one_of(text, By, "value of --by"))


def require_arrow(action: str) -> None:
    """`action` is for the error: "profile a topic"."""
    require(action, "pyarrow", "numpy")


def plan(call: Call, request: ExportRequest, where: Where) -> ExportPlan:
    """Asks the admin API. Raises `NotFound`, `Conflict`, `UsageProblem`."""
    from pulsarctl.tables.bound_options import fixed
    from pulsarctl.tables.data_loss import gone_between
    from pulsarctl.tables.plan import TopicSnapshot
    from pulsarctl.tables.segment_history import gone_segments
    from pulsarctl.tables.topic_table import TopicTable
    from pulsarctl.transfer.part_files import Layout

    before = _before(request)
    request = replace(request, start=fixed("start", request.start, now_ms()))
    table = TopicTable.open(_options(call, request, before))
    snapshot = TopicSnapshot()
    parts = table.plan(snapshot)
    created = _check_same(call, request, before, snapshot)
    job = Job.reading("export", where, parts)
    vanished = () if before is None else gone_segments(before.known, before.ended, snapshot.known)
    gone = gone_between(snapshot.known, _read(before), vanished, _adding_to(request), allowed=request.allow_loss)
    run = 0 if before is None else before.runs
    layout = Layout(request.place, request.format, request.by, request.key_groups, run)
    return ExportPlan(request, table, layout, parts, job, before, created, snapshot, gone)


def run(call: Call, planned: ExportPlan) -> "Written":
    """Writes the files of this run, and then the state file. Raises `CliError`."""
    from pulsarctl.transfer import manifest
    from pulsarctl.transfer.exporting import Export, Written, in_order

    _clear(planned)
    written = planned.job.work_on(call, Export(planned.table, planned.layout), list(enumerate(planned.parts)))
    files = in_order(written)
    manifest.save(planned.request.place, _after(call, planned, files))
    return Written(files, _left_out(planned, written), sum(part.undecoded for part in written))


def _clear(planned: ExportPlan) -> None:
    """Deletes the files of an export that did not end, or all that are replaced."""
    from pulsarctl.transfer import manifest
    from pulsarctl.transfer.places import reason_of

    place = planned.request.place
    try:
        if planned.before is not None:
            manifest.remove_leftovers(place, planned.before)
        else:
            manifest.clear(place)
    except OSError as error:
        raise CliError(f"cannot write to {place.describe()}: {reason_of(error)}") from error


def _left_out(planned: ExportPlan, written: "Sequence[Written]") -> "LeftOut":
    from pulsarctl.tables.data_loss import LeftOut

    left_out = LeftOut()
    left_out.gone += planned.gone
    for part in written:
        left_out.add(part.left_out)
    return left_out


def _before(request: ExportRequest) -> "Manifest | None":
    """The export to add to. Raises `Conflict` for a place that must not be written to.

    The files of an export that did not end are no reason: the next one deletes them.
    """
    from pulsarctl.transfer import manifest

    names = _names(request.place)
    if request.overwrite:
        return None
    existing = manifest.load(request.place)
    if existing is None:
        _check_empty(request.place, names)
    else:
        _check_continues(request, existing)
    return existing


def _names(place: "Place") -> "Sequence[str]":
    from pulsarctl.transfer.places import reason_of

    try:
        return place.names()
    except OSError as error:
        raise CliError(f"cannot export to {place.describe()}: {reason_of(error)}") from error


def _check_empty(place: "Place", names: "Sequence[str]") -> None:
    from pulsarctl.transfer import manifest

    if foreign := manifest.foreign_files(names):
        raise Conflict(
            f"cannot export to {place.describe()}: it has {foreign[0]}, which is not part of an export",
            hint="choose another directory",
        )


def _check_continues(request: ExportRequest, existing: "Manifest") -> None:
    if not request.incremental:
        raise Conflict(
            f"cannot export to {request.place.describe()}: it has an export of {existing.topic}",
            hint="use --incremental to add to it, or --overwrite to replace it",
        )
    _check_layout(request, existing)


def _check_layout(request: ExportRequest, existing: "Manifest") -> None:
    wanted = (request.topic, request.format, request.by, "auto" if request.typed else "raw", request.key_groups)
    there = (existing.topic, existing.format, existing.by, existing.decode, existing.key_groups)
    names = ("topic", "format", "--by", "--typed", "--key-groups")
    for name, new, old in zip(names, wanted, there, strict=True):
        if new != old:
            raise Conflict(f"cannot add to the export in {request.place.describe()}: its {name} is {old}, not {new}")
    if existing.next is None:
        raise Conflict(
            f"cannot add to the export in {request.place.describe()}: it ended at --end, so what follows is not known",
            hint="choose another directory",
        )


def _options(call: Call, request: ExportRequest, before: "Manifest | None") -> "TableOptions":
    from pulsarctl.tables.bound_options import start_of
    from pulsarctl.tables.options import TableOptions
    from pulsarctl.transfer.exporting import columns
    from pulsarctl.transfer.file_formats import FileFormat

    if request.typed and request.format in (FileFormat.CSV, FileFormat.AVRO):
        raise UsageProblem(
            f"cannot write typed values as {request.format}", hint="use parquet or jsonl, or omit --typed"
        )
    if request.incremental and request.end != "latest":
        raise UsageProblem("cannot combine --incremental and --end", hint="omit --end")
    options = {
        "topic": request.topic,
        "start": _start(call, request, before),
        "end": request.end,
        "columns": ",".join(columns(typed=request.typed)),
        "decode": "auto" if request.typed else "raw",
        "tasks_min": "1",
        "fail_on_data_loss": "false" if request.allow_loss else "true",
    }
    begin = None if before is None else start_of("start", before.start or request.start)
    return replace(TableOptions.parse(options), access=access(call), begin=begin, full_scan=request.full_scan)


def _start(call: Call, request: ExportRequest, before: "Manifest | None") -> str:
    from pulsarctl.admin.parts import part_names
    from pulsarctl.tables.bound_options import continued

    if before is None:
        return request.start
    return continued(before.start or request.start, before.next or {}, part_names(call.admin, request.topic))


def _check_same(
    call: Call, request: ExportRequest, before: "Manifest | None", snapshot: "TopicSnapshot"
) -> dict[str, str]:
    """When the partitions were created. Raises `Conflict` if the next positions are not those of the topic."""
    from pulsarctl.tables.same_topic import check_same

    created = before.created if before is not None else {}
    hint = "choose another directory, or use --overwrite"
    return check_same(call.admin, snapshot, _read(before), created, _adding_to(request), hint)


def _adding_to(request: ExportRequest) -> str:
    return f"add to the export in {request.place.describe()}"


def _read(before: "Manifest | None") -> dict[str, tuple[int, int]]:
    """The last entry that was read, by partition."""
    if before is None:
        return {}
    positions = {topic: position.partition(":") for topic, position in (before.next or {}).items()}
    return {topic: (int(ledger), int(entry) - 1) for topic, (ledger, _, entry) in positions.items()}


def _after(call: Call, planned: ExportPlan, files: "Sequence[FileFacts]") -> "Manifest":
    from pulsarctl.tables.segment_history import still_there
    from pulsarctl.transfer.manifest import Manifest, new_id

    request, before = planned.request, planned.before
    ended = request.end != "latest"
    return Manifest(
        id=before.id if before else new_id(),
        topic=request.topic,
        format=request.format,
        by=request.by,
        decode="auto" if request.typed else "raw",
        key_groups=request.key_groups,
        runs=planned.layout.run + 1,
        rows=sum(each.rows for each in files) + (before.rows if before else 0),
        next=None if ended else _next(planned),
        schemas=schemas_of(call, request.topic),
        files=[*(before.files if before else ()), *files],
        created=still_there(planned.created, planned.snapshot.known),
        ended=sorted(planned.snapshot.sealed),
        start=(before.start if before else "") or request.start,
    )


def _next(planned: ExportPlan) -> dict[str, str]:
    from pulsarctl.tables.segment_history import still_there
    from pulsarctl.transfer.exporting import next_positions

    before = still_there((planned.before.next if planned.before else None) or {}, planned.snapshot.known)
    return next_positions(before, planned.snapshot, planned.table.options.start, now_ms())


def schemas_of(call: Call, topic: str) -> dict[str, dict[str, Any]]:
    """The schema of each version, by its number."""
    try:
        return {str(each["version"]): each["schemaInfo"] for each in call.admin.schemas.all_versions(topic)}
    except NotFound:
        return {}
