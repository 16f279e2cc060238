"""The directory for all that Spark writes while a command runs.

The command removes it at its end. If it is killed, the next command does. Its owner holds a lock on a file inside,
which ends with the process, so a directory whose lock is free has no owner.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broker_core.storage.disk import RealDisk

PREFIX = "pulsarctl-spark-"
_OWNER = "owner.lock"

_disk = RealDisk()


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """A new directory that is removed at the end of the block, and those of killed commands before it."""
    remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as name:
        owner = _own(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(owner)


def remove_abandoned(parent: Path) -> None:
    """A directory without a lock file is left alone: another command may be creating it."""
    for directory in parent.glob(f"{PREFIX}*"):
        owner = directory / _OWNER
        if not directory.is_symlink() and os.access(owner, os.W_OK) and not _disk.is_locked(owner):
            shutil.rmtree(directory, ignore_errors=True)


def _own(directory: Path) -> int:
    """The file gets its name when it is locked, so that a command never sees it unlocked before its owner ends."""
    new = directory / f"{_OWNER}.new"
    descriptor = _disk.lock(new, "pulsarctl")
    new.rename(directory / _OWNER)
    return descriptor
