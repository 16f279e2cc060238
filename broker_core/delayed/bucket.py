"""One sorted bucket of a time index: the rows that come next in memory, the others in its file.

A row is 24 bytes, big-endian, so that rows sort as bytes: u64 delivery time (ms), u64 ledger id, u64 entry id.
"""

from __future__ import annotations

import struct
from pathlib import Path

_ROW = struct.Struct(">QQQ")
ROW_SIZE = _ROW.size

row_of = _ROW.pack
"""(delivery time, ledger id, entry id) -> row."""

fields_of = _ROW.unpack
"""row -> (delivery time, ledger id, entry id)."""


class Bucket:
    """`path` is None until the file is written; until then all rows are in memory."""

    __slots__ = ("_at", "_next", "_rows", "head", "path", "reading", "size")

    def __init__(self, rows: bytes) -> None:
        self._rows = rows
        self._at = 0
        self._next = self.size = len(rows)  # where the rows that are not in memory begin in the file, and end
        self.head = rows[:ROW_SIZE]  # the next row; b"" when it has to be read first, or there is none
        self.path: Path | None = None
        self.reading = False

    @property
    def is_over(self) -> bool:
        return not self.head and self._next == self.size

    @property
    def all_rows(self) -> bytes:
        """Before they were written."""
        assert self.path is None
        return self._rows

    @property
    def memory(self) -> int:
        """Bytes of rows in memory."""
        return len(self._rows)

    def advance(self) -> None:
        """The head was taken."""
        self._at += ROW_SIZE
        self.head = self._rows[self._at : self._at + ROW_SIZE]

    def written(self, path: Path, keep: int) -> None:
        """The rows are in the file now: only the next `keep` bytes of them stay in memory."""
        self.path = path
        self._next = min(self._at + keep, self.size)
        self._rows = self._rows[self._at : self._next]
        self._at = 0

    def to_read(self, chunk: int) -> tuple[int, int] | None:
        """Offset and size of what should be read next, `chunk` bytes at most; None while there is enough."""
        if self.path is None or self.reading or self._next == self.size or len(self._rows) - self._at > chunk // 2:
            return None
        return self._next, min(chunk, self.size - self._next)

    def was_read(self, data: bytes) -> None:
        self._rows = self._rows[self._at :] + data
        self._at = 0
        self._next += len(data)
        self.head = self._rows[:ROW_SIZE]
