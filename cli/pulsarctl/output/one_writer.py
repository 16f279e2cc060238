"""One process at a time changes a file: what it reads is still there when it writes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def one_writer(file: Path) -> Iterator[None]:
    """Waits for the other processes that change files of this folder. The lock ends with its process.

    The folder itself is locked, so that no lock file stays. Without locks, as on Windows and some network file
    systems, it does not wait. Raises OSError if the folder cannot be made.
    """
    folder = file.resolve().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "posix":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
