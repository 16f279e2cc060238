"""The directory for all that Spark writes while a command runs.

The command removes it at its end. If it is killed, the next command does. Its owner holds a lock on a file inside,
which ends with the process, so a directory whose lock is free has no owner. Where files cannot be locked, as on Windows
and some network file systems, there is no such file, and the directory of a killed command stays.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broker_core.storage.disk import Disk, RealDisk
from broker_core.storage.errors import StorageError

PREFIX = "pulsarctl-spark-"
_OWNER = "owner.lock"

_disk = RealDisk()


@contextmanager
def scratch_directory(disk: Disk = _disk) -> Iterator[Path]:
    """A new directory that is removed at the end of the block, and those of killed commands before it."""
    remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        owner = _own(Path(name), disk)
        try:
            yield Path(name)
        finally:
            if owner is not None:
                os.close(owner)


def remove_abandoned(parent: Path) -> None:
    """A directory without a lock file is left alone: another command may be creating it."""
    for directory in parent.glob(f"{PREFIX}*"):
        owner = directory / _OWNER
        if not directory.is_symlink() and os.access(owner, os.W_OK) and not _disk.is_locked(owner):
            shutil.rmtree(directory, ignore_errors=True)


def _own(directory: Path, disk: Disk) -> int | None:
    """The file gets its name when it is locked, so that a command never sees it unlocked before its owner ends."""
    if os.name != "posix":
        return None
    new = directory / f"{_OWNER}.new"
    try:
        descriptor = disk.lock(new, "pulsarctl")
    except (OSError, StorageError):
        return None
    new.rename(directory / _OWNER)
    return descriptor
