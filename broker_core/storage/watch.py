"""Checks whether the data directory is still the one that was opened: it can be removed or unmounted at any time.

Open files go on working then, and syncs of them succeed, on files that no restart will find. So the journal looks
after each sync whether there is a file of its name, and regularly whether that file and the directories are still the
same ones.
Code that is about to make a file looks too, so that no new directory replaces the old one. What is gone
stays gone: a directory of that name that comes back lacks what this broker has written since.

A look that fails for another reason, such as EIO, proves nothing. It is repeated at once. If it keeps failing, what
was written is not acknowledged, but the next write looks again: a disk that recovers needs no restart.
"""

import errno
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from broker_core.storage.disk import Disk
from broker_core.storage.errors import DirectoryGone, DirectoryUnseen

log = logging.getLogger("broker_core.storage")

LOOK_SECONDS = 0.1  # between two looks of the journal at the directories: a few system calls, too many for every sync
LOOKS = 3  # before a disk that cannot be asked fails a write
MISSING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
"""Errors that say that a file does not exist. ESTALE: another client of a network file system deleted it."""


class DirectoryWatch:
    """Called from several threads: each field is written once, or by the journal's thread."""

    def __init__(self, disk: Disk, directory: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._disk = disk
        self._now = now
        self._directory = directory
        self._identities: dict[Path, tuple[int, int]] = {}
        self._next_look = 0.0
        self.gone = ""  # why nothing is written any more

    def begin(self, directories: Sequence[Path]) -> None:
        """Notes the directories, which must stay the same from now on. Blocks."""
        self._identities = {path: self._disk.identity(path) for path in directories}

    def check(self) -> None:
        """Looks now. Blocks. Raises DirectoryGone, from the first time on always, or DirectoryUnseen, this time."""
        if not self.gone:
            for path, identity in self._identities.items():
                self._compare(path, identity)
        if self.gone:
            raise DirectoryGone(self.gone)

    def check_written(self, fd: int, path: str) -> None:
        """Checks after a sync whether a restart will find the file. Blocks. Raises DirectoryGone or DirectoryUnseen.

        Looks for its name each time, so that nothing is acknowledged after its deletion, and now and then whether
        that name is another file's, and at the directories.
        """
        now = self._now()
        if not self.gone and not self._disk.is_named(path) and self._identity(Path(path)) is None:
            self._lose("a file that is in use was deleted or renamed")
        if self.gone or now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            self._look(fd)

    def _look(self, fd: int) -> None:
        if not self.gone and self._disk.is_deleted(fd):
            self._lose("a file that is in use was deleted")
        self.check()

    def _compare(self, path: Path, identity: tuple[int, int]) -> None:
        current = self._identity(path)
        if current is None:
            self._lose(f"{path}: {os.strerror(errno.ENOENT)}")
        elif current != identity:
            self._lose(f"{path} is not the one that was opened")

    def _identity(self, path: Path) -> tuple[int, int] | None:
        """None if there is no such file. Raises DirectoryUnseen if the disk does not say."""
        reason = ""
        for _ in range(LOOKS):
            try:
                return self._disk.identity(path)
            except OSError as error:
                if error.errno in MISSING:
                    return None
                reason = str(error.strerror)
        raise DirectoryUnseen(f"cannot look for {path}: {reason}")

    def _lose(self, reason: str) -> None:
        if not self.gone:
            self.gone = (
                f"the data directory {self._directory} was removed or replaced ({reason}); "
                "stop the broker, bring the directory back, and start again"
            )
            log.error("%s. Nothing is written until then: publishing is refused", self.gone)
