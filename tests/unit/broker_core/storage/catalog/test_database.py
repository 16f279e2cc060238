"""A stored change is a success, also when what follows the commit fails."""

import contextlib
import errno
import sqlite3
from pathlib import Path

import pytest

from broker_core.storage import filenames
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import crash, opened

DOCUMENT = {"text": "x" * (1 << 20)}
DOCUMENTS = 6  # enough for a merge


class LockedDisk(FaultyDisk):
    """While told to, SQLite refuses to merge, because a statement of the connection still reads."""

    reads = False

    def merge(self, connection: sqlite3.Connection) -> bool:
        with contextlib.closing(connection.cursor()) as reading:
            if self.reads:
                reading.execute("SELECT key FROM document")  # and reads the first row
            return super().merge(connection)


class InterruptedDisk(FaultyDisk):
    """While told to, SQLite interrupts the reading of the rows that a new catalog log begins with."""

    interrupts = False

    def connect(self, path: Path) -> sqlite3.Connection:
        self.connection = super().connect(path)
        return self.connection

    def open(self, path: Path, *, create: bool = False) -> int:
        if path.name == "catalog.log.new":
            self.connection.set_progress_handler((lambda: 1) if self.interrupts else None, 1)
        return super().open(path, create=create)

    def remove(self, path: Path) -> None:
        self.connection.set_progress_handler(None, 1)
        super().remove(path)


async def test_a_document_is_stored_although_the_merge_after_it_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = LockedDisk()
    engine = await opened(tmp_path / "data", disk=disk)
    disk.reads = True
    for number in range(DOCUMENTS):
        await engine.metadata.put("kind", str(number), DOCUMENT)
    assert "cannot merge the write-ahead log of" in caplog.text
    assert engine.metadata.get("kind", str(DOCUMENTS - 1)) == DOCUMENT
    after_crash = await opened(crash(tmp_path / "data"))
    assert len(after_crash.metadata.list("kind")) == DOCUMENTS
    await after_crash.close()
    await engine.close()


async def test_a_failed_merge_is_tried_again_with_the_next_commit(tmp_path: Path) -> None:
    disk = LockedDisk()
    engine = await opened(tmp_path / "data", disk=disk)
    disk.reads = True
    for number in range(DOCUMENTS):
        await engine.metadata.put("kind", str(number), DOCUMENT)
    database = filenames.metadata_file(tmp_path / "data")
    before = database.stat().st_size
    disk.reads = False
    await engine.metadata.put("kind", "small", {})
    assert database.stat().st_size > before + (4 << 20)
    await engine.close()


async def test_a_document_is_stored_although_sqlite_fails_to_read_for_the_catalog_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = InterruptedDisk()
    engine = await opened(tmp_path / "data", disk=disk)
    disk.failures["pwrite", "catalog.log"] = errno.EIO
    await engine.metadata.put("kind", "a", {"n": 1})
    disk.failures.clear()
    disk.interrupts = True
    await engine.metadata.put("kind", "b", {"n": 2})
    disk.interrupts = False
    assert "catalog.log: interrupted; it is begun again with the next commit" in caplog.text
    assert set(engine.metadata.list("kind")) == {"a", "b"}
    await engine.metadata.put("kind", "c", {"n": 3})
    assert filenames.catalog_log(tmp_path / "data").exists()
    await engine.close()
