"""Journal files are reused, and their old content is never replayed."""

import contextlib
import errno
import threading
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage import filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.log.journal_spare import SpareFiles, remove_spare_files
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import append, contents, crash, opened, run_of

SIZE = 1 << 20


@pytest.fixture
def spare(tmp_path: Path) -> SpareFiles:
    return SpareFiles(RealDisk(), tmp_path, journal_bytes=8 * SIZE)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*"))


def test_a_zeroed_file_is_created_once_and_used_once(spare: SpareFiles, tmp_path: Path) -> None:
    spare.make()
    spare.make()
    journal = filenames.journal_file(tmp_path, 1)
    spare._making.join()  # type: ignore[union-attr]  # it was started above
    assert spare.take(journal) == SIZE
    assert journal.stat().st_size == SIZE
    assert spare.take(filenames.journal_file(tmp_path, 2)) == 0
    assert names(tmp_path) == [journal.name]


def test_a_retired_journal_becomes_a_spare_file(spare: SpareFiles, tmp_path: Path) -> None:
    retired = filenames.journal_file(tmp_path, 1)
    retired.write_bytes(b"old")
    spare.keep(retired, SIZE)
    assert not retired.exists()
    assert spare.take(filenames.journal_file(tmp_path, 2)) == SIZE
    assert filenames.journal_file(tmp_path, 2).read_bytes() == b"old"


def test_small_and_surplus_journals_are_removed(spare: SpareFiles, tmp_path: Path) -> None:
    for number, written in enumerate([SIZE - 1, *[SIZE] * 5], 1):
        retired = filenames.journal_file(tmp_path, number)
        retired.write_bytes(b"")
        spare.keep(retired, written)
    assert len(names(tmp_path)) == 4


def test_leftovers_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    filenames.spare_journal(tmp_path, 7).write_bytes(b"left")
    journal = filenames.journal_file(tmp_path, 1)
    journal.write_bytes(b"kept")
    remove_spare_files(RealDisk(), tmp_path)
    assert names(tmp_path) == [journal.name]


def test_a_spare_file_that_was_deleted_is_not_used(spare: SpareFiles, tmp_path: Path) -> None:
    retired = filenames.journal_file(tmp_path, 1)
    retired.write_bytes(b"old")
    spare.keep(retired, SIZE)
    for path in tmp_path.iterdir():
        path.unlink()
    assert spare.take(filenames.journal_file(tmp_path, 2)) == 0
    assert spare.is_empty


def test_spare_files_that_cannot_be_removed_are_given_up_and_wait_for_the_next_start(tmp_path: Path) -> None:
    disk = FaultyDisk()
    spare = SpareFiles(disk, tmp_path, journal_bytes=8 * SIZE)
    for number in (1, 2):
        retired = filenames.journal_file(tmp_path, number)
        retired.write_bytes(b"old")
        spare.keep(retired, SIZE)
    disk.failures["remove", ".spare"] = errno.EIO
    spare.give_up()
    assert spare.is_empty
    spare.close()
    assert len(names(tmp_path)) == 2
    remove_spare_files(RealDisk(), tmp_path)
    assert names(tmp_path) == []


def test_a_file_of_zeros_that_a_full_disk_no_longer_has_room_for_is_removed(tmp_path: Path) -> None:
    disk = HeldSync()
    spare = SpareFiles(disk, tmp_path, journal_bytes=8 * SIZE)
    spare.make()
    assert disk.reached.wait(10)
    spare.give_up()
    disk.goes_on.set()
    spare._making.join()  # type: ignore[union-attr]  # it was started above
    assert spare.is_empty
    assert names(tmp_path) == []


class HeldSync(RealDisk):
    """A sync waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.goes_on = threading.Event()

    def sync(self, fd: int) -> None:
        self.reached.set()
        assert self.goes_on.wait(10)
        super().sync(fd)


class CountingDisk(RealDisk):
    """Counts journal files that were spare files, and spare files that were journal files."""

    def __init__(self) -> None:
        self.taken = self.kept = 0

    def rename(self, path: Path, target: Path) -> None:
        super().rename(path, target)
        if path.suffix == ".spare":
            self.taken += 1
        elif target.suffix == ".spare":
            self.kept += 1


async def test_old_content_of_a_journal_file_is_not_replayed(tmp_path: Path) -> None:
    """Each round reuses files of 128 KB and crashes within one of them."""
    config = StorageConfig(reserve_mb=0, journal_max_mb=1, journal_pace_ms=0)
    expected: list[bytes] = []
    directory = tmp_path / "0"
    for round_number in range(3):
        disk = CountingDisk()
        engine = await opened(directory, config, disk=disk)
        assert engine.damage.reports == []
        ledger = await engine.open_ledger("t")
        assert await contents(ledger) == expected
        for number in range(160):
            entry = b"%d:%d:" % (round_number, number) + bytes(4000)
            await append(ledger, run_of(entry))
            expected.append(entry)
            if number in (60, 120):
                await engine.checkpoint()
        directory = crash(directory)
        await engine.close()
        assert disk.kept > 0
        assert disk.taken > 1


class OnceFailingDisk(RealDisk):
    """The first sync of the directory after a journal file became a spare one fails."""

    def __init__(self) -> None:
        self.renamed = self.failed = False

    def rename(self, path: Path, target: Path) -> None:
        super().rename(path, target)
        self.renamed = self.renamed or path.name.endswith(".journal")

    def sync_directory(self, path: Path) -> None:
        if self.renamed and not self.failed:
            self.failed = True
            raise OSError(errno.EIO, "Input/output error", str(path))
        super().sync_directory(path)


async def test_checkpoints_go_on_after_a_failed_sync_of_the_directory(tmp_path: Path) -> None:
    disk = OnceFailingDisk()
    engine = await opened(tmp_path, StorageConfig(reserve_mb=0, journal_max_mb=512), disk=disk)
    ledger = await engine.open_ledger("t")
    for _ in range(90):
        await append(ledger, run_of(bytes(SIZE)))
    with contextlib.suppress(OSError):  # unless one in the background was the first
        await engine.checkpoint()
    await append(ledger, run_of(b"y"))
    await engine.checkpoint()
    assert disk.failed
    await engine.close()
