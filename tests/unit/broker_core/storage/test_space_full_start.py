"""A start on a disk without space: what it gives up, and how a user frees space through the broker."""

import contextlib
import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage import filenames, space
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import DiskFull
from broker_core.storage.records.position import EARLIEST
from tests.support.condition import until
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import append, contents, opened, run_of

CONFIG = StorageConfig(reserve_mb=1, journal_max_mb=8)
ENTRY = b"x" * 100_000


class SmallDisk(FaultyDisk):
    """Has room for `capacity` bytes under the directory; what SQLite writes counts, and is never refused."""

    def __init__(self, directory: Path, capacity: int) -> None:
        super().__init__()
        self.directory = directory
        self.capacity = capacity

    def free_bytes(self, path: Path) -> int:
        return max(0, self.capacity - used_bytes(self.directory))

    def _check_room(self, fd: int, end: int) -> None:
        if end - self.size(fd) > self.free_bytes(self.directory):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._paths[fd]))


def used_bytes(directory: Path) -> int:
    return sum(size(path) for path in directory.rglob("*"))


def size(path: Path) -> int:
    """0 for what another thread has removed since the directory was listed, such as the reserve."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


@pytest.fixture(autouse=True)
def never_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "PROBE_SECONDS", 3600)


async def killed_when_full(path: Path) -> tuple[Path, list[bytes]]:
    """What a process left that was killed when the disk was full, and the entries that it had confirmed."""
    engine = await opened(path, CONFIG, disk=SmallDisk(path, 20 << 20))
    ledger = await engine.open_ledger("t")
    await ledger.open_cursor("s", initial=EARLIEST)
    confirmed: list[bytes] = []
    with pytest.raises(DiskFull):
        while True:
            await append(ledger, run_of(ENTRY + b"%d" % len(confirmed)))
            confirmed.append(ENTRY + b"%d" % len(confirmed))
    left = path.with_name("left")
    shutil.copytree(path, left, copy_function=copied)
    await engine.close()
    return left, confirmed


def copied(source: str, target: str) -> None:
    with contextlib.suppress(FileNotFoundError):  # the reserve may be given up since the directory was listed
        shutil.copy(source, target)


async def started_without_space(path: Path) -> StorageEngine:
    """Other programs have used all that was free."""
    return await opened(path, CONFIG, disk=SmallDisk(path, used_bytes(path)))


async def test_a_start_on_a_full_disk_keeps_all_entries_and_refuses_new_ones(tmp_path: Path) -> None:
    left, confirmed = await killed_when_full(tmp_path / "d")
    engine = await started_without_space(left)
    ledger = await engine.open_ledger("t")
    assert await contents(ledger) == confirmed
    assert engine.space.full is not None
    with pytest.raises(DiskFull):
        ledger.append(run_of(b"refused"), lambda position, error: None)
    await engine.close()


async def test_a_deletion_after_a_start_on_a_full_disk_lets_entries_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, _ = await killed_when_full(tmp_path / "d")
    monkeypatch.setattr(space, "PROBE_SECONDS", 0.01)
    engine = await started_without_space(left)
    await engine.delete_ledger("t")
    await until(lambda: engine.space.full is None)
    other = await engine.open_ledger("other")
    await append(other, run_of(b"healed"))
    assert filenames.start_reserve_file(left).stat().st_size == 1 << 20
    assert await contents(other) == [b"healed"]
    await engine.close()


async def test_a_second_start_on_a_full_disk_has_the_rest_of_the_reserve(tmp_path: Path) -> None:
    left, confirmed = await killed_when_full(tmp_path / "d")
    for times in ("once", "twice"):
        engine = await started_without_space(left)
        assert await contents(await engine.open_ledger("t")) == confirmed
        rest = tmp_path / times
        shutil.copytree(left, rest, copy_function=copied)
        await engine.close()
        left = rest


async def test_a_start_that_needs_more_than_the_reserves_says_so(tmp_path: Path) -> None:
    left, _ = await killed_when_full(tmp_path / "d")
    for ledger in left.rglob("*.ledger"):
        ledger.unlink()  # as if nothing of the journal had reached the ledgers
    for reserve in left.glob("RESERVE*"):
        reserve.unlink()
    with pytest.raises(DiskFull, match=r"the start needs more space .* nothing is lost"):
        await started_without_space(left)
