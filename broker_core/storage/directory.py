"""Taking a data directory: lock, FORMAT marker, folders."""

import logging
import os
import shutil
import stat
from pathlib import Path

from broker_core.config.broker import StorageConfig
from broker_core.storage import filenames, migration
from broker_core.storage.disk import Disk
from broker_core.storage.errors import DirectoryLocked, NotOurDirectory

log = logging.getLogger(__name__)


def take(disk: Disk, directory: Path, config: StorageConfig) -> int:
    """Create or check the directory and lock it; returns the descriptor that holds the lock. Blocks.

    Raises DirectoryLocked, FormatTooNew, NotOurDirectory, OSError.
    """
    disk.make_directory(directory)
    if not disk.exists(filenames.format_file(directory)) and _is_foreign(disk, directory):
        raise NotOurDirectory(
            f"{directory} is not empty and has no FORMAT file: it is not a data directory of pulsarctl"
        )
    lock = disk.lock(filenames.lock_file(directory), f"process {os.getpid()}")
    _warn_of_others(directory)
    try:
        if not disk.exists(filenames.format_file(directory)):
            migration.write_version(disk, directory, filenames.FORMAT_VERSION)
        migration.migrate(disk, directory)
        disk.make_directory(filenames.ledgers_directory(directory))
        disk.make_directory(filenames.journal_directory(directory, config.journal_directory))
    except BaseException:
        disk.close(lock)
        raise
    return lock


def wipe(disk: Disk, directory: Path) -> None:
    """Empty a data directory that nobody uses; the marker goes last, so that an interrupted wipe can be repeated.

    A missing or empty directory is fine. Raises DirectoryLocked, NotOurDirectory, OSError.
    """
    if not directory.is_dir() or not disk.list_directory(directory):
        return
    marker = filenames.format_file(directory)
    if not disk.exists(marker):
        raise NotOurDirectory(f"{directory} has no FORMAT file of pulsarctl, so nothing in it is deleted")
    lock = disk.lock(filenames.lock_file(directory), f"process {os.getpid()}")
    try:
        for name in disk.list_directory(directory):
            path = directory / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path not in (marker, filenames.lock_file(directory)):
                disk.remove(path)
        disk.remove(marker)
    finally:
        disk.close(lock)


def owner_of(disk: Disk, directory: Path) -> str | None:
    """What the process that uses the directory calls itself, or None when nobody does."""
    lock_file = filenames.lock_file(directory)
    if not disk.exists(lock_file):
        return None
    try:
        disk.close(disk.lock(lock_file, ""))
    except DirectoryLocked as error:
        return error.owner or "another process"
    return None


def _warn_of_others(directory: Path) -> None:
    """The mode of a directory that was there before is its owner's to decide."""
    mode = stat.S_IMODE(directory.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning(
            "other users of this machine can reach the data directory %s (mode %03o); to keep them out, run"
            " chmod 700 on it",
            directory,
            mode,
        )


def _is_foreign(disk: Disk, directory: Path) -> bool:
    """A directory whose first start was killed holds our lock file, and perhaps a FORMAT file not yet in place."""
    ours = {filenames.lock_file(directory).name, filenames.format_file(directory).name + ".new"}
    return any(name not in ours and not name.startswith("owner.json") for name in disk.list_directory(directory))
