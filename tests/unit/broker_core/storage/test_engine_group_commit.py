"""One sync confirms everything that arrived in the meantime, in order, and nothing is confirmed before its sync."""

import asyncio
from functools import partial
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import StorageError
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.position import Position
from tests.support.condition import until
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import append, opened, run_of


async def begun(path: Path) -> tuple[FaultyDisk, StorageEngine, ManagedLedger]:
    """The first group, which opens a file of the journal, has been written."""
    disk = FaultyDisk()
    engine = await opened(path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"first"))
    return disk, engine, ledger


async def test_runs_of_all_ledgers_share_a_sync(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    ledgers = [await engine.open_ledger(f"t{i}") for i in range(50)]
    await append(ledgers[0], run_of(b"the first group opens a file"))
    disk.calls.clear()
    await asyncio.gather(*(append(ledger, run_of(b"x", b"y")) for ledger in ledgers for _ in range(10)))
    syncs = [name for operation, name in disk.calls if operation == "sync" and name.endswith(".journal")]
    assert 1 <= len(syncs) <= 5
    await engine.close()


async def test_appends_of_one_loop_iteration_to_an_idle_journal_are_one_group(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, disk=disk)
    ledgers = [await engine.open_ledger(f"t{i}") for i in range(20)]
    await append(ledgers[0], run_of(b"the first group opens a file"))
    disk.calls.clear()
    told: list[Position | None] = []
    for ledger in ledgers:
        ledger.append(run_of(b"x"), lambda position, error: told.append(position))
    await until(lambda: len(told) == 20)
    assert [name for operation, name in disk.calls if operation == "sync"] == ["0000000001.journal"]
    await engine.close()


async def test_callbacks_run_in_the_order_of_the_appends(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(max_entries_per_ledger=30, reserve_mb=0))
    ledger = await engine.open_ledger("t")
    told: list[Position] = []
    given: list[Position] = []

    def done(position: Position | None, error: StorageError | None) -> None:
        assert position is not None
        assert ledger.last_confirmed >= position
        told.append(position)

    for i in range(200):
        given.append(ledger.append(run_of(b"a", b"b") if i % 3 else run_of(b"c"), done))
        if i % 7 == 0:
            await asyncio.sleep(0)
    await until(lambda: len(told) == 200)
    assert told == given == sorted(given)
    await engine.close()


async def test_no_callback_runs_before_the_sync_returns(tmp_path: Path) -> None:
    class Watched(FaultyDisk):
        synced = 0

        def sync(self, fd: int) -> None:
            super().sync(fd)
            if self._paths[fd].suffix == ".journal":
                self.synced += 1

    disk = Watched()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    for _ in range(20):
        before = disk.synced
        await append(ledger, run_of(b"x"))
        assert disk.synced > before
    await engine.close()


async def test_without_journal_sync_publishing_syncs_nothing(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(tmp_path, StorageConfig(journal_sync=False, reserve_mb=0), disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"x"))
    disk.calls.clear()
    await append(ledger, run_of(b"x"))
    assert not [call for call in disk.calls if call[0] == "sync"]
    await engine.close()


async def test_dispatchers_are_woken_once_per_group(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    woken: list[Position] = []
    ledger.on_confirmed = lambda: woken.append(ledger.last_confirmed)
    for i in range(100):
        ledger.append(run_of(b"%d" % i), lambda position, error: None)
    await until(lambda: ledger.entries == 100)
    assert len(woken) <= 5
    assert woken[-1].entry_id == 99
    await engine.close()


async def test_a_failing_callback_does_not_stop_the_others(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    told: list[int] = []

    def done(number: int, position: Position | None, error: StorageError | None) -> None:
        told.append(number)
        if number == 0:
            raise ValueError("a bug of the layer above")

    for i in range(3):
        ledger.append(run_of(b"x"), partial(done, i))
    await until(lambda: len(told) == 3)
    assert await append(ledger, run_of(b"y"))
    await engine.close()


async def test_waiting_documents_share_a_commit(tmp_path: Path) -> None:
    class Counting(FaultyDisk):
        commits = 0

        def commit(self, connection: object) -> None:
            self.commits += 1
            super().commit(connection)  # type: ignore[arg-type]  # counted, then passed on

    disk = Counting()
    engine = await opened(tmp_path, disk=disk)
    before = disk.commits
    await asyncio.gather(*(engine.metadata.put("topic", f"{i}", {"i": i}) for i in range(100)))
    assert disk.commits - before <= 3
    await engine.metadata.delete("topic", "7")
    await engine.close()
    engine = await opened(tmp_path)
    assert len(engine.metadata.list("topic")) == 99
    assert engine.metadata.get("topic", "8") == {"i": 8}
    await engine.close()
