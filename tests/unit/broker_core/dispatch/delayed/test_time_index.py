"""The index returns every row once, in order of time, from memory and disk, and keeps few of them in memory."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from broker_core.dispatch.delayed import time_index
from broker_core.dispatch.delayed.bucket_files import BucketFiles
from broker_core.dispatch.delayed.time_index import Row, TimeIndex
from broker_core.storage.disk import RealDisk
from tests.support.condition import until
from tests.unit.broker_core.dispatch.delayed.work import Work


class FullDisk(RealDisk):
    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        raise OSError(28, "No space left on device")


class DeafDisk(RealDisk):
    """Its first read fails."""

    failures = 1

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        if self.failures:
            self.failures -= 1
            raise OSError(5, "Input/output error")
        return super().pread(fd, size, offset)


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[BucketFiles]:
    found = BucketFiles(RealDisk(), tmp_path / "delayed")
    yield found
    await found.close()


def index_of(files: BucketFiles, work: Work, bucket_rows: int = 100, chunk_rows: int = 10) -> TimeIndex:
    return TimeIndex(files, work.spawn, bucket_rows=bucket_rows, chunk_rows=chunk_rows, on_ready=lambda: None)


async def drained(index: TimeIndex, work: Work, rows: int) -> list[Row]:
    found: list[Row] = []
    while len(found) < rows:
        row = index.take(1 << 60)
        if row is None:
            await work.done()
        else:
            found.append(row)
    assert index.earliest() is None
    return found


def random_rows(count: int, seed: int = 1) -> list[Row]:
    random_ = random.Random(seed)  # test data, not a secret
    return [(random_.randrange(1000), 7, entry_id) for entry_id in range(count)]


async def test_rows_come_back_in_order_of_time_from_memory_and_disk(files: BucketFiles) -> None:
    work = Work()
    index = index_of(files, work)
    rows = random_rows(1234)
    for at in range(0, len(rows), 30):
        index.add(rows[at : at + 30])
    await work.done()
    assert await drained(index, work, len(rows)) == sorted(rows)


async def test_rows_can_be_added_while_others_are_removed(files: BucketFiles) -> None:
    work = Work()
    index = index_of(files, work)
    rows = random_rows(2000)
    found: list[Row] = []
    for at in range(0, len(rows), 50):
        index.add(rows[at : at + 50])
        for _ in range(20):
            row = index.take(1 << 60)
            if row is not None:
                found.append(row)
        await asyncio.sleep(0)
    found += await drained(index, work, len(rows) - len(found))
    assert sorted(found) == sorted(rows)


async def test_no_row_is_returned_before_its_time(files: BucketFiles) -> None:
    index = index_of(files, Work())
    index.add([(20, 1, 0), (10, 1, 1)])
    assert index.earliest() == 10
    assert index.take(9) is None
    assert index.take(10) == (10, 1, 1)
    assert index.take(19) is None


async def test_only_the_next_rows_stay_in_memory(files: BucketFiles, tmp_path: Path) -> None:
    work = Work()
    index = index_of(files, work, bucket_rows=10_000, chunk_rows=100)
    index.add(random_rows(50_000))
    await work.done()
    assert index.memory <= 100 * 24 * 5 + 10_000 * 65
    assert sum(path.stat().st_size for path in (tmp_path / "delayed").iterdir()) == 50_000 * 24


async def test_an_empty_bucket_deletes_its_file(files: BucketFiles, tmp_path: Path) -> None:
    work = Work()
    index = index_of(files, work)
    index.add(random_rows(500))
    await work.done()
    await drained(index, work, 500)
    await until(lambda: not list((tmp_path / "delayed").iterdir()))


async def test_clearing_deletes_rows_and_files_including_pending_ones(files: BucketFiles, tmp_path: Path) -> None:
    work = Work()
    index = index_of(files, work)
    index.add(random_rows(500))
    await work.done()
    index.add(random_rows(500))
    index.clear()
    assert index.take(1 << 60) is None
    await work.done()
    await until(lambda: not list((tmp_path / "delayed").iterdir()))


async def test_leftovers_of_an_earlier_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / "delayed").mkdir()
    (tmp_path / "delayed" / "0000000001.bucket").write_bytes(b"old")
    files = BucketFiles(RealDisk(), tmp_path / "delayed")
    await files.close()
    assert not list((tmp_path / "delayed").iterdir())


async def test_on_a_full_disk_rows_stay_in_memory(tmp_path: Path) -> None:
    work = Work()
    files = BucketFiles(FullDisk(), tmp_path / "delayed")
    index = index_of(files, work)
    rows = random_rows(500)
    index.add(rows)
    await work.done()
    assert not index.is_behind
    assert await drained(index, work, 500) == sorted(rows)
    await files.close()


async def test_a_failed_bucket_read_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_index, "RETRY_SECONDS", 0.01)
    work = Work()
    files = BucketFiles(DeafDisk(), tmp_path / "delayed")
    index = index_of(files, work)
    rows = random_rows(100)
    index.add(rows)
    await work.done()
    assert await drained(index, work, 100) == sorted(rows)
    await files.close()


async def test_a_slow_disk_is_detected(files: BucketFiles) -> None:
    work = Work()
    index = index_of(files, work)
    for seed in range(time_index.MOST_UNWRITTEN):
        assert not index.is_behind
        index.add(random_rows(100, seed))
    assert index.is_behind
    await work.done()
    assert not index.is_behind


async def test_closing_an_index_with_pending_work_logs_no_failure(tmp_path: Path) -> None:
    work = Work()
    files = BucketFiles(RealDisk(), tmp_path / "delayed")
    index = index_of(files, work)
    index.add(random_rows(100))
    index.add(random_rows(100))
    tasks = list(work.tasks)
    index.clear()
    await files.close()
    await work.done()
    assert [task.exception() for task in tasks] == [None, None]
    assert index.memory == 0
