"""Keeps an Iceberg table of a topic: each run appends the messages since the last one, in one commit."""

import contextlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from broker_core.errors import InvalidName
from broker_core.names import parse_topic
from broker_core.offload import table_names
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.iceberg.catalogs import TABLE_PROPERTIES, write_hint
from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.kinds import KIND, LAKE, NO_RETRIES, TOPIC
from pulsarctl.iceberg.lake_place import LakePlace
from pulsarctl.iceberg.layout import create_table, widen
from pulsarctl.iceberg.maintenance import reachable
from pulsarctl.iceberg.own_files import check_folder, load_table
from pulsarctl.iceberg.progress import RUN, Overtaken, Through, append, check_lake, created_of, ended_of, through_of
from pulsarctl.tables.data_loss import LeftOut, end_of, gone_between
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.segment_history import gone_segments, still_there
from pulsarctl.values.names import readable_topic

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from pulsarctl.tables.access import Access
    from pulsarctl.tables.plan import TopicSnapshot

ATTEMPTS = 5
NOWHERE = (-1, -1)  # the end of a topic without ledgers
# A conflict is solved here: a run that was overtaken must not append the same messages.
OWN_PROPERTIES = {**TABLE_PROPERTIES, NO_RETRIES: "0", KIND: LAKE}


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of a run: its `rows`, and the `files` that it added.

    `left_out` are the messages that the table does not have.
    """

    table: str
    rows: int
    files: int
    metadata: str
    left_out: "LeftOut"


class TopicLake:
    def __init__(self, place: LakePlace) -> None:
        """Raises `CliError`, and what pyiceberg raises."""
        self._place = place
        self._catalog = place.open()

    def keep(self, topic: str, options: Mapping[str, str], access: "Access | None" = None) -> Kept:
        """Appends what is new. `options` are those of a table; `access` replaces those of the connection.

        Raises `DataLoss` if fail_on_data_loss is true, `NotFound`, `DamagedEntry`, and what the reader and pyiceberg
        raise; then the table is as before.
        """
        for _ in range(ATTEMPTS):
            with contextlib.suppress(Overtaken):
                return self._run(readable_topic(topic), options, access)
        raise CliError(f"cannot add to the table of {topic}: other runs add to it at the same time")

    def table(self, topic: str) -> "Table | None":
        """Raises `UsageProblem` if it is not the lake of the topic, and `CliError` if it is elsewhere or damaged."""
        name = table_name(topic)
        table = load_table(self._catalog, name)
        if table is None:
            return None
        check_lake(table, readable_topic(topic))
        check_folder(table, self._place.location)
        return table

    def _run(self, topic: str, options: Mapping[str, str], access: "Access | None") -> Kept:
        from pulsarctl.tables.plan import TopicSnapshot
        from pulsarctl.tables.topic_table import TopicTable

        table = self.table(topic)
        planned = through_of(table, topic)
        parsed = _continued({**options, "topic": topic}, planned)
        rows = TopicTable.open(parsed if access is None else replace(parsed, access=access), oldest_first=True)
        snapshot = TopicSnapshot()
        parts = rows.plan(snapshot)
        created = _checked(table, topic, rows.options.access, snapshot, planned)
        allowed = not rows.options.fail_on_data_loss
        vanished = gone_segments({*planned, *created_of(table)}, ended_of(table), snapshot.known)
        left_out = LeftOut(gone=gone_between(snapshot.known, planned, vanished, _adding_to(topic), allowed=allowed))
        through = _through(planned, snapshot)
        if not parts and (table is None or (through, snapshot.sealed) == (planned, ended_of(table))):
            return Kept(table_name(topic), 0, 0, "" if table is None else table.metadata_location, left_out)
        with TemporaryDirectory(prefix="pulsarctl-lake-") as scratch:
            count, files = _write(Path(scratch), rows, parts, left_out)
            table = self._widened(topic, rows.schema, table)
            created = still_there(created, snapshot.known)
            self._add(table, files, partial(append, topic, planned, through, created, snapshot.sealed))
        return Kept(table_name(topic), count, len(files), table.metadata_location, left_out)

    def _widened(self, topic: str, schema: Any, table: "Table | None") -> "Table":
        """Created with the first rows; columns of later schema versions are added."""
        if table is not None:
            widen(table, schema)
            return table
        name = table_name(topic)
        self._place.check_free(name, self._catalog)
        properties = {**OWN_PROPERTIES, TOPIC: topic}
        table = create_table(self._catalog, name, schema, properties, self._place.of_table(name))
        check_lake(table, topic)  # another program may have created it meanwhile
        return table

    def _add(self, table: "Table", files: list[Path], append_all: Callable[..., None]) -> None:
        from pyiceberg.exceptions import CommitFailedException, ValidationException

        run = uuid4().hex
        added = [f"{table.location()}/data/{run}/{file.name}" for file in files]
        _upload(table, files, added)
        try:
            committed(table, partial(append_all, added, run))
        except BaseException as error:
            table.refresh()  # if that fails, nothing says whether the commit happened: the files stay
            has_failed = not _has_commit(table, run, added)
            if has_failed and isinstance(error, Overtaken | CommitFailedException | ValidationException):
                _delete(table, added)  # after any other error, a slow catalog may still make the commit
            if has_failed or not isinstance(error, Exception):
                raise
        write_hint(table)


def _has_commit(table: "Table", run: str, files: list[str]) -> bool:
    """Whether the table has the commit of a run, perhaps before that of another run."""
    return table.properties.get(RUN) == run or not reachable(table).isdisjoint(files)


def _upload(table: "Table", files: list[Path], targets: list[str]) -> None:
    try:
        for file, target in zip(files, targets, strict=True):
            with file.open("rb") as source, table.io.new_output(target).create() as output:
                shutil.copyfileobj(source, output, 1 << 20)
    except BaseException:
        _delete(table, targets)
        raise


def _delete(table: "Table", files: list[str]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            table.io.delete(file)


def _checked(
    table: "Table | None", topic: str, access: "Access", snapshot: "TopicSnapshot", planned: Through
) -> dict[str, str]:
    """The creation times of the partitions. Raises `Conflict` if positions of the table are not those of the topic."""
    from pulsarctl.tables.same_topic import check_same

    admin = access.admin()
    try:
        hint = "keep another table with --to or --catalog"
        return check_same(admin, snapshot, planned, created_of(table), _adding_to(topic), hint)
    finally:
        admin.close()


def _through(planned: Through, snapshot: "TopicSnapshot") -> Through:
    """The end of each partition as of now."""
    ends = {name: end_of(stats) for name, stats in snapshot.known.items()}
    return still_there(planned, ends) | {name: end for name, end in ends.items() if end > NOWHERE}


def _adding_to(topic: str) -> str:
    return f"add to the table {table_name(topic)}"


def table_name(topic: str) -> str:
    """The name that the broker's offloads give the topic's table, too. Raises `UsageProblem`."""
    try:
        return ".".join(table_names.table_name(parse_topic(readable_topic(topic))))
    except InvalidName as error:
        raise UsageProblem(f"cannot name the table of {topic}: {error}") from error


def _continued(options: Mapping[str, str], planned: Through) -> TableOptions:
    """A later run starts after the one before it. A chunked message may have begun where the first run started."""
    parsed = TableOptions.parse(options)
    if not planned:
        return parsed
    start = json.dumps({part: f"{ledger}:{entry + 1}" for part, (ledger, entry) in planned.items()})
    return replace(TableOptions.parse({**options, "start": start}), begin=parsed.start)


def _write(folder: Path, rows: Any, parts: list[Any], left_out: LeftOut) -> tuple[int, list[Path]]:
    from pulsarctl.iceberg.day_files import DayFiles

    files = DayFiles(folder, rows.schema)
    try:
        for part in parts:
            for batch in rows.read(part, left_out):
                files.write(batch)
    finally:
        complete = files.close()
    return files.rows, complete
