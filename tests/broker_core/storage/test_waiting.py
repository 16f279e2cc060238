"""Nothing that may wait for a disk runs on the event loop, and nothing held is without bound."""

import asyncio
import os
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from broker_core.config import StorageConfig
from broker_core.storage.disk import RealDisk
from broker_core.storage.open_files import OpenFiles
from broker_core.storage.position import EARLIEST, Position
from broker_core.storage.retention import Retention
from tests.broker_core.storage.faulty_disk import FaultyDisk
from tests.broker_core.storage.storage import append, contents, opened, run_of, until

SLOW_SECONDS = 0.2
LONGEST_PAUSE = 0.05


@asynccontextmanager
async def loop_watched() -> AsyncIterator[list[float]]:
    """Collects how long the loop took to come round, every time."""
    pauses: list[float] = []

    async def watch() -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.001)
            pauses.append(time.monotonic() - before)

    task = asyncio.create_task(watch())
    try:
        yield pauses
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_slow_disk_does_not_stop_the_loop(tmp_path: Path) -> None:
    disk = FaultyDisk()
    factory = await opened(tmp_path, StorageConfig(max_entries_per_ledger=20), disk=disk)
    ledger = await factory.open_ledger("t")
    first = await append(ledger, run_of(b"cached"))
    disk.sync_seconds = SLOW_SECONDS
    async with loop_watched() as pauses:
        waiting = [asyncio.ensure_future(append(ledger, run_of(b"%d" % i))) for i in range(50)]
        checkpoint = asyncio.ensure_future(factory.checkpoint())
        document = asyncio.ensure_future(factory.metadata.put("tenant", "t", {}))
        cursor = asyncio.ensure_future(ledger.open_cursor("s"))
        while not all(future.done() for future in (*waiting, checkpoint, document, cursor)):
            block = ledger.read_cached(first, 1, 100)
            assert block is not None
            assert block.entry(0) == b"cached"
            await asyncio.sleep(0.002)
        await (await cursor).reset(EARLIEST)
        await ledger.roll()
        await ledger.delete_cursor("s")
        await ledger.trim(Retention(), 0)
        await factory.close()
    assert max(pauses) < LONGEST_PAUSE


async def test_publishing_goes_on_while_a_checkpoint_waits_for_the_disk(tmp_path: Path) -> None:
    class SlowLedgers(FaultyDisk):
        def sync(self, fd: int) -> None:
            if self._paths[fd].suffix == ".ledger":
                time.sleep(SLOW_SECONDS)
            super().sync(fd)

    factory = await opened(tmp_path, disk=SlowLedgers())
    for name in "abcde":
        await append(await factory.open_ledger(name), run_of(b"x"))
    ledger = await factory.open_ledger("t")
    checkpoint = asyncio.ensure_future(factory.checkpoint())
    appended = 0
    while not checkpoint.done():
        await append(ledger, run_of(b"x"))
        appended += 1
    assert appended > 20
    await factory.close()


async def test_publishers_are_slowed_when_the_disk_cannot_follow(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.sync_seconds = 0.02
    factory = await opened(tmp_path, StorageConfig(write_buffer_mb=2, cache_mb=4), disk=disk)
    ledger = await factory.open_ledger("t")
    run = run_of(*(b"x" * 10_000 for _ in range(10)))
    highest = 0
    for _ in range(200):
        if factory.pressure.over:
            relieved = asyncio.Event()
            factory.pressure.on_relief(relieved.set)
            await asyncio.wait_for(relieved.wait(), 20)
        ledger.append(run, lambda position, error: None)
        highest = max(highest, factory.pressure.bytes)
    assert highest <= factory.pressure.limit + len(run.data)
    await factory.synced()
    assert factory.cache.tail_bytes <= 4 << 20
    await factory.close()


async def test_the_journal_is_bounded_while_a_checkpoint_lags(tmp_path: Path) -> None:
    class StuckCheckpoints(FaultyDisk):
        stuck = True

        def sync(self, fd: int) -> None:
            while self.stuck and self._paths[fd].suffix == ".ledger":
                time.sleep(0.005)
            super().sync(fd)

    disk = StuckCheckpoints()
    factory = await opened(tmp_path, StorageConfig(journal_max_mb=1), disk=disk)
    ledger = await factory.open_ledger("t")
    told = 0

    def done(position: Position | None, error: object) -> None:
        nonlocal told
        told += position is not None

    run = run_of(b"x" * 100_000, b"y")
    for _ in range(100):
        ledger.append(run, done)
        await asyncio.sleep(0.001)
    assert factory.journal.live_bytes < 12 << 20
    disk.stuck = False
    await until(lambda: told == 100)
    await factory.close()


async def test_cold_reads_do_not_grow_the_cache(tmp_path: Path) -> None:
    factory = await opened(tmp_path, StorageConfig(cache_mb=1))
    ledger = await factory.open_ledger("t")
    for _ in range(100):
        await append(ledger, run_of(*(b"x" * 10_000 for _ in range(10))))
    assert len(await contents(ledger)) == 1000
    assert factory.cache.cold_bytes + factory.cache.tail_bytes < 2 << 20
    await factory.close()


def test_open_files_are_bounded_and_least_recently_used_goes_first(tmp_path: Path) -> None:
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
        os.fstat(fd)  # in use: still open although three others were opened since
    files.close()
    for fd in descriptors.values():
        try:
            os.fstat(fd)
            raise AssertionError("a descriptor was left open")
        except OSError:
            pass


async def test_many_topics_fit_into_few_open_files(tmp_path: Path) -> None:
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 100, hard))
    try:
        factory = await opened(tmp_path, StorageConfig(open_files=16))
        names = [f"topic {i}" for i in range(300)]
        for name in names:
            (await factory.open_ledger(name)).append(run_of(name.encode()), lambda position, error: None)
        await factory.checkpoint()
        await factory.close()
        factory = await opened(tmp_path, StorageConfig(open_files=16))
        for name in names:
            assert await contents(await factory.open_ledger(name)) == [name.encode()]
        await factory.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
