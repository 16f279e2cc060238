"""Ledger files held open: at most `limit`, least recently used first to go.

A quarter of what the process may open is the most, so that sockets and other files get descriptors, too, even under
`ulimit -n 64`.

Shared by the writer and the reader threads. A descriptor in use is never closed under its user.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broker_core.config import descriptors
from broker_core.storage.disk import Disk


class _OpenFile:
    __slots__ = ("doomed", "fd", "users")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.users = 0
        self.doomed = False


class OpenFiles:
    def __init__(self, disk: Disk, limit: int) -> None:
        self._disk = disk
        self._limit = max(1, min(limit, descriptors.limit() // 4))
        self._lock = threading.Lock()
        self._files: OrderedDict[Path, _OpenFile] = OrderedDict()

    @contextmanager
    def use(self, path: Path, *, create: bool = False) -> Iterator[int]:
        """The descriptor of `path`; raises FileNotFoundError unless `create`. Blocks."""
        file = self._acquire(path, create)
        try:
            yield file.fd
        finally:
            self._release(file)

    def _acquire(self, path: Path, create: bool) -> _OpenFile:
        with self._lock:
            file = self._files.get(path)
            if file is None:
                # Opened under the lock: two threads must not open the same file twice.
                file = self._files[path] = _OpenFile(self._disk.open(path, create=create))
                self._evict()
            self._files.move_to_end(path)
            file.users += 1
            return file

    def _release(self, file: _OpenFile) -> None:
        with self._lock:
            file.users -= 1
            if file.doomed and file.users == 0:
                self._disk.close(file.fd)

    def _evict(self) -> None:
        while len(self._files) > self._limit:
            _, file = self._files.popitem(last=False)
            self._doom(file)

    def _doom(self, file: _OpenFile) -> None:
        file.doomed = True
        if file.users == 0:
            self._disk.close(file.fd)

    def forget(self, path: Path) -> None:
        """Closes it as soon as it is not in use; called before the file is removed."""
        with self._lock:
            file = self._files.pop(path, None)
            if file is not None:
                self._doom(file)

    def close(self) -> None:
        with self._lock:
            for file in self._files.values():
                self._doom(file)
            self._files.clear()
