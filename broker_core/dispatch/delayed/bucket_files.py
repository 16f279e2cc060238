"""The files of all buckets, in a directory that is emptied at the start. One thread writes and reads them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

    from broker_core.storage.disk import Disk

_T = TypeVar("_T")


class BucketFiles:
    def __init__(self, disk: Disk, directory: Path) -> None:
        self._disk = disk
        self._directory = directory
        self._numbers = itertools.count(1)
        self._thread = ThreadPoolExecutor(1, "delayed")
        self._ready = self._thread.submit(self._clean)

    def _clean(self) -> None:
        self._disk.make_directory(self._directory)
        for name in self._disk.list_directory(self._directory):
            self._disk.remove(self._directory / name)

    async def write(self, rows: bytes) -> Path:
        """Writes a new file, without syncing it: a restart does not need it. Raises OSError."""
        path = self._directory / f"{next(self._numbers):010d}.bucket"

        def work() -> None:
            self._ready.result()
            fd = self._disk.open(path, create=True)
            try:
                self._disk.pwrite(fd, rows, 0)
            except BaseException:
                self._disk.remove(path)
                raise
            finally:
                self._disk.close(fd)

        await self._run(work)
        return path

    async def read(self, path: Path, offset: int, size: int) -> bytes:
        """Raises OSError, also if the file is too short."""

        def work() -> bytes:
            fd = self._disk.open(path)
            try:
                data = self._disk.pread(fd, size, offset)
            finally:
                self._disk.close(fd)
            if len(data) < size:
                raise OSError(f"{path} ends before its {offset + size} bytes")
            return data

        return await self._run(work)

    def remove(self, path: Path) -> None:
        """Removes the file soon; the next start removes files that cannot be removed now or are still being written."""
        with contextlib.suppress(RuntimeError):  # the thread has ended
            self._thread.submit(self._disk.remove, path)

    async def close(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
