"""One process at a time changes the files of a folder: what it reads is still there when it writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_writer(file: Path) -> Iterator[None]:
    """Waits for the other processes that change files of this file's folder. Raises OSError if it cannot be made."""
    folder = file.resolve().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder, waits=True):
        yield


@contextmanager
def only_writer(folder: Path) -> Iterator[bool]:
    """Whether no other process writes to the folder; until the end of the block, this one does. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, waits=False) as is_ours:
        yield is_ours


@contextmanager
def locked(path: Path, *, waits: bool) -> Iterator[bool]:
    """Whether this process has the lock of a file or folder, which ends with the process.

    A folder is locked itself, so that no lock file stays.

    Without locks, as on Windows and some network file systems, every process gets it.
    """
    if os.name != "posix":
        yield True
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield _take(descriptor, waits=waits)
    finally:
        os.close(descriptor)


def _take(descriptor: int, *, waits: bool) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
