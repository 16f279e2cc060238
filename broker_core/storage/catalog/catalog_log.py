"""catalog.log: every commit of metadata.sqlite a second time, as checksummed records at the end of a file.

It is what `pulsarctl storage rebuild` makes a lost or damaged database from, and it tells at start whether the database
lacks a commit. The database is committed first, so the log is never ahead of a sound database. It begins with all rows
as of some commit, and begins again when it has grown to twice that.

A log that could not be written is removed: a missing one is begun again from the database, a stale one would be
believed. Everything here blocks and belongs to the metadata thread.
"""

import base64
import contextlib
import itertools
import json
import sqlite3
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crc32c import crc32c

from broker_core.storage import filenames
from broker_core.storage.catalog import tables
from broker_core.storage.catalog.tables import RowChange
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged, FormatTooNew
from broker_core.storage.records.block import (
    COMMIT,
    HEADER,
    HEADER_SIZE,
    PAGE_SUMS,
    column,
    column_bytes,
    encode_record,
)
from broker_core.storage.records.ledger_file import scan

FILE_MAGIC = b"PCCATLG1"
_HEADER = struct.Struct("<8sII")  # magic, format version, 0; then the crc of that
DATA_START = _HEADER.size + 4
_ROWS = 1000  # in one record of the rows that a log begins with
_SMALL = 4 << 20  # a log of this size need not begin again


def file_header() -> bytes:
    body = _HEADER.pack(FILE_MAGIC, filenames.FORMAT_VERSION, 0)
    return body + struct.pack("<I", crc32c(body))


def header_problem(path: Path, data: bytes) -> str | None:
    if len(data) < DATA_START or data[:8] != FILE_MAGIC:
        return "not a catalog log"
    if crc32c(data[: _HEADER.size]) != struct.unpack_from("<I", data, _HEADER.size)[0]:
        return "header checksum does not match"
    version = _HEADER.unpack_from(data)[1]
    if version > filenames.FORMAT_VERSION:
        raise FormatTooNew(path, version, filenames.FORMAT_VERSION)
    return None


def encode_commit(number: int, rows: Sequence[RowChange]) -> bytes:
    """Rows as JSON `[1 put or 0 delete, table, value, ...]`; a blob is a list of its base64 text."""
    values = [[int(row.put), row.table, *row.values] for row in rows]
    text = json.dumps(values, separators=(",", ":"), default=_blob)
    return encode_record(COMMIT, text.encode(), n=len(rows), first=number)


def _blob(value: Any) -> list[str]:
    return [base64.b64encode(value).decode()]


def decode_commit(record: bytes) -> Iterator[RowChange]:
    for put, table, *values in json.loads(record[HEADER_SIZE:]):
        whole = (base64.b64decode(value[0]) if isinstance(value, list) else value for value in values)
        yield RowChange(bool(put), table, tuple(whole))


@dataclass(slots=True, eq=False, repr=False)
class LogState:
    """The state that a log ends with: the number of its last commit, and the last page sums of the database.

    `problem` says why the bytes after `end` cannot be trusted; None without any. A crash may leave half a record.
    """

    commit: int = 0
    sums: "array[int] | None" = None
    end: int = DATA_START
    problem: Damaged | None = None


class CatalogLog:
    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self.path = path
        self._fd: int | None = None
        self._end = 0
        self._begun = 0  # bytes of the rows that the log began with

    @property
    def exists(self) -> bool:
        return self._disk.exists(self.path)

    # ---- read

    def read(self) -> LogState:
        """Reads the whole log. Raises only OSError and FormatTooNew."""
        state = LogState()
        for offset, record in self._records(state):
            _, length, kind, _, _, n, _, first, _, _ = HEADER.unpack_from(record)
            state.end = offset + length
            if kind == COMMIT:
                state.commit = first
            elif kind == PAGE_SUMS:
                state.sums = column("I", record[HEADER_SIZE : HEADER_SIZE + 4 * n])
        return state

    def rows(self) -> Iterator[RowChange]:
        """All changes in order, up to damage or the end."""
        for record in self.records():
            if HEADER.unpack_from(record)[2] == COMMIT:
                yield from decode_commit(record)

    def records(self) -> Iterator[bytes]:
        """The sound records at the beginning of the log."""
        return (record for _, record in self._records(LogState()))

    def equals(self, connection: sqlite3.Connection) -> bool:
        """Whether the database holds the very rows of the log."""
        with contextlib.closing(sqlite3.connect(":memory:")) as replayed:
            tables.create(replayed)
            for row in self.rows():
                tables.execute(replayed, row)
            return set(tables.all_rows(replayed)) == set(tables.all_rows(connection))

    def _records(self, state: LogState) -> Iterator[tuple[int, bytes]]:
        fd = self._disk.open(self.path)
        try:
            problem = header_problem(self.path, self._disk.pread(fd, DATA_START, 0))
            if problem:
                raise Damaged(self.path, 0, problem)
            for offset, data, inside in scan(self._disk, fd, self.path, DATA_START, self._disk.size(fd)):
                yield offset, data[inside : inside + HEADER.unpack_from(data, inside)[1]]
        except Damaged as damage:
            state.problem = damage
        finally:
            self._disk.close(fd)

    # ---- write

    def resume(self, state: LogState) -> None:
        """Append to a log that was read and found whole."""
        self._fd = self._disk.open(self.path)
        self._end = self._begun = state.end

    def begin(self, number: int, rows: Iterable[RowChange]) -> None:
        """A new log that holds `rows`, in place of the old one. Raises OSError.

        If the old log is gone by then, the log is closed: records appended to it would be lost.
        """
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            self._write_new(fresh, number, rows)
            self._disk.rename(fresh, self.path)
        except BaseException:
            self._disk.remove(fresh)
            raise
        self.close()
        self._disk.sync_directory(self.path.parent)
        self._fd = self._disk.open(self.path)
        self._end = self._begun = self._disk.size(self._fd)

    def _write_new(self, path: Path, number: int, rows: Iterable[RowChange]) -> None:
        fd = self._disk.open(path, create=True)
        try:
            self._disk.truncate(fd, 0)
            data, offset = file_header(), 0
            left = iter(rows)
            while data:
                self._disk.pwrite(fd, data, offset)
                offset += len(data)
                chunk = list(itertools.islice(left, _ROWS))
                data = encode_commit(number, chunk) if chunk else b""
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)

    def append_commit(self, number: int, rows: Sequence[RowChange]) -> int:
        """Appends a commit; returns the number of bytes that it takes."""
        record = encode_commit(number, rows)
        self._append(record)
        return len(record)

    def append_sums(self, sums: "array[int]") -> None:
        self._append(encode_record(PAGE_SUMS, column_bytes("I", sums), n=len(sums)))

    def _append(self, record: bytes) -> None:
        """Appends a record, durable on return. Raises OSError, and then there is no log."""
        assert self._fd is not None
        try:
            self._disk.pwrite(self._fd, record, self._end)
            self._disk.sync(self._fd)
        except BaseException:
            self.drop()
            raise
        self._end += len(record)

    @property
    def is_open(self) -> bool:
        return self._fd is not None

    @property
    def is_long(self) -> bool:
        return self._end > max(_SMALL, 2 * self._begun)

    def drop(self) -> None:
        self.close()
        self._disk.remove(self.path)
        self._disk.sync_directory(self.path.parent)

    def close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self._disk.close(fd)
