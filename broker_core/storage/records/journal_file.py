"""Reading a journal file: its header, its groups, and where they end or are damaged (FORMAT.md)."""

from collections.abc import Iterator
from pathlib import Path

from crc32c import crc32c

from broker_core.storage import filenames
from broker_core.storage.disk import Disk
from broker_core.storage.errors import FormatTooNew
from broker_core.storage.records import journal_group
from broker_core.storage.records.block import HEADER, HEADER_SIZE, check

_SIZE = 4 << 20
_SMALL = 4096  # a copy of this size for a checksum costs less than a view

# Where a record lies in a window, and its header: start, end, kind, n, ledger id, first entry.
RecordPlace = tuple[int, int, int, int, int, int]


def header_problem(path: Path, data: bytes, number: int) -> str | None:
    if len(data) < journal_group.FILE_HEADER.size:
        return "file is too short for its header"
    magic, version, _, header_number, _, crc = journal_group.FILE_HEADER.unpack_from(data)
    if magic != journal_group.FILE_MAGIC or crc != crc32c(data[: journal_group.FILE_HEADER.size - 4]):
        return "journal header does not match its checksum"
    if version > filenames.FORMAT_VERSION:
        raise FormatTooNew(path, version, filenames.FORMAT_VERSION)
    return None if header_number == number else f"header says journal {header_number}"


class Window:
    """A part of a journal file in memory: `data` is what starts at offset `base`. A file may be 256 MiB."""

    def __init__(self, disk: Disk, fd: int, number: int, end: int) -> None:
        self._disk = disk
        self._fd = fd
        self._number = number
        self.end = end
        self.base = 0
        self.data = b""
        self.records: list[RecordPlace] = []  # of the group that was loaded last

    def load_group(self, at: int) -> tuple[str | None, int]:
        """Loads the group at `at` into the window. Returns why it is not trusted (None if it is), and its length."""
        length = self._header_length(at, journal_group.GROUP_HEADER.size)
        if length is None:
            return "no group of records", 0
        if at + length > self.end:
            return "group ends after the end of the file", length
        self._need(at, length)
        data = self.data
        start = inside = at - self.base + journal_group.GROUP_HEADER.size
        stop = at - self.base + length - journal_group.GROUP_TRAILER.size
        self.records = records = []
        while inside < stop:
            if stop - inside < HEADER_SIZE:
                return f"at {self.base + inside}: {check(data, inside, stop)}", length
            crc, size, kind, _, _, n, ledger_id, first, _, _ = HEADER.unpack_from(data, inside)
            end = inside + size
            if end > stop or not HEADER_SIZE <= size <= _SMALL or crc32c(data[inside + 4 : end]) != crc:
                reason = check(data, inside, stop)  # which also knows how to treat a big record
                if reason:
                    return f"at {self.base + inside}: {reason}", length
            records.append((inside, end, kind, n, ledger_id, first))
            inside = end
        if journal_group.GROUP_TRAILER.unpack_from(data, stop)[0] != crc32c(memoryview(data)[start:stop]):
            return "group checksum does not match", length
        return None, length

    def load(self, at: int, size: int) -> bytes:
        """The bytes at `at`, valid or not."""
        return self._disk.pread(self._fd, size, at)

    def next_group(self, at: int) -> int | None:
        """The next offset from `at` on at which a group header stands that belongs there."""
        size = journal_group.GROUP_HEADER.size
        while at < self.end:
            self._need(at, size)
            inside = self.data.find(journal_group.GROUP_MAGIC, at - self.base)
            if inside < 0:
                # A header may lie across the border of two windows.
                at = max(at + 1, self.base + len(self.data) - len(journal_group.GROUP_MAGIC) + 1)
                continue
            at = self.base + inside
            if self._header_length(at, size) is not None:
                return at
            at += 1
        return None

    def _need(self, at: int, size: int) -> None:
        size = min(size, self.end - at)
        if at < self.base or at + size > self.base + len(self.data):
            self.base = at
            self.data = self._disk.pread(self._fd, min(max(size, _SIZE), self.end - at), at)

    def _header_length(self, at: int, needed: int) -> int | None:
        """Length of the group at `at`, header and trailer included; None when no group header belongs there."""
        self._need(at, needed)
        inside = at - self.base
        size = journal_group.GROUP_HEADER.size
        if len(self.data) - inside < size or self.data[inside : inside + 4] != journal_group.GROUP_MAGIC:
            return None
        _, crc, journal, offset, length, _ = journal_group.GROUP_HEADER.unpack_from(self.data, inside)
        if journal != self._number or offset != at or crc != crc32c(self.data[inside + 8 : inside + size]):
            return None
        return size + int(length) + journal_group.GROUP_TRAILER.size


def records(disk: Disk, path: Path, number: int) -> Iterator[bytes]:
    """The records of the valid groups at the beginning of a journal file."""
    fd = disk.open(path)
    try:
        window = Window(disk, fd, number, disk.size(fd))
        at = journal_group.FILE_HEADER.size
        while at < window.end:
            reason, length = window.load_group(at)
            if reason is not None:
                return
            at += length
            for start, end, *_ in window.records:
                yield window.data[start:end]
    finally:
        disk.close(fd)
