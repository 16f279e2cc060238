"""One sorted bucket of a time index: its next rows in memory, the others in its file.

A row is 24 bytes, big-endian, so that rows sort as bytes: u64 delivery time (ms), u64 ledger ID, u64 entry ID.
"""

from __future__ import annotations

import struct
from pathlib import Path

_ROW = struct.Struct(">QQQ")
ROW_SIZE = _ROW.size

row_of = _ROW.pack
"""(delivery time, ledger ID, entry ID) -> row."""

fields_of = _ROW.unpack
"""row -> (delivery time, ledger ID, entry ID)."""


class Bucket:
    """`path` is None until the file is written; until then all rows are in memory."""

    __slots__ = ("_at", "_next", "_rows", "head", "path", "reading", "size")

    def __init__(self, rows: bytes) -> None:
        self._rows = rows
        self._at = 0
        self._next = self.size = len(rows)  # the part of the file that is not in memory
        self.head = rows[:ROW_SIZE]  # the next row; b"" if it has to be read first, or if there is none
        self.path: Path | None = None
        self.reading = False

    @property
    def is_over(self) -> bool:
        return not self.head and self._next == self.size

    @property
    def all_rows(self) -> bytes:
        """All rows, until the file is written."""
        assert self.path is None
        return self._rows

    @property
    def memory(self) -> int:
        """Bytes of rows in memory."""
        return len(self._rows)

    def advance(self) -> None:
        """Removes the head, which was taken."""
        self._at += ROW_SIZE
        self.head = self._rows[self._at : self._at + ROW_SIZE]

    def written(self, path: Path, keep: int) -> None:
        """Records that the file holds the rows; only their next `keep` bytes stay in memory."""
        self.path = path
        self._next = min(self._at + keep, self.size)
        self._rows = self._rows[self._at : self._next]
        self._at = 0

    def to_read(self, chunk: int) -> tuple[int, int] | None:
        """Offset and size of the next read, at most `chunk` bytes; None while there is enough in memory."""
        if self.path is None or self.reading or self._next == self.size or len(self._rows) - self._at > chunk // 2:
            return None
        return self._next, min(chunk, self.size - self._next)

    def was_read(self, data: bytes) -> None:
        self._rows = self._rows[self._at :] + data
        self._at = 0
        self._next += len(data)
        self.head = self._rows[:ROW_SIZE]
