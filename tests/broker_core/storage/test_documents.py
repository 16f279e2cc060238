"""Documents of the metadata store become durable and visible together, even if their caller stops waiting."""

import asyncio
import errno
import time
from pathlib import Path

import pytest

from broker_core.rates.turns import turnstile
from broker_core.storage import tables
from broker_core.storage.errors import StorageError
from broker_core.storage.metadata import APART_SECONDS
from tests.broker_core.storage.faulty_disk import FaultyDisk
from tests.broker_core.storage.storage import opened, until

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


async def commits_of_two(path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, *, beside_messages: bool) -> int:
    """Of documents that come one after the other, `seconds` after an earlier one."""
    now, disk = 100.0, FaultyDisk()
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    engine = await opened(path, disk=disk)
    end = turnstile().gives_way_to(lambda: beside_messages)
    await turnstile().wait()  # it looks whether messages come
    await engine.metadata.put("kind", "earlier", {})
    disk.calls.clear()
    now += seconds
    first = asyncio.create_task(engine.metadata.put("kind", "first", {}))
    for _ in range(5):
        await asyncio.sleep(0)  # its commit begins, or waits
    await asyncio.gather(first, engine.metadata.put("kind", "second", {}))
    found = disk.calls.count(("sync", "catalog.log"))
    end()
    await engine.close()
    return found


async def test_beside_messages_documents_wait_for_each_other_soon_after_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await commits_of_two(tmp_path, monkeypatch, 0.0, beside_messages=True) == 1


async def test_a_document_that_comes_some_time_after_a_commit_waits_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await commits_of_two(tmp_path, monkeypatch, APART_SECONDS, beside_messages=True) == 2


async def test_documents_wait_for_no_other_while_no_message_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await commits_of_two(tmp_path, monkeypatch, 0.0, beside_messages=False) == 2


async def test_a_document_that_waits_beside_messages_is_written_before_the_storage_closes(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    end = turnstile().gives_way_to(lambda: True)
    await turnstile().wait()  # it looks whether messages come
    await engine.metadata.put("kind", "earlier", {})
    writer = asyncio.create_task(engine.metadata.put("kind", "key", {"a": 1}))
    await asyncio.sleep(0)
    end()
    await engine.close()
    await writer
    again = await opened(tmp_path)
    assert again.metadata.get("kind", "key") == {"a": 1}
    await again.close()
