"""A full disk: entries are refused and acknowledgments continue, until there is space again.

A file of `reserve` bytes is kept; it is given up when space runs out, so that acknowledgments (which let ledgers
go, and so make room) can still be written. While `full`, one probe a second tries to take the reserve again;
when that works and as much again is free, appends are accepted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from broker_core.storage import filenames
from broker_core.storage.disk import Disk

log = logging.getLogger("broker_core.storage")
PROBE_SECONDS = 1.0
_CHUNK = bytes(1 << 20)


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
        self._path = filenames.reserve_file(directory)
        self._reserve_bytes = reserve_bytes
        self._run = run
        self._give_up_more = give_up_more
        self._on_healed = on_healed
        self._timer: asyncio.TimerHandle | None = None
        self._probe: asyncio.Task[None] | None = None
        self.full: str | None = None  # why appends are refused

    def take_reserve(self) -> None:
        """Blocks. Raises OSError when there is no room."""
        fd = self._disk.open(self._path, create=True)
        try:
            size = self._disk.size(fd)
            if size < self._reserve_bytes:
                self._disk.preallocate(fd, size, self._reserve_bytes - size)
            for offset in range(self._disk.size(fd), self._reserve_bytes, len(_CHUNK)):
                self._disk.pwrite(fd, _CHUNK, offset)  # where preallocation is not to be had
        except OSError:
            self._disk.truncate(fd, 0)
            raise
        finally:
            self._disk.close(fd)

    async def ran_out(self, reason: str) -> None:
        """Refuse entries, and free the reserve for what must still be written; freed on return."""
        if self.full is not None:
            return
        self.full = f"no space left on the disk of {self._directory}: {reason}"
        log.error("%s; entries are refused until there is space again", self.full)
        await self._run(self._give_up_reserve)
        self._arm()

    def _give_up_reserve(self) -> None:
        self._disk.remove(self._path)
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
        self.full = None
        self._on_healed()

    def _try(self) -> None:
        self.take_reserve()
        if self._disk.free_bytes(self._directory) < self._reserve_bytes:
            raise OSError("too little space beside the reserve")

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._probe is not None:
            await asyncio.wait([self._probe])
