"""A full disk: entries are refused and acknowledgments continue, until there is space again.

Two files of `reserve` bytes are kept. The first is given up when space runs out, so that acknowledgments (which let
ledgers go, and so free space) can still be written. The second is for a start that cannot take the first one, because
recovery, SQLite, and the deletions that follow need space, too. It is given up by halves: what is left is for the start
after that, when other programs have used what was freed. While `full`,
one probe a second looks whether there is space for both files and as much as one of them again; then it takes them, and
appends are accepted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from broker_core.storage import filenames
from broker_core.storage.disk import NO_SPACE, Disk
from broker_core.storage.errors import DiskFull

log = logging.getLogger("broker_core.storage")
PROBE_SECONDS = 1.0
_CHUNK = bytes(1 << 20)
_LEAST = 64 << 10  # a smaller half would not help
T = TypeVar("T")


def _is_full(error: Exception) -> bool:
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in NO_SPACE)


class DiskSpace:
    def __init__(
        self,
        disk: Disk,
        directory: Path,
        reserve_bytes: int,
        run: Callable[[Callable[[], Any]], Awaitable[Any]],
        give_up_more: Callable[[], None],
        on_healed: Callable[[], None],
    ) -> None:
        """`run` executes in a thread; `give_up_more` frees, there, what else is on the disk for convenience only."""
        self._loop = asyncio.get_running_loop()
        self._disk = disk
        self._directory = directory
        self._reserve = filenames.reserve_file(directory)
        self._start_reserve = filenames.start_reserve_file(directory)
        self._reserve_bytes = reserve_bytes
        self._run = run
        self._give_up_more = give_up_more
        self._on_healed = on_healed
        self._timer: asyncio.TimerHandle | None = None
        self._probe: asyncio.Task[None] | None = None
        self._full_at_start = False  # and since then
        self.full: str | None = None  # why appends are refused

    def begin(self) -> None:
        """Takes the reserves. On a disk without space for them, gives them up, and is `full` from the start. Blocks."""
        try:
            self._take_reserves()
        except OSError as error:
            if error.errno in NO_SPACE:  # any other failure shows itself where something has to be written
                self._start_full(str(error))

    def make_room_for(self, step: Callable[[], T], free_more: Callable[[], bool]) -> T:
        """Runs a repeatable step of a start, again with space of the reserves each time space runs out. Blocks.

        `free_more` returns whether it freed anything. Raises DiskFull if that is not enough, and what the step raises.
        """
        while True:
            try:
                return step()
            except (DiskFull, OSError) as error:
                if not _is_full(error):
                    raise
                freed_more = free_more()
                if not self._start_full(str(error)) and not freed_more:
                    raise DiskFull(
                        f"the disk of {self._directory} is full, and the start needs more space ({error}); free some"
                        " space and start again, nothing is lost"
                    ) from error

    def _start_full(self, reason: str) -> bool:
        self._full_at_start = True
        self._note_full(reason)
        return self._give_up_half()

    def _give_up_half(self) -> bool:
        """Frees the reserve and half of what is left for starts; False if there was nothing to free."""
        left = self._disk.file_size(self._start_reserve)
        had_any = bool(left or self._disk.file_size(self._reserve))
        self._disk.remove(self._reserve)
        if left:
            fd = self._disk.open(self._start_reserve)
            try:
                self._disk.truncate(fd, left // 2 if left > _LEAST else 0)
            finally:
                self._disk.close(fd)
        return had_any

    def watch(self) -> None:
        """After a start: looks for space again if there was too little."""
        if self.full is not None:
            self._arm()

    def _take_reserves(self) -> None:
        """Raises OSError when there is no space."""
        self._take(self._start_reserve)
        self._take(self._reserve)

    def _take(self, path: Path) -> None:
        fd = self._disk.open(path, create=True)
        size = self._disk.size(fd)
        try:
            if size < self._reserve_bytes:
                self._disk.preallocate(fd, size, self._reserve_bytes - size)
            for offset in range(self._disk.size(fd), self._reserve_bytes, len(_CHUNK)):
                self._disk.pwrite(fd, _CHUNK, offset)  # where the file system cannot preallocate
        except OSError:
            self._disk.truncate(fd, size)
            raise
        finally:
            self._disk.close(fd)

    async def ran_out(self, reason: str) -> None:
        """Refuses entries, and frees the reserve for what must still be written; freed on return."""
        if self.full is not None:
            if self._full_at_start:
                await self._run(self._give_up_half)
            return
        self._note_full(reason)
        try:
            await self._run(self._give_up_reserve)
        finally:
            self._arm()

    def _note_full(self, reason: str) -> None:
        if self.full is not None:
            return
        self.full = f"no space left on the disk of {self._directory}: {reason}"
        log.error("%s; entries are refused until there is space again", self.full)

    def _give_up_reserve(self) -> None:
        self._disk.remove(self._reserve)
        self._give_up_more()

    def _arm(self) -> None:
        self._timer = self._loop.call_later(PROBE_SECONDS, self._start_probe)

    def _start_probe(self) -> None:
        self._probe = self._loop.create_task(self._look())

    async def _look(self) -> None:
        try:
            await self._run(self._try)
        except OSError:
            self._arm()
            return
        log.warning("there is space on the disk of %s again; entries are accepted", self._directory)
        self.full, self._full_at_start = None, False
        self._on_healed()

    def _try(self) -> None:
        """Looks before it takes anything: what is free is needed for acknowledgments until there is enough."""
        held = sum(self._disk.file_size(path) or 0 for path in (self._reserve, self._start_reserve))
        if self._disk.free_bytes(self._directory) + held < 3 * self._reserve_bytes:
            raise OSError("too little space for the reserves and as much as one of them again")
        self._take_reserves()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._probe is not None:
            await asyncio.wait([self._probe])
