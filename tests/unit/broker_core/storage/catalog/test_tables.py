"""Documents of the metadata store become durable and visible together, even if their caller stops waiting."""

import asyncio
import errno
from pathlib import Path

import pytest

from broker_core.storage.catalog import tables
from broker_core.storage.errors import StorageError
from tests.support.condition import until
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import opened

SLOW_SECONDS = 0.2  # of a commit: long enough to cancel its caller first


async def test_a_document_whose_writer_was_canceled_is_visible_and_durable(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    disk.sync_seconds = SLOW_SECONDS
    writer = asyncio.create_task(engine.metadata.put("kind", "key", {"a": 1}))
    await asyncio.sleep(0)  # it has submitted its document
    writer.cancel()
    disk.sync_seconds = 0.0
    await until(lambda: engine.metadata.get("kind", "key") == {"a": 1})
    await engine.close()
    again = await opened(tmp_path)
    assert again.metadata.get("kind", "key") == {"a": 1}
    await again.close()


async def test_other_writers_are_answered_when_the_first_is_canceled(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    disk.sync_seconds = SLOW_SECONDS
    first = asyncio.create_task(engine.metadata.put("kind", "first", {}))
    second = asyncio.create_task(engine.metadata.put("kind", "second", {}))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait_for(second, 5)
    assert set(engine.metadata.list("kind")) == {"first", "second"}
    await engine.close()


async def test_a_failed_commit_is_a_storage_error_and_changes_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    await engine.metadata.put("kind", "key", {"a": 1})
    disk.failures["commit", ""] = errno.EIO
    with pytest.raises(StorageError, match=r"metadata\.sqlite"):
        await engine.metadata.delete("kind", "key")
    assert engine.metadata.get("kind", "key") == {"a": 1}
    disk.failures.clear()
    await engine.close()


async def test_a_failed_write_leaves_the_metadata_file_consistent(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.metadata.put("tenant", "a", {"x": 1})
    with pytest.raises(StorageError):
        engine.metadata.commit([tables.delete("document", "tenant"), tables.put("ledger", 1)])
    await engine.close()
    engine = await opened(tmp_path)
    assert engine.metadata.list("tenant") == {"a": {"x": 1}}
    await engine.close()
