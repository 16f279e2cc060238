"""A group is written and synced in one call if the platform has one, else in two."""

import asyncio
import errno
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage.disk import RealDisk
from tests.support.storage import append, contents, opened, run_of

DATA = bytes(range(256)) * 40
needs_the_call = pytest.mark.skipif(not hasattr(os, "RWF_DSYNC"), reason="this platform has no write that syncs")


class WatchedDisk(RealDisk):
    """Records the calls of the test and of the sync thread."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def _note(self, call: str) -> None:
        if threading.current_thread().name in ("MainThread", "journal"):
            self.calls.append(call)

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        self._note("pwrite")
        super().pwrite(fd, data, offset)

    def sync(self, fd: int) -> None:
        self._note("sync")
        super().sync(fd)


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


@needs_the_call
def test_one_call_writes_and_syncs(fd: int) -> None:
    disk = WatchedDisk()
    disk.write_synced(fd, [DATA[:5000], memoryview(DATA)[5000:]], 7)
    assert disk.calls == []
    assert os.pread(fd, 20_000, 7) == DATA


def test_a_platform_without_the_call_writes_and_then_syncs(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "RWF_DSYNC", raising=False)
    monkeypatch.setattr(RealDisk, "_writes_through", False)
    disk = WatchedDisk()
    disk.write_synced(fd, [DATA[:5000], memoryview(DATA)[5000:]], 7)
    assert disk.calls == ["pwrite", "sync"]
    assert os.pread(fd, 20_000, 7) == DATA


@needs_the_call
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_that_refuses_the_call_is_tried_once(
    fd: int, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(fd: int, buffers: Sequence[bytes], offset: int, flags: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pwritev", refuse)
    disk = WatchedDisk()
    disk.write_synced(fd, [DATA], 0)
    monkeypatch.undo()
    disk.write_synced(fd, [DATA], len(DATA))
    assert disk.calls == ["pwrite", "sync"] * 2
    assert os.pread(fd, 40_000, 0) == DATA * 2


@needs_the_call
def test_the_rest_of_a_short_write_is_written_and_synced(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_some(fd: int, buffers: Sequence[bytes], offset: int, flags: int) -> int:
        return os.pwrite(fd, buffers[0][:100], offset)

    monkeypatch.setattr(os, "pwritev", write_some)
    disk = WatchedDisk()
    disk.write_synced(fd, [DATA], 0)
    assert disk.calls == ["pwrite", "sync"]
    assert os.pread(fd, 20_000, 0) == DATA


@needs_the_call
def test_a_disk_error_does_not_cause_a_retry_with_another_call(fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int, buffers: Sequence[bytes], offset: int, flags: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pwritev", fail)
    disk = WatchedDisk()
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        disk.write_synced(fd, [DATA], 0)
    assert disk.calls == []


async def test_a_group_of_several_pieces_is_synced_as_a_whole(tmp_path: Path) -> None:
    disk = WatchedDisk()
    engine = await opened(tmp_path, StorageConfig(reserve_mb=0), disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"the first group opens a file"))
    disk.calls.clear()
    large = [bytes([number]) * (5 << 20) for number in range(2)]
    await asyncio.gather(*(append(ledger, run_of(entry)) for entry in large))
    assert disk.calls == ["pwrite", "pwrite", "pwrite", "pwrite", "sync"]  # header, two pieces, trailer
    assert (await contents(ledger))[1:] == large
    await engine.close()


async def test_a_large_entry_is_written_without_a_copy_and_read_back(tmp_path: Path) -> None:
    class NotingDisk(RealDisk):
        largest: bytes | memoryview = b""

        def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
            self.largest = max(self.largest, *buffers, key=len)
            super().write_synced(fd, buffers, offset)

    disk, config = NotingDisk(), StorageConfig(reserve_mb=0)
    engine = await opened(tmp_path, config, disk=disk)
    entry = bytes(range(256)) * 256
    run = run_of(entry)
    await append(await engine.open_ledger("t"), run)
    assert isinstance(disk.largest, memoryview)
    assert disk.largest.obj is run.data
    await engine.close()
    engine = await opened(tmp_path, config)
    assert await contents(await engine.open_ledger("t")) == [entry]
    await engine.close()


async def test_one_huge_entry_after_many_small_ones_is_written(tmp_path: Path) -> None:
    """More buffers than one call of the system takes (IOV_MAX), though they are large on average."""
    engine = await opened(tmp_path, StorageConfig(reserve_mb=0))
    ledger = await engine.open_ledger("t")
    entries = [b"small"] * 1100 + [bytes(10 << 20)]
    await asyncio.gather(*(append(ledger, run_of(entry)) for entry in entries))
    assert await contents(ledger) == entries
    await engine.close()
