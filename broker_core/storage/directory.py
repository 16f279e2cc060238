"""Taking a data directory: lock, FORMAT marker, folders."""

import logging
import os
import shutil
import stat
import time
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage import filenames, migration
from broker_core.storage.disk import Disk
from broker_core.storage.errors import CatalogUnusable, DirectoryLocked, NotOurDirectory

log = logging.getLogger(__name__)

GLANCES = 3  # of other processes in a row
GLANCE_SECONDS = 0.01


def take(disk: Disk, directory: Path, config: StorageConfig) -> int:
    """Creates or checks the directory and locks it; returns the descriptor that holds the lock. Blocks.

    Raises DirectoryLocked, FormatTooNew, NotOurDirectory, CatalogUnusable, OSError.
    """
    journals = filenames.journal_directory(directory, config.journal_directory)
    disk.make_directory(directory)
    if _is_foreign(disk, directory):
        raise NotOurDirectory(
            f"{directory} is not empty and has no FORMAT file: it is not a data directory of pulsarctl; "
            + migration.REPAIR.format(directory)
        )
    lock = _lock(disk, directory)
    _warn_of_others(directory)
    try:
        if not disk.exists(filenames.format_file(directory)):
            migration.write_version(disk, directory, filenames.FORMAT_VERSION)
        _refuse_without_catalog(disk, directory, journals)
        migration.migrate(disk, directory)
        disk.make_directory(filenames.ledgers_directory(directory))
        disk.make_directory(journals)
    except BaseException:
        disk.close(lock)
        raise
    return lock


def _lock(disk: Disk, directory: Path) -> int:
    """Takes the lock. Tries again: a process that checks whether the directory is in use holds it for a moment."""
    for _ in range(GLANCES):
        try:
            return disk.lock(filenames.lock_file(directory), f"process {os.getpid()}")
        except DirectoryLocked:
            time.sleep(GLANCE_SECONDS)
    return disk.lock(filenames.lock_file(directory), f"process {os.getpid()}")


def _refuse_without_catalog(disk: Disk, directory: Path, journals: Path) -> None:
    """Call it before the database is opened: SQLite would make a new one, and ids of ledgers would be used again."""
    database = filenames.metadata_file(directory)
    if has_data(disk, directory, journals) and (problem := missing(disk, database)) is not None:
        raise CatalogUnusable(database, problem)


def missing(disk: Disk, path: Path) -> str | None:
    if not disk.exists(path):
        return "it is missing"
    fd = disk.open(path)
    try:
        return None if disk.size(fd) else "it is empty"
    finally:
        disk.close(fd)


def has_data(disk: Disk, directory: Path, journals: Path) -> bool:
    """Whether the directory holds what only a catalog explains."""
    if disk.exists(filenames.catalog_log(directory)):
        return True
    if disk.exists(journals) and any(filenames.journal_number(name) for name in disk.list_directory(journals)):
        return True
    ledgers = filenames.ledgers_directory(directory)
    return disk.exists(ledgers) and any(disk.list_directory(ledgers / name) for name in disk.list_directory(ledgers))


def highest_id(disk: Disk, directory: Path) -> int:
    """The highest id that a file of the directory has; it must not be given again, whatever the catalog says."""
    ledgers = filenames.ledgers_directory(directory)
    folders = [name for name in disk.list_directory(ledgers) if name.isdecimal()]
    for folder in sorted(folders, key=int, reverse=True):
        file_ids = [filenames.file_id(name) for name in disk.list_directory(ledgers / folder)]
        if ids := [number for number in file_ids if number is not None]:
            return max(ids)
    return 0


def wipe(disk: Disk, directory: Path) -> None:
    """Empties an unused data directory; the marker is deleted last, so that an interrupted wipe can be repeated.

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
    """The name that the process using the directory gave itself, or None if it is not in use."""
    lock_file = filenames.lock_file(directory)
    if not disk.exists(lock_file):
        return None
    try:
        disk.close(disk.lock(lock_file, ""))
    except DirectoryLocked as error:
        return error.owner or "another process"
    return None


def _warn_of_others(directory: Path) -> None:
    """Only warns: the owner of an existing directory decides on its mode."""
    mode = stat.S_IMODE(directory.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning(
            "other users of this machine can reach the data directory %s (mode %03o); to keep them out, run"
            " chmod 700 on it",
            directory,
            mode,
        )


def _is_foreign(disk: Disk, directory: Path) -> bool:
    """A directory whose first start was killed holds our lock file, and perhaps a FORMAT file not yet in place.

    Nothing is locked yet. The names come first and FORMAT after them: another process that makes this directory
    at the same time puts FORMAT there before any other name.
    """
    marker = filenames.format_file(directory)
    ours = {filenames.lock_file(directory).name, marker.name, marker.name + ".new"}
    others = [name for name in disk.list_directory(directory) if name not in ours and not name.startswith("owner.json")]
    return bool(others) and not disk.exists(marker)
