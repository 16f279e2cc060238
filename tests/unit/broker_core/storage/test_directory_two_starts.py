"""Two processes that start on one new directory: one waits for the other, and neither takes it for a stranger's."""

import contextlib
import os
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage import directory, filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import DirectoryLocked

TURNS = range(12)  # `take` asks the disk less often before it has made a new directory


def start_and_end(path: Path) -> None:
    """What another process does between two calls of ours."""
    disk = RealDisk()
    with contextlib.suppress(DirectoryLocked):
        lock = directory.take(disk, path, StorageConfig())
        disk.connect(filenames.metadata_file(path)).close()
        disk.close(lock)


class RivalDisk(RealDisk):
    """Another process starts and ends before our call number `turn`."""

    def __init__(self, turn: int) -> None:
        self.turn = turn
        self.calls = 0

    def _call(self, path: Path) -> None:
        self.calls += 1
        if self.calls == self.turn + 1:
            start_and_end(path)

    def exists(self, path: Path) -> bool:
        self._call(path.parent)
        return super().exists(path)

    def list_directory(self, path: Path) -> list[str]:
        self._call(path)
        return super().list_directory(path)

    def lock(self, path: Path, owner: str) -> int:
        self._call(path.parent)
        return super().lock(path, owner)


class WatchedDisk(RealDisk):
    """Another process looks whether the directory is in use, at the moment of our first attempt."""

    def __init__(self) -> None:
        self.is_watched = True

    def lock(self, path: Path, owner: str) -> int:
        with contextlib.ExitStack() as stack:
            if self.is_watched:
                self.is_watched = False
                stack.callback(os.close, super().lock(path, ""))
            return super().lock(path, owner)


def test_a_start_is_not_refused_because_another_process_looks_at_the_lock(tmp_path: Path) -> None:
    disk = WatchedDisk()
    disk.close(directory.take(disk, tmp_path / "data", StorageConfig()))


@pytest.mark.parametrize("turn", TURNS)
def test_a_rival_that_starts_and_ends_meanwhile_does_not_make_the_directory_foreign(tmp_path: Path, turn: int) -> None:
    path = tmp_path / "data"
    disk = RivalDisk(turn)
    disk.close(directory.take(disk, path, StorageConfig()))
    assert filenames.format_file(path).exists()
    assert disk.calls <= max(TURNS)
