"""What a maintenance that is killed leaves, and what the next one may not touch."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO

from pulsarctl.iceberg.maintenance import RUNNING, maintain

ROWS = pa.table({"number": [1, 2, 3]})


@pytest.fixture
def table(tmp_path: Path) -> Any:
    catalog = SqlCatalog("pulsarctl", uri=f"sqlite:///{tmp_path / 'catalog.sqlite'}", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("public")
    table = catalog.create_table("public.sales", ROWS.schema)
    table.append(ROWS)
    for _ in range(2):
        table.overwrite(ROWS)
    return table


def test_manifests_of_a_maintenance_that_was_killed_are_removed_by_the_next_one(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = len(_manifests(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(PyArrowFileIO, "delete", _killed)
        with pytest.raises(KeyboardInterrupt):
            maintain(table, 0, timedelta(0))
    assert (len(table.snapshots()), len(_manifests(tmp_path))) == (1, known), "expired, but not deleted"
    _age(tmp_path)
    assert maintain(table, 0, timedelta(0)).removed > 0
    assert _manifests(tmp_path) == _needed(table)
    assert table.scan().to_arrow() == ROWS


def test_maintenance_keeps_manifests_that_another_run_may_still_commit(table: Any, tmp_path: Path) -> None:
    young = table.location().removeprefix("file://") + "/metadata/snap-1-0-01234567-89ab-cdef-0123-456789abcdef.avro"
    Path(young).write_bytes(b"")
    needed = _needed(table)
    maintain(table, 0, timedelta(days=7))
    assert _manifests(tmp_path) == {*needed, Path(young)}


def test_maintenance_keeps_old_manifests_of_snapshots_that_it_keeps(table: Any, tmp_path: Path) -> None:
    _age(tmp_path)
    other = table.catalog.load_table(table.name())
    other.append(ROWS)  # `table` does not know it yet
    _age(tmp_path)
    maintain(table, 0, timedelta(days=7))
    assert _manifests(tmp_path) == _needed(other)
    assert len(other.scan().to_arrow()) == 6


def test_a_file_that_another_maintenance_has_deleted_is_no_failure(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PyArrowFileIO, "delete", _deleted_twice(PyArrowFileIO.delete))
    assert maintain(table, 0, timedelta(0)).removed > 0


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def _deleted_twice(delete: Callable[..., None]) -> Callable[..., None]:
    def both(io: PyArrowFileIO, path: str) -> None:
        delete(io, path)
        delete(io, path)

    return both


def _age(directory: Path) -> None:
    for path in _manifests(directory):
        long_ago = path.stat().st_mtime - 2 * RUNNING.total_seconds()
        os.utime(path, (long_ago, long_ago))


def _manifests(directory: Path) -> set[Path]:
    return set(directory.rglob("*.avro"))


def _needed(table: Any) -> set[Path]:
    names = {snapshot.manifest_list for snapshot in table.snapshots()}
    names |= {file.manifest_path for snapshot in table.snapshots() for file in snapshot.manifests(table.io)}
    return {Path(name.removeprefix("file://")) for name in names}
