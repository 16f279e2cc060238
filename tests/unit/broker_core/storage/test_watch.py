"""Files that disappear under a running broker."""

import errno
import os
from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import DirectoryGone, Fenced
from broker_core.storage.watch import LOOK_SECONDS, DirectoryWatch
from tests.support.storage import append, contents, opened, run_of


class FlickeringDisk(RealDisk):
    """The next `failing` looks at names end with the error `number`."""

    def __init__(self) -> None:
        self.failing = 0
        self.number = errno.EIO

    def _fails(self) -> bool:
        fails = self.failing > 0
        self.failing -= fails
        return fails

    def is_named(self, path: str) -> bool:
        return not self._fails() and super().is_named(path)

    def identity(self, path: Path) -> tuple[int, int]:
        if self._fails():
            raise OSError(self.number, os.strerror(self.number), str(path))
        return super().identity(path)


def test_the_first_sync_after_the_deletion_of_the_journal_file_fails(tmp_path: Path) -> None:
    disk = RealDisk()
    fd = disk.open(tmp_path / "journal", create=True)
    directory = DirectoryWatch(disk, tmp_path, lambda: 100.0)
    directory.begin([tmp_path])
    directory.check_written(fd, str(tmp_path / "journal"))
    (tmp_path / "journal").unlink()
    with pytest.raises(DirectoryGone, match="a file that is in use was deleted"):
        directory.check_written(fd, str(tmp_path / "journal"))
    disk.close(fd)


def test_a_sync_after_some_time_looks_at_the_directories(tmp_path: Path) -> None:
    now = 100.0
    disk = RealDisk()
    fd = disk.open(tmp_path / "journal", create=True)
    (tmp_path / "data").mkdir()
    directory = DirectoryWatch(disk, tmp_path, lambda: now)
    directory.begin([tmp_path / "data"])
    directory.check_written(fd, str(tmp_path / "journal"))
    (tmp_path / "data").rmdir()
    directory.check_written(fd, str(tmp_path / "journal"))
    now += 2 * LOOK_SECONDS
    with pytest.raises(DirectoryGone, match="data: No such file or directory"):
        directory.check_written(fd, str(tmp_path / "journal"))
    disk.close(fd)


def test_a_file_that_another_one_replaced_is_noticed_after_some_time(tmp_path: Path) -> None:
    now = 100.0
    disk = RealDisk()
    journal = tmp_path / "journal"
    fd = disk.open(journal, create=True)
    directory = DirectoryWatch(disk, tmp_path, lambda: now)
    directory.begin([tmp_path])
    directory.check_written(fd, str(journal))
    journal.unlink()
    journal.touch()
    now += 2 * LOOK_SECONDS
    with pytest.raises(DirectoryGone, match="a file that is in use was deleted"):
        directory.check_written(fd, str(journal))
    disk.close(fd)


async def test_a_directory_that_another_broker_took_after_its_lock_was_deleted_is_lost(tmp_path: Path) -> None:
    first = await opened(tmp_path / "d")
    filenames.lock_file(first.path).unlink()
    second = await opened(tmp_path / "d")
    with pytest.raises(DirectoryGone, match="LOCK is not the one that was opened"):
        first.watch.check()
    second.watch.check()
    await second.close()
    await first.close()


async def test_a_look_that_fails_once_and_then_succeeds_fails_no_write(tmp_path: Path) -> None:
    disk = FlickeringDisk()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"before"))
    disk.failing = 2
    await append(ledger, run_of(b"meanwhile"))
    assert disk.failing == 0
    assert not engine.watch.gone
    await engine.close()


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
async def test_writes_succeed_again_without_a_restart_when_the_disk_answers_again(tmp_path: Path, number: int) -> None:
    disk = FlickeringDisk()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"before"))
    disk.failing, disk.number = 1_000_000, number
    with pytest.raises(Fenced, match=f"cannot look for .*{os.strerror(number)}"):
        await append(ledger, run_of(b"unknown"))
    disk.failing = 0
    ledger.unfence()
    await append(ledger, run_of(b"after"))
    assert (await contents(ledger))[-1] == b"after"
    assert not engine.watch.gone
    await engine.close()


async def test_a_missing_directory_is_noticed_by_a_disk_that_fails_now_and_then(tmp_path: Path) -> None:
    disk = FlickeringDisk()
    engine = await opened(tmp_path / "d", disk=disk)
    disk.failing = 2
    (tmp_path / "d").rename(tmp_path / "aside")
    with pytest.raises(DirectoryGone, match="No such file or directory"):
        engine.watch.check()
    (tmp_path / "aside").rename(tmp_path / "d")
    await engine.close()


def test_looking_for_a_deletion_reads_no_times_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("without /proc the times are read as well")
    disk = RealDisk()
    fd = disk.open(tmp_path / "journal", create=True)
    with monkeypatch.context() as patched:
        for call in ("os.fstat", "os.stat"):
            patched.delattr(call)
        assert disk.is_named(str(tmp_path / "journal")) and not disk.is_deleted(fd)
        (tmp_path / "journal").unlink()
        assert disk.is_deleted(fd) and not disk.is_named(str(tmp_path / "journal"))
    disk.close(fd)


def test_a_deletion_is_found_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = RealDisk()
    fd = disk.open(tmp_path / "journal", create=True)
    monkeypatch.setattr("os.readlink", _no_proc)
    assert not disk.is_deleted(fd)
    (tmp_path / "journal").unlink()
    assert disk.is_deleted(fd)
    disk.close(fd)


def _no_proc(path: str) -> str:
    raise FileNotFoundError(path)
