"""The event loop never waits for the disk, and everything in memory is bounded."""

import asyncio
import os
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from broker_core.config.storage import StorageConfig
from broker_core.storage.disk import RealDisk
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.log.retention import Retention
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.condition import PATIENCE_SECONDS, until
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import append, contents, opened, run_of

TURNS = 3


class WatchingDisk(FaultyDisk):
    """While watched, every sync and commit lasts for a few iterations of the event loop.

    `stopped` has those for which the loop did not run: it waited for them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stopped: list[str] = []
        self.waited = 0
        self._turned = threading.Condition()
        self._slices = 0
        self._watched = False

    def sync(self, fd: int) -> None:
        self._wait_for_the_loop(self._paths[fd].name)
        super().sync(fd)

    def commit(self, connection: sqlite3.Connection) -> None:
        self._wait_for_the_loop("commit")
        super().commit(connection)

    def _wait_for_the_loop(self, what: str) -> None:
        with self._turned:
            if not self._watched:
                return
            self.waited += 1
            until = self._slices + TURNS
            if not self._turned.wait_for(lambda: self._slices >= until or not self._watched, PATIENCE_SECONDS):
                self.stopped.append(what)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        async def turn() -> None:
            while True:
                with self._turned:
                    self._slices += 1
                    self._turned.notify_all()
                await asyncio.sleep(0.001)  # the turns of the loop are what the test counts

        self._watched = True
        task = asyncio.create_task(turn())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with self._turned:
                self._watched = False
                self._turned.notify_all()


class HeldLedgers(FaultyDisk):
    """Syncs of ledger files wait for `let_go`; `gave_up` if it is never set."""

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self.gave_up = False
        self.let_go = threading.Event()

    def sync(self, fd: int) -> None:
        if self._paths[fd].suffix == ".ledger":
            self.held = True
            if not self.let_go.wait(PATIENCE_SECONDS):
                self.gave_up = True
        super().sync(fd)


async def test_a_slow_disk_does_not_block_the_event_loop(tmp_path: Path) -> None:
    disk = WatchingDisk()
    engine = await opened(tmp_path, StorageConfig(max_entries_per_ledger=20), disk=disk)
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(b"cached"))
    async with disk.watched():
        waiting = [asyncio.ensure_future(append(ledger, run_of(b"%d" % i))) for i in range(50)]
        checkpoint = asyncio.ensure_future(engine.checkpoint())
        document = asyncio.ensure_future(engine.metadata.put("tenant", "t", {}))
        cursor = asyncio.ensure_future(ledger.open_cursor("s"))
        pending: set[asyncio.Future[Any]] = {*waiting, checkpoint, document, cursor}
        while pending:
            block = ledger.read_cached(first, 1, 100)
            assert block is not None
            assert block.entry(0) == b"cached"
            _, pending = await asyncio.wait(pending, timeout=0.002)
        await (await cursor).reset(EARLIEST)
        await ledger.roll()
        await ledger.delete_cursor("s")
        await ledger.trim(Retention(), 0)
        await engine.close()
    assert disk.waited > 5
    assert not disk.stopped


async def test_publishing_continues_while_a_checkpoint_waits_for_the_disk(tmp_path: Path) -> None:
    disk = HeldLedgers()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"x"))
    checkpoint = asyncio.ensure_future(engine.checkpoint())
    await until(lambda: disk.held)
    for _ in range(20):
        await append(ledger, run_of(b"x"))
    assert not checkpoint.done()
    disk.let_go.set()
    await checkpoint
    assert not disk.gave_up
    await engine.close()


async def test_publishers_are_slowed_when_the_disk_cannot_keep_up(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.sync_seconds = 0.02
    engine = await opened(tmp_path, StorageConfig(write_buffer_mb=2, cache_mb=4), disk=disk)
    ledger = await engine.open_ledger("t")
    run = run_of(*(b"x" * 10_000 for _ in range(10)))
    highest = 0
    for _ in range(200):
        if engine.pressure.over:
            relieved = asyncio.Event()
            engine.pressure.on_relief(relieved.set)
            await asyncio.wait_for(relieved.wait(), PATIENCE_SECONDS)
        ledger.append(run, lambda position, error: None)
        highest = max(highest, engine.pressure.bytes)
    assert highest <= engine.pressure.limit + len(run.data)
    await engine.checkpoint()
    await append(ledger, run)  # entries that are in the files by now make room for it
    assert engine.cache.tail_bytes <= 4 << 20
    await engine.close()


async def test_the_journal_is_bounded_while_a_checkpoint_lags(tmp_path: Path) -> None:
    disk = HeldLedgers()
    engine = await opened(tmp_path / "lagging", StorageConfig(journal_max_mb=1), disk=disk)
    ledger = await engine.open_ledger("t")
    other = await opened(tmp_path / "other")
    told = 0

    def done(position: Position | None, error: object) -> None:
        nonlocal told
        told += position is not None

    run = run_of(b"x" * 100_000, b"y")
    taken = 0
    while engine.journal.live_bytes < 1 << 20:
        await append(ledger, run)
        taken += 1
    assert taken <= 12
    await until(lambda: disk.held)
    for _ in range(10):
        ledger.append(run, done)
    for _ in range(20):  # the time that another journal on that disk takes for twice as much
        await append(await other.open_ledger("t"), run)
    assert told == 0
    assert engine.journal.live_bytes < 2 << 20
    disk.let_go.set()
    await until(lambda: told == 10)
    assert not disk.gave_up
    await engine.close()
    await other.close()


async def test_a_journal_that_fills_up_during_a_checkpoint_gets_the_next_one_at_once(tmp_path: Path) -> None:
    disk = HeldLedgers()
    engine = await opened(tmp_path, StorageConfig(journal_max_mb=1), disk=disk)
    ledger = await engine.open_ledger("t")
    run = run_of(b"x" * 100_000)
    for _ in range(2):
        await append(ledger, run)
    await until(lambda: disk.held)
    await asyncio.gather(*(append(ledger, run) for _ in range(12)))  # one group, however large
    waiting = asyncio.ensure_future(append(ledger, run))
    disk.let_go.set()
    await asyncio.wait_for(waiting, PATIENCE_SECONDS / 3)  # less than `flushInterval`
    await engine.close()


async def test_cold_reads_do_not_grow_the_cache(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(cache_mb=1))
    ledger = await engine.open_ledger("t")
    for _ in range(100):
        await append(ledger, run_of(*(b"x" * 10_000 for _ in range(10))))
    assert len(await contents(ledger)) == 1000
    assert engine.cache.cold_bytes + engine.cache.tail_bytes < 2 << 20
    await engine.close()


def test_open_files_are_bounded_and_the_least_recently_used_closes_first(tmp_path: Path) -> None:
    files = OpenFiles(RealDisk(), 3)
    paths = [tmp_path / f"{i}" for i in range(5)]
    descriptors = {}
    for path in (*paths[:3], paths[0], paths[3]):
        with files.use(path, create=True) as fd:
            descriptors[path] = fd
    with files.use(paths[0]) as fd:
        assert fd == descriptors[paths[0]]
        for path in paths[1:]:
            with files.use(path, create=True):
                pass
        os.fstat(fd)  # in use, so still open after three others were opened
    files.close()
    for fd in descriptors.values():
        try:
            os.fstat(fd)
            raise AssertionError("a descriptor was left open")
        except OSError:
            pass


async def test_many_topics_share_few_open_files(tmp_path: Path) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 40, hard))
    try:
        engine = await opened(tmp_path, StorageConfig())
        names = [f"topic {i}" for i in range(300)]
        for name in names:
            (await engine.open_ledger(name)).append(run_of(name.encode()), lambda position, error: None)
        await engine.checkpoint()
        await engine.close()
        engine = await opened(tmp_path, StorageConfig())
        for name in names:
            assert await contents(await engine.open_ledger(name)) == [name.encode()]
        await engine.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
