"""The deletion of a managed ledger: what it writes and syncs, and what is left after one that failed."""

import asyncio
import errno
from pathlib import Path

import pytest

from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import Closed, StorageError
from broker_core.storage.filenames import ledger_file
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.condition import until
from tests.support.faulty_disk import FaultyDisk
from tests.support.held_disk import HeldSyncs
from tests.support.storage import append, contents, opened, run_of


async def in_use(path: Path) -> tuple[FaultyDisk, StorageEngine]:
    """A log with an acknowledgment and two entries that are not in its file yet."""
    disk = FaultyDisk()
    engine = await opened(path, disk=disk)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    first = await append(ledger, run_of(b"one", b"two"))
    cursor.acknowledge(first.ledger_id, [0])
    return disk, engine


async def deletion_calls(disk: FaultyDisk, engine: StorageEngine) -> list[tuple[str, str]]:
    """The operations on journal and ledger files, with the ends of their names, without the removal of files."""
    disk.calls.clear()
    await engine.delete_ledger("t")
    ends = [(operation, name.rpartition(".")[2]) for operation, name in disk.calls]
    await engine.close()
    return [(operation, end) for operation, end in ends if end in ("journal", "ledger") and operation != "remove"]


async def test_a_deletion_in_use_writes_and_syncs_one_group_of_the_journal_and_no_ledger(tmp_path: Path) -> None:
    disk, engine = await in_use(tmp_path)
    assert await deletion_calls(disk, engine) == [("pwrite", "journal"), ("sync", "journal")]


async def test_a_deletion_after_a_close_writes_and_syncs_one_group_of_the_journal(tmp_path: Path) -> None:
    disk, engine = await in_use(tmp_path)
    await (await engine.open_ledger("t")).close()
    assert await deletion_calls(disk, engine) == [("pwrite", "journal"), ("sync", "journal")]


async def test_a_deletion_that_failed_leaves_what_was_not_in_a_file_yet(tmp_path: Path) -> None:
    disk, engine = await in_use(tmp_path)
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(StorageError):
        await engine.delete_ledger("t")
    disk.failures.clear()
    ledger = await engine.open_ledger("t")
    assert await contents(ledger) == [b"one", b"two"]
    assert ledger.cursors["s"].backlog_entries == 1
    assert engine.damage.reports == []
    await engine.close()
    engine = await opened(tmp_path)
    assert await contents(await engine.open_ledger("t")) == [b"one", b"two"]
    await engine.close()


async def test_appends_under_way_are_answered_before_the_deletion_and_later_ones_refused(tmp_path: Path) -> None:
    _, engine = await in_use(tmp_path)
    ledger = await engine.open_ledger("t")
    answered: list[Position | None] = []
    ledger.append(run_of(b"three"), lambda position, _: answered.append(position))
    deleting = asyncio.ensure_future(engine.delete_ledger("t"))
    deleting.add_done_callback(lambda _: answered.append(None))
    await asyncio.sleep(0)
    with pytest.raises(Closed):
        ledger.append(run_of(b"four"), lambda position, _: None)
    await deleting
    assert [position is not None for position in answered] == [True, False]
    assert not engine.exists("t")
    assert await contents(await engine.open_ledger("t")) == []
    await engine.close()


async def test_a_deletion_whose_caller_left_takes_effect_with_its_record(tmp_path: Path) -> None:
    _, engine = await in_use(tmp_path)
    deleting = asyncio.ensure_future(engine.delete_ledger("t"))
    await asyncio.sleep(0)
    deleting.cancel()
    await engine.acks.written()
    assert not engine.exists("t")
    await engine.close()


async def test_a_canceled_caller_leaves_when_the_deletion_has_ended(tmp_path: Path) -> None:
    _, engine = await in_use(tmp_path)
    ledger = await engine.open_ledger("t")
    async with ledger.copies.changing:  # the deletion has to wait before it writes its record
        deleting = asyncio.ensure_future(engine.delete_ledger("t"))
        await asyncio.sleep(0)
        deleting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deleting
    assert not engine.exists("t")
    await engine.close()


async def test_a_storage_closes_after_the_deletions_that_are_under_way(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"one"))
    ledger.info.compacted += [1000, 1001, 1002]  # whose files are removed last, one by one
    disk.removal_seconds = 0.2
    deleting = asyncio.ensure_future(engine.delete_ledger("t"))
    await until(lambda: not engine.exists("t"))
    await engine.close()
    assert deleting.done()
    await deleting


async def test_a_storage_closes_after_the_records_of_deletions_whose_callers_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = HeldSyncs()
    engine = await opened(tmp_path, disk=disk)
    one, two = await engine.open_ledger("one"), await engine.open_ledger("two")
    files = [ledger_file(tmp_path, (await append(ledger, run_of(b"x"))).ledger_id) for ledger in (one, two)]
    await engine.checkpoint()
    assert all(file.exists() for file in files)
    disk.go.clear()
    disk.arrived.clear()
    deleting = [asyncio.ensure_future(engine.delete_ledger("one"))]
    await until(disk.arrived.is_set)
    deleting.append(asyncio.ensure_future(engine.delete_ledger("two")))  # its record waits for the sync of the first
    await until(lambda: not two.is_open)
    for _ in range(10):
        await asyncio.sleep(0)
    for task in deleting:
        task.cancel()
    closing = asyncio.ensure_future(engine.close())
    for _ in range(10):
        await asyncio.sleep(0)
    disk.go.set()
    await closing
    assert all(task.cancelled() for task in deleting)
    assert [file.exists() or engine.exists(name) for name, file in zip(("one", "two"), files, strict=True)] == [
        False,
        False,
    ]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_closed_storage_refuses_deletions(tmp_path: Path) -> None:
    _, engine = await in_use(tmp_path)
    await engine.close()
    async with asyncio.timeout(10):
        with pytest.raises(Closed):
            await engine.delete_ledger("t")
