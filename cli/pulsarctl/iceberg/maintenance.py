"""Maintenance of a table: small files become large ones, and old snapshots and files that nothing needs are removed."""

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from pulsarctl.errors import Conflict
from pulsarctl.iceberg.catalogs import write_hint
from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.own_files import check_files, is_link_out
from pulsarctl.iceberg.rewriting import rewritten

if TYPE_CHECKING:
    from pyiceberg.table import FileScanTask, Table, Transaction

_FOLDERS = ("data", "metadata")
_OF_RUN = re.compile(  # other programs that write to the folder name files of rows differently
    r"/data/[0-9a-f]{32}/[^/]+\Z"
    r"|/metadata/(snap-\d+-\d+-[0-9a-f-]{36}|[0-9a-f-]{36}-m\d+)\.avro\Z"  # the names of pyiceberg and Java
)
RUNNING = timedelta(days=1)  # a run may still be going to commit files that are younger


@dataclass(frozen=True, slots=True)
class Maintained:
    """`merged` files became `files` new ones; `snapshots` were expired, and `removed` files deleted."""

    merged: int
    files: int
    snapshots: int
    removed: int


def maintain(table: "Table", file_bytes: int, keep: timedelta) -> Maintained:
    """Files of a day that are smaller than half of `file_bytes` are merged.

    Raises `CliError` if the table has files outside of its folder, `Conflict` if others change what is merged, and what
    pyiceberg raises.
    """
    check_files(table, reachable(table))
    merged = files = 0
    for group in _groups(table, file_bytes):
        merged, files = merged + len(group), files + _merge(table, group)
    snapshots, removed = _expire(table, keep)
    removed += _remove_strays(table)
    return Maintained(merged, files, snapshots, removed)


def _groups(table: "Table", file_bytes: int) -> "Iterator[list[FileScanTask]]":
    """Small files of one day, each group about as large as a file should be."""
    days: dict[str, list[FileScanTask]] = {}
    for task in table.scan().plan_files():
        if task.file.file_size_in_bytes < file_bytes // 2 and not task.delete_files:
            days.setdefault(str(task.file.partition), []).append(task)
    for _, tasks in sorted(days.items()):
        group: list[FileScanTask] = []
        for task in sorted(tasks, key=lambda task: task.file.file_path):
            group.append(task)
            if sum(task.file.file_size_in_bytes for task in group) >= file_bytes:
                yield group
                group = []
        if len(group) > 1:
            yield group


def _merge(table: "Table", group: "list[FileScanTask]") -> int:
    from pyiceberg.expressions import AlwaysTrue

    added = rewritten(table, group, AlwaysTrue())
    _commit(table, partial(_replace, {task.file.file_path for task in group}, added))
    return len(added)


def _replace(old: set[str], new: list[str], table: "Table", transaction: "Transaction") -> None:
    """In one snapshot: a snapshot that only adds is new rows to those who read what was added since."""
    from pyiceberg.io.pyarrow import parquet_files_to_data_files

    tasks = [task for task in table.scan().plan_files() if task.file.file_path in old and not task.delete_files]
    if len(tasks) != len(old):
        raise Conflict("cannot merge files: another run has changed them", hint="run the command again")
    if table.name_mapping() is None:  # the new files name columns without IDs
        transaction.set_properties({"schema.name-mapping.default": table.schema().name_mapping.model_dump_json()})
    with transaction.update_snapshot().overwrite() as snapshot:
        for task in tasks:
            snapshot.delete_data_file(task.file)
        for file in parquet_files_to_data_files(table.io, table.metadata, iter(new)):
            snapshot.append_data_file(file)


# ---- snapshots and files


def _expire(table: "Table", keep: timedelta) -> tuple[int, int]:
    """Snapshots, and the files that only they had. The current one stays."""
    before, known = reachable(table), _snapshot_ids(table)
    until_ms = int(datetime.now(UTC).timestamp() * 1000) - keep // timedelta(milliseconds=1)
    _commit(table, partial(_remove_replaced, until_ms))
    gone = before - reachable(table)
    check_files(table, gone)  # others may have committed since the first check
    for path in sorted(gone):  # a run that is killed here leaves them to the next one, as strays
        _delete(table.io.delete, path)
    return len(known - _snapshot_ids(table)), len(gone)


def _snapshot_ids(table: "Table") -> set[int]:
    return {snapshot.snapshot_id for snapshot in table.snapshots()}


def _remove_replaced(until_ms: int, table: "Table", transaction: "Transaction") -> None:
    """Snapshots that were replaced before: a reader that has just begun may read one that was the current one for long.

    Each with an update of its own: REST catalogs of Iceberg before 1.7 refuse more in an update.
    """
    from pyiceberg.table.update import RemoveSnapshotsUpdate

    kept = {reference.snapshot_id for reference in table.metadata.refs.values()}
    replaced = {snapshot.parent_snapshot_id: snapshot.timestamp_ms for snapshot in reversed(table.snapshots())}
    old = [
        snapshot.snapshot_id
        for snapshot in table.snapshots()
        if snapshot.snapshot_id not in kept and replaced.get(snapshot.snapshot_id, snapshot.timestamp_ms) <= until_ms
    ]
    updates = (RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [snapshot_id]}) for snapshot_id in old)
    transaction._apply(tuple(updates))


def _commit(table: "Table", change: "Callable[[Table, Transaction], None]") -> None:
    """With the hint: later commits delete the metadata that it named before."""
    committed(table, change)
    write_hint(table)


def reachable(table: "Table") -> set[str]:
    """Every file of every snapshot: lists, manifests, and rows."""
    names: set[str] = set()
    for snapshot in table.snapshots():
        names.add(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            if manifest.manifest_path not in names:
                names.add(manifest.manifest_path)
                names |= {entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io)}
    return names


def _remove_strays(table: "Table") -> int:
    """Files of a run, of a commit, or of a maintenance that no snapshot has, because it was killed."""
    table.refresh()
    known = {_path_of(name) for name in reachable(table)}
    filesystem, folder = _filesystem(table)
    unknown = [info for info in _files_of_runs(filesystem, folder) if info.path not in known and _is_old(info)]
    strays = [info for info in unknown if not is_link_out(table, info.path)]
    for info in strays:
        _delete(filesystem.delete_file, info.path)
    return len(strays)


def _delete(delete: Callable[[str], None], path: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # another maintenance was faster
        delete(path)


def _is_old(info: Any) -> bool:
    return bool(info.mtime is not None and info.mtime < datetime.now(UTC) - RUNNING)


def _files_of_runs(filesystem: Any, folder: str) -> Iterable[Any]:
    from pyarrow import fs

    for name in _FOLDERS:
        selector = fs.FileSelector(f"{folder}/{name}", recursive=True, allow_not_found=True)
        infos = filesystem.get_file_info(selector)
        yield from (info for info in infos if info.is_file and _OF_RUN.search(info.path))


def _path_of(address: str) -> str:
    """The path in the file system: an address has several spellings."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    return posixpath.normpath(PyArrowFileIO.parse_location(address)[2])


def _filesystem(table: "Table") -> tuple[Any, str]:
    """pyarrow's file system of the table, and the path of the table in it."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    scheme, host, _ = PyArrowFileIO.parse_location(table.location())
    io = table.io if isinstance(table.io, PyArrowFileIO) else PyArrowFileIO(table.io.properties)
    return io.fs_by_scheme(scheme, host), _path_of(table.location())
