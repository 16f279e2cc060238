"""One process at a time changes the files of a folder: what it reads is still there when it writes."""

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pulsarctl.output.whole_file import make_directory

WAIT_SECONDS = 10.0  # writing takes milliseconds; a stopped process may hold the lock for longer
POLL_SECONDS = 0.02


@contextmanager
def one_writer(file: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Waits for the other processes that change files of this file's folder.

    Raises OSError if it cannot be made, and TimeoutError after that time.
    """
    folder = file.resolve().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(folder, seconds) as is_ours:
        if not is_ours:
            raise TimeoutError(errno.ETIMEDOUT, "another process is changing it", str(folder))
        yield


@contextmanager
def only_writer(folder: Path) -> Iterator[bool]:
    """Whether no other process writes to the folder; until the end of the block, this one does. Raises OSError."""
    make_directory(folder)
    with locked(folder) as is_ours:
        yield is_ours


@contextmanager
def locked(path: Path, seconds: float = 0) -> Iterator[bool]:
    """Whether this process gets the lock of a file or folder within that time. It ends with the process.

    A folder is locked itself, so that no lock file stays. Without locks, as on Windows and some network file systems,
    every process gets it.
    """
    if os.name != "posix":
        yield True
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield _take(descriptor, time.monotonic() + seconds)
    finally:
        os.close(descriptor)


def _take(descriptor: int, deadline: float) -> bool:
    import fcntl

    pause = threading.Event()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            pause.wait(POLL_SECONDS)
        except OSError:
            return True
        else:
            return True
