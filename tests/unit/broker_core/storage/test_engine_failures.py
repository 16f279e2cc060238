"""Failed and refused writes: which callers get an error, what is fenced, and what recovers."""

import asyncio
import errno
from functools import partial
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage import space
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import DiskFull, Fenced, StorageError, Terminated
from broker_core.storage.records.position import Position
from tests.support.condition import PATIENCE_SECONDS, until
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import append, contents, crash, faulty, opened, reopened, run_of


class LosesPages(FaultyDisk):
    """Discards unsynced bytes at one failed sync, as a kernel may do."""

    armed = False

    def sync(self, fd: int) -> None:
        if self.armed and self._paths[fd].suffix == ".ledger":
            self.armed = False
            self.truncate(fd, 48)
            raise OSError(errno.EIO, "lost")
        super().sync(fd)


async def test_a_failed_sync_fences_only_its_ledger(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    failed, spared = await engine.open_ledger("failed"), await engine.open_ledger("spared")
    await append(failed, run_of(b"before"))
    await append(spared, run_of(b"before"))
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(Fenced, match="Input/output error"):
        await append(failed, run_of(b"lost"))
    disk.failures.clear()
    assert "Input/output error" in str(failed.fenced_reason)
    with pytest.raises(Fenced):
        failed.append(run_of(b"refused"), lambda position, error: None)
    await append(spared, run_of(b"after"))
    assert await contents(failed) == [b"before"]
    failed.unfence()
    position = await append(failed, run_of(b"again"))
    assert position.ledger_id > failed.first_position.ledger_id
    engine = await reopened(engine, tmp_path)
    assert await contents(await engine.open_ledger("failed")) == [b"before", b"again"]
    assert await contents(await engine.open_ledger("spared")) == [b"before", b"after"]
    await engine.close()


async def test_a_log_whose_first_record_failed_survives_a_close_and_a_crash(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path / "d", disk=disk)
    ledger = await engine.open_ledger("t")
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(StorageError):
        await ledger.open_cursor("s")
    disk.failures.clear()
    await ledger.close()
    ledger = await engine.open_ledger("t")
    await ledger.open_cursor("s")
    await ledger.store_properties({"a": "b"})
    await append(ledger, run_of(b"kept"))
    after_crash = await opened(crash(tmp_path / "d"))
    found = await after_crash.open_ledger("t")
    assert (list(found.cursors), found.properties, await contents(found)) == (["s"], {"a": "b"}, [b"kept"])
    await after_crash.close()
    await engine.close()


async def test_a_termination_that_fails_leaves_the_ledger_open(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    await append(ledger, run_of(b"before"))
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(Fenced):
        await ledger.terminate()
    disk.failures.clear()
    ledger.unfence()
    await append(ledger, run_of(b"after"))
    assert (ledger.terminated, await contents(ledger)) == (None, [b"before", b"after"])
    await engine.close()


async def test_a_canceled_termination_ends_the_ledger_if_its_record_is_written(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    last = await append(ledger, run_of(b"last"))
    disk.sync_seconds = 0.1
    disk.calls.clear()
    task = asyncio.create_task(ledger.terminate())
    await until(
        lambda: [operation for operation, _ in disk.calls].count("sync") == 2
    )  # the second is that of the record
    task.cancel()
    await until(lambda: ledger.terminated == last)
    disk.sync_seconds = 0.0
    with pytest.raises(Terminated):
        ledger.append(run_of(b"refused"), lambda position, error: None)
    assert task.cancelled()
    await engine.close()


async def test_a_fenced_ledger_that_is_terminated_stays_terminated(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(Fenced):
        await append(ledger, run_of(b"lost"))
    disk.failures.clear()
    await ledger.terminate()
    ledger.unfence()
    with pytest.raises(Terminated):
        ledger.append(run_of(b"refused"), lambda position, error: None)
    await engine.close()


async def test_a_failing_journal_is_logged_once_until_it_works_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk, engine, ledger = await faulty(tmp_path)

    async def fail_repeatedly() -> None:
        disk.failures["sync", ".journal"] = errno.EIO
        for _ in range(3):
            with pytest.raises(Fenced):
                await append(ledger, run_of(b"lost"))
            ledger.unfence()
        disk.failures.clear()

    await fail_repeatedly()
    await append(ledger, run_of(b"kept"))
    await fail_repeatedly()
    logged = [record for record in caplog.records if "write to the journal failed" in record.getMessage()]
    assert len(logged) == 2
    await engine.close()


async def test_runs_after_a_failed_one_fail_in_order(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    await append(ledger, run_of(b"before"))
    disk.failures["sync", ".journal"] = errno.EIO
    told: list[tuple[int, bool]] = []

    def tell(number: int, position: Position | None, error: StorageError | None) -> None:
        told.append((number, error is None))

    taken = 0
    with pytest.raises(Fenced):
        while True:
            ledger.append(run_of(b"x"), partial(tell, taken))
            taken += 1
            if taken % 10 == 9:
                await asyncio.sleep(0)
    await until(lambda: len(told) == taken)
    assert told == [(i, False) for i in range(taken)]
    assert ledger.last_confirmed.entry_id == 0
    disk.failures.clear()
    await engine.close()


async def test_a_full_disk_refuses_entries_accepts_acks_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "PROBE_SECONDS", 0.01)
    disk = FaultyDisk()
    engine = await opened(tmp_path, StorageConfig(reserve_mb=1), disk=disk)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s")
    first = await append(ledger, run_of(*(b"x" * 100_000 for _ in range(100))))
    await until(lambda: engine.pressure.bytes == 0)
    disk.full = True
    error: DiskFull | None = None
    for _ in range(20):
        try:
            await append(ledger, run_of(b"x" * 1_000_000, b"y"))
        except DiskFull as refused:
            error = refused
            break
    assert error is not None
    with pytest.raises(DiskFull):
        ledger.append(run_of(b"refused"), lambda position, error: None)
    assert len(await ledger.read(first, 10, 1 << 20)) > 0
    cursor.acknowledge(first.ledger_id, [0, 1, 2, 5])
    disk.full = False  # the broker released its reserve, which the fake does not count
    await cursor.flush()
    await until(lambda: engine.space.full is None)
    await append(ledger, run_of(b"healed"))
    engine = await reopened(engine, tmp_path)
    ledger = await engine.open_ledger("t")
    assert (await contents(ledger))[-1] == b"healed"
    cursor = await ledger.open_cursor("s")
    assert cursor.is_acknowledged(first._replace(entry_id=5))
    assert cursor.mark_delete.entry_id == 2
    await engine.close()


async def test_the_journal_stays_while_a_ledger_cannot_be_written(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    ledger, other = await engine.open_ledger("t"), await engine.open_ledger("other")
    await append(ledger, run_of(b"a"))
    await append(other, run_of(b"b"))
    disk.failures["pwrite", ".ledger"] = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        await engine.checkpoint()
    await until(lambda: ledger.fenced_reason is not None)
    assert await contents(ledger) == [b"a"]
    disk.failures.clear()
    await engine.checkpoint()
    ledger.unfence()
    await append(ledger, run_of(b"c"))
    engine = await reopened(engine, tmp_path)
    assert await contents(await engine.open_ledger("t")) == [b"a", b"c"]
    assert await contents(await engine.open_ledger("other")) == [b"b"]
    await engine.close()


async def _with_pages_to_lose(path: Path) -> tuple[LosesPages, StorageEngine]:
    disk = LosesPages()
    engine = await opened(path, disk=disk)
    ledger = await engine.open_ledger("t")
    for i in range(20):
        await append(ledger, run_of(b"%d" % i, b"."))
    disk.armed = True
    return disk, engine


async def test_a_ledger_file_is_rewritten_from_the_journal_after_a_failed_sync(tmp_path: Path) -> None:
    disk, engine = await _with_pages_to_lose(tmp_path)
    await engine.checkpoint()
    assert not disk.armed
    engine = await reopened(engine, tmp_path)
    assert engine.damage.reports == []
    assert (await contents(await engine.open_ledger("t")))[::2] == [b"%d" % i for i in range(20)]
    await engine.close()


async def test_the_next_checkpoint_rewrites_a_ledger_file_that_a_failed_one_left_with_lost_pages(
    tmp_path: Path,
) -> None:
    disk, engine = await _with_pages_to_lose(tmp_path)
    disk.failures["pread", ".journal"] = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        await engine.checkpoint()
    disk.failures.clear()
    await engine.checkpoint()
    engine = await reopened(engine, tmp_path)
    assert engine.damage.reports == []
    assert (await contents(await engine.open_ledger("t")))[::2] == [b"%d" % i for i in range(20)]
    await engine.close()


async def test_the_next_checkpoint_repeats_a_failed_commit(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    cursor = await ledger.open_cursor("s")
    first = await append(ledger, run_of(b"a", b"b"))
    cursor.acknowledge(first.ledger_id, [0])
    await cursor.flush()
    disk.failures["commit", ""] = errno.EIO
    with pytest.raises(Exception, match="disk I/O error"):
        await engine.checkpoint()
    disk.failures.clear()
    await append(ledger, run_of(b"c"))
    await engine.checkpoint()
    engine = await reopened(engine, tmp_path)
    ledger = await engine.open_ledger("t")
    assert await contents(ledger) == [b"a", b"b", b"c"]
    assert ledger.cursors["s"].mark_delete == first
    await engine.close()


async def test_a_journal_file_that_cannot_be_closed_does_not_stop_the_journal(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    await append(ledger, run_of(b"a"))
    disk.failures["close", ".journal"] = errno.EIO
    await asyncio.wait_for(engine.checkpoint(), PATIENCE_SECONDS)
    await append(ledger, run_of(b"b"))
    engine = await reopened(engine, tmp_path)
    assert await contents(await engine.open_ledger("t")) == [b"a", b"b"]
    await engine.close()


async def test_a_directory_is_given_up_although_one_of_its_files_cannot_be_closed(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    await append(ledger, run_of(b"a"))
    disk.failures["close", "catalog.log"] = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        await engine.close()
    engine = await opened(tmp_path)
    assert await contents(await engine.open_ledger("t")) == [b"a"]
    await engine.close()


async def test_a_broker_looks_for_space_although_its_reserve_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "PROBE_SECONDS", 0.01)
    disk = FaultyDisk()
    engine = await opened(tmp_path, StorageConfig(reserve_mb=1), disk=disk)
    disk.failures["remove", "RESERVE"] = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        await engine.space.ran_out("the disk is full")
    await until(lambda: engine.space.full is None)
    await engine.close()
