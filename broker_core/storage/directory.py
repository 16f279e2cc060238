"""Taking a data directory: lock, FORMAT marker, folders."""

import os
from pathlib import Path

from broker_core.config import StorageConfig
from broker_core.storage import filenames
from broker_core.storage.disk import Disk
from broker_core.storage.errors import FormatTooNew, NotOurDirectory


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
    try:
        _check_format(disk, directory)
        disk.make_directory(filenames.ledgers_directory(directory))
        disk.make_directory(filenames.journal_directory(directory, config.journal_directory))
    except BaseException:
        disk.close(lock)
        raise
    return lock


def _is_foreign(disk: Disk, directory: Path) -> bool:
    """A directory whose first start was killed holds our lock file, and perhaps a FORMAT file not yet in place."""
    ours = {filenames.lock_file(directory).name, filenames.format_file(directory).name + ".new"}
    return any(name not in ours and not name.startswith("owner.json") for name in disk.list_directory(directory))


def _check_format(disk: Disk, directory: Path) -> None:
    path = filenames.format_file(directory)
    if not disk.exists(path):
        disk.replace(path, filenames.FORMAT_TEXT.format(filenames.FORMAT_VERSION).encode())
        return
    fd = disk.open(path)
    try:
        version = filenames.parse_format(disk.pread(fd, 100, 0).decode("utf-8", "replace"))
    finally:
        disk.close(fd)
    if version is None:
        raise NotOurDirectory(f"{path} is not a FORMAT file of pulsarctl")
    if version > filenames.FORMAT_VERSION:
        raise FormatTooNew(directory, version, filenames.FORMAT_VERSION)
