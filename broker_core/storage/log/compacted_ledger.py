"""A compacted ledger: the survivors of a compaction, each under its original position. Written once, then immutable.

File `<id>.compacted`: the header of a ledger file, records of kind 5, an index record (kind 6), and the trailer.
A record of kind 5 has two more columns in front of its table: u64 ledger ids[n], u64 entry ids[n]. The index
has one point per record: the position of its first entry and its offset.

Until `seal` returns, nothing refers to the file; after a kill in the middle it is removed when the managed ledger
next creates or opens a compacted ledger.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import (
    COMPACTED,
    COMPACTED_INDEX,
    HEADER,
    HEADER_SIZE,
    Block,
    check,
    column,
    column_bytes,
    encode_record,
    read_columns,
    table,
)
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.tasks import waited_out

_RECORD_BYTES = 64 << 10
_RECORD_ENTRIES = 1024
_TOTALS = struct.Struct("<QQQqq")  # entries, messages, bytes, last position

Run = Callable[[Callable[[], Any]], Awaitable[Any]]
MeetDamage = Callable[[Damaged], bool]  # records it, and says whether it is passed over


class CompactedLedger:
    """A sealed compacted ledger, open for reading. `run` executes a function in a reader thread."""

    def __init__(self, disk: Disk, files: OpenFiles, run: Run, path: Path, ledger_id: int, meet: MeetDamage) -> None:
        self._disk = disk
        self._files = files
        self._run = run
        self._meet = meet
        self.path = path
        self.ledger_id = ledger_id
        self.entries = 0
        self.messages = 0
        self.size = 0  # bytes of the entries
        self.last_position = EARLIEST
        self._firsts: list[Position] = []
        self._offsets: list[int] = []  # one more than records: the last is the end
        self._closed = False

    async def open(self) -> "CompactedLedger":
        """Raises Damaged or FileNotFoundError."""
        try:
            await waited_out(self._run(self._load))
        except BaseException:
            await self._run(partial(self._files.forget, self.path))
            raise
        return self

    def _load(self) -> None:
        with self._files.use(self.path) as fd:
            ledger_file.check_header(self.path, self._disk.pread(fd, ledger_file.DATA_START, 0), self.ledger_id)
            offset, data = ledger_file.read_index(self._disk, fd, self.path, COMPACTED_INDEX)
        n = HEADER.unpack_from(data)[5]
        self.entries, self.messages, self.size, *last = _TOTALS.unpack_from(data, HEADER_SIZE)
        self.last_position = Position(*last)
        at = HEADER_SIZE + _TOTALS.size
        columns = [column("Q", data[at + 8 * n * i : at + 8 * n * (i + 1)]) for i in range(3)]
        self._firsts = [Position(*pair) for pair in zip(columns[0], columns[1], strict=True)]
        self._offsets = [*columns[2], offset]

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> list[Block]:
        """Entries at or after `start`, as blocks of consecutive ids, in order; empty at the end. Raises Damaged."""
        if start > self.last_position or not self._firsts:
            return []
        at = max(0, bisect_right(self._firsts, start) - 1)
        blocks: list[Block] = []
        while not blocks and at < len(self._firsts):
            stop = max(at + 1, bisect_right(self._offsets, self._offsets[at] + max_bytes) - 1)
            if max_entries < _RECORD_ENTRIES:
                stop = at + 1
            begin, end = self._offsets[at], self._offsets[stop]
            try:
                blocks = await self._run(partial(self._read, begin, end, start))
            except Damaged as damage:
                if not self._meet(damage):
                    raise
                stop = max(at + 1, bisect_right(self._offsets, damage.offset))
            at = stop
        return blocks

    def _read(self, begin: int, end: int, start: Position) -> list[Block]:
        if self._closed:
            raise FileNotFoundError(self.path)
        with self._files.use(self.path) as fd:
            data = self._disk.pread(fd, end - begin, begin)
        if self._closed:
            self._files.forget(self.path)  # it may have been opened again after `close`
        blocks: list[Block] = []
        inside = 0
        while inside < end - begin:
            reason = check(data, inside, len(data)) if inside < len(data) else "file ends before its index"
            if reason and blocks:
                return blocks  # the next read begins after them
            if reason:
                raise Damaged(self.path, begin + inside, reason)
            blocks += consecutive(data, inside, start)
            inside += HEADER.unpack_from(data, inside)[1]
        return blocks

    async def close(self) -> None:
        """A read that is going on keeps the file open until it ends."""
        self._closed = True
        await self._run(partial(self._files.forget, self.path))


def consecutive(data: bytes, offset: int, start: Position) -> list[Block]:
    """The entries at or after `start` of the compacted record at `offset`, as blocks of consecutive ids."""
    n = HEADER.unpack_from(data, offset)[5]
    at = offset + HEADER_SIZE
    ledgers, entries = column("Q", data[at : at + 8 * n]), column("Q", data[at + 8 * n : at + 16 * n])
    starts, ends, counts, times = read_columns(data, at + 16 * n, n, 0)
    first = bisect_left(list(zip(ledgers, entries, strict=True)), tuple(start))
    blocks = []
    while first < n:
        stop = first + 1
        while stop < n and ledgers[stop] == ledgers[first] and entries[stop] == entries[stop - 1] + 1:
            stop += 1
        a, b = first, stop
        blocks.append(Block(ledgers[a], entries[a], data, starts[a:b], ends[a:b], counts[a:b], times[a:b]))
        first = stop
    return blocks


class CompactedWriter:
    """Entries in ascending positions; `flush` between batches bounds the memory."""

    def __init__(
        self,
        disk: Disk,
        files: OpenFiles,
        run: Run,
        path: Path,
        ledger_id: int,
        created_ms: int,
        forget: Callable[[], None],
        meet: MeetDamage,
    ) -> None:
        self._disk = disk
        self._files = files
        self._run = run
        self._path = path
        self.ledger_id = ledger_id
        self._forget = forget
        self._meet = meet
        self._parts: list[bytes] = [ledger_file.file_header(ledger_id, created_ms)]
        self._written = 0  # bytes in the file
        self._end = ledger_file.DATA_START
        self._points: list[tuple[int, int, int]] = []
        self._positions: list[Position] = []
        self._entries: list[bytes] = []
        self._counts: list[int] = []
        self._times: list[int] = []
        self._pending = 0
        self._totals = [0, 0, 0]
        self._last = EARLIEST
        self._fd: int | None = None

    def append(self, position: Position, entry: bytes, count: int, publish_time_ms: int) -> None:
        self._positions.append(position)
        self._entries.append(entry)
        self._counts.append(count)
        self._times.append(publish_time_ms)
        self._pending += len(entry)
        if self._pending >= _RECORD_BYTES or len(self._entries) >= _RECORD_ENTRIES:
            self._end_record()

    async def flush(self) -> None:
        """Writes the entries that fill whole records."""
        if self._parts:
            data = b"".join(self._parts)
            self._parts = []
            await self._step(lambda: self._write(data))

    async def seal(self) -> CompactedLedger:
        """Writes the remaining entries and the index; durable on return."""
        self._end_record()
        n = len(self._points)
        columns = b"".join(column_bytes("Q", [point[i] for point in self._points]) for i in range(3))
        payload = _TOTALS.pack(*self._totals, *self._last) + columns
        index = encode_record(COMPACTED_INDEX, payload, ledger_id=self.ledger_id, n=n)
        self._parts += [index, ledger_file.trailer(self._end, len(index))]
        await self.flush()
        await self._step(self._sync)
        await self._close()
        sealed = CompactedLedger(self._disk, self._files, self._run, self._path, self.ledger_id, self._meet)
        return await sealed.open()

    async def abandon(self) -> None:
        """Forgets the file."""
        await self._close()
        await self._step(lambda: self._disk.remove(self._path))
        self._forget()

    def _end_record(self) -> None:
        n = len(self._entries)
        if not n:
            return
        ends, total = [], 0
        for entry in self._entries:
            total += len(entry)
            ends.append(total)
        blob = b"".join(self._entries)
        block = Block(self.ledger_id, 0, blob, [0, *ends[:-1]], ends, self._counts, self._times)
        ids = column_bytes("Q", [p.ledger_id for p in self._positions]) + column_bytes(
            "Q", [p.entry_id for p in self._positions]
        )
        record = encode_record(
            COMPACTED, ids + table(block) + blob, ledger_id=self.ledger_id, first=self._totals[0], n=n
        )
        self._points.append((*self._positions[0], self._end))
        self._last = self._positions[-1]
        self._parts.append(record)
        self._end += len(record)
        self._totals = [self._totals[0] + n, self._totals[1] + sum(self._counts), self._totals[2] + total]
        self._positions, self._entries, self._counts, self._times, self._pending = [], [], [], [], 0

    def _write(self, data: bytes) -> None:
        if self._fd is None:
            self._disk.make_directory(self._path.parent)
            self._fd = self._disk.open(self._path, create=True)
            self._disk.truncate(self._fd, 0)
        self._disk.pwrite(self._fd, data, self._written)
        self._written += len(data)

    def _sync(self) -> None:
        assert self._fd is not None
        self._disk.sync(self._fd)
        self._disk.sync_directory(self._path.parent)

    async def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            await self._step(lambda: self._disk.close(fd))

    async def _step(self, step: Callable[[], None]) -> None:
        """Runs a step. No other one begins before its end, even if the caller is canceled in the middle of it."""
        await waited_out(self._run(step))
