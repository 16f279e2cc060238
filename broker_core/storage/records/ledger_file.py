"""One append-only file per ledger: a header, records, and, once sealed, an index and a trailer (FORMAT.md).

The functions block and run in the writer or a reader thread. What they trust is the `LedgerInfo`: entries and end
offset as known to the catalog. Bytes after that end are leftovers of a crash; recovery writes over them.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from crc32c import crc32c

from broker_core.storage import filenames
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged, FormatTooNew
from broker_core.storage.records.block import ENTRIES, HEADER, HEADER_SIZE, INDEX, check, column
from broker_core.storage.records.block import encode_record as encode
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.spans import POINT_SIZE, SPAN_BYTES, SPAN_ENTRIES, Spans
from broker_core.storage.records.tail import Tail

FILE_MAGIC = b"PCLEDGR1"
_HEADER = struct.Struct("<8sIIQQ")  # magic, format version, 0, ledger id, creation time (ms)
DATA_START = _HEADER.size + 8  # then the crc of that header, and 4 zero bytes
_TOTALS = struct.Struct("<QQQQQQQ")  # entries, messages, bytes, end offset, created, sealed, newest publish time
TRAILER = struct.Struct("<QII8s")  # offset and length of the index record, crc of these 12 bytes, magic
TRAILER_MAGIC = b"PCSEALED"
_WINDOW = 1 << 20


def file_header(ledger_id: int, created_ms: int) -> bytes:
    body = _HEADER.pack(FILE_MAGIC, filenames.FORMAT_VERSION, 0, ledger_id, created_ms)
    return body + struct.pack("<II", crc32c(body), 0)


def check_header(path: Path, data: bytes, ledger_id: int) -> None:
    if len(data) < DATA_START or data[:8] != FILE_MAGIC:
        raise Damaged(path, 0, "not a ledger file")
    if crc32c(data[: _HEADER.size]) != struct.unpack_from("<I", data, _HEADER.size)[0]:
        raise Damaged(path, 0, "header checksum does not match")
    _, version, _, owner, _ = _HEADER.unpack_from(data)
    if version > filenames.FORMAT_VERSION:
        raise FormatTooNew(path, version, filenames.FORMAT_VERSION)
    if owner != ledger_id:
        raise Damaged(path, 0, f"belongs to ledger {owner}, not {ledger_id}")


def trailer(offset: int, length: int) -> bytes:
    """The last bytes of a sealed file: where its index record lies."""
    place = struct.pack("<QI", offset, length)
    return place + struct.pack("<I8s", crc32c(place), TRAILER_MAGIC)


def read_index(disk: Disk, fd: int, path: Path, kind: int) -> tuple[int, bytes]:
    """Offset and bytes of the index record of a sealed file. Raises Damaged."""
    size = disk.size(fd)
    last = disk.pread(fd, TRAILER.size, max(0, size - TRAILER.size))
    if len(last) < TRAILER.size or last[-8:] != TRAILER_MAGIC:
        raise Damaged(path, max(0, size - TRAILER.size), "no trailer: the ledger is not sealed")
    offset, length, crc, _ = TRAILER.unpack(last)
    if crc != crc32c(last[:12]) or offset + length + TRAILER.size != size:
        raise Damaged(path, size - TRAILER.size, "trailer does not match its checksum")
    data = disk.pread(fd, length, offset)
    reason = check(data, 0, len(data))
    if reason or HEADER.unpack_from(data)[2] != kind:
        raise Damaged(path, offset, reason or "not the index of this kind of file")
    return offset, data


def header_fields(data: bytes) -> tuple[int, int, int, int]:
    """Format version, 0, ledger id, creation time (ms) of a checked header."""
    version, zero, ledger_id, created_ms = _HEADER.unpack_from(data)[1:]
    return version, zero, ledger_id, created_ms


def footer(info: LedgerInfo, spans: Spans) -> bytes:
    """Index record and trailer of a sealed ledger, to be written at `info.end`."""
    totals = _TOTALS.pack(
        info.entries, info.messages, info.size, info.end, info.created_ms, info.sealed_ms, info.newest_ms
    )
    index = encode(INDEX, totals + spans.encode(), ledger_id=info.id, n=len(spans))
    return index + trailer(info.end, len(index))


def read_footer(disk: Disk, fd: int, path: Path, info: LedgerInfo) -> Spans | None:
    """The index at the end of the file; None when there is none that fits the ledger."""
    try:
        offset, data = read_index(disk, fd, path, INDEX)
    except Damaged:
        return None  # not sealed, or not to be trusted: the records themselves tell
    count = HEADER.unpack_from(data)[5]
    if offset != info.end or _TOTALS.unpack_from(data, HEADER_SIZE)[0] != info.entries:
        return None
    at = HEADER_SIZE + _TOTALS.size
    return Spans.decode(memoryview(data)[at : at + POINT_SIZE * count], count)


def scan(
    disk: Disk, fd: int, path: Path, start: int, end: int, window: int = _WINDOW
) -> Iterator[tuple[int, bytes, int]]:
    """The records in [start, end) of a file: (file offset, buffer, offset in the buffer). Raises Damaged.

    `window` is how many bytes are read at once, unless a record has more.
    """
    at = start
    to_read = window
    while at < end:
        data = disk.pread(fd, min(to_read, end - at), at)
        inside = 0
        while len(data) - inside >= HEADER_SIZE:
            length = HEADER.unpack_from(data, inside)[1]
            if inside + max(length, HEADER_SIZE) > len(data) and at + len(data) < end and inside + length <= end - at:
                break
            reason = check(data, inside, len(data))
            if reason:
                raise Damaged(path, at + inside, reason)
            yield at + inside, data, inside
            inside += length
        if inside == 0:
            if len(data) < min(to_read, end - at) or len(data) < HEADER_SIZE or at + len(data) >= end:
                raise Damaged(path, min(at + len(data), disk.size(fd)), f"file ends before its {end} bytes")
            to_read = max(2 * to_read, HEADER.unpack_from(data)[1])
            continue
        to_read = window
        at += inside


def entry_records(disk: Disk, fd: int, path: Path, info: LedgerInfo) -> Iterator[tuple[bytes, int]]:
    """The records of a sealed ledger: (buffer, offset in it). Raises Damaged, also where entries are missing."""
    expected = at = 0
    for at, data, inside in scan(disk, fd, path, DATA_START, info.end):
        kind, _, _, n, owner, first = HEADER.unpack_from(data, inside)[2:8]
        if kind != ENTRIES or owner != info.id or first != expected:
            raise Damaged(path, at, f"entry {expected} of ledger {info.id} is missing")
        yield data, inside
        expected += n
    if expected != info.entries:
        raise Damaged(path, at, f"the file has {expected} of {info.entries} entries")


def verify(disk: Disk, fd: int, path: Path, info: LedgerInfo) -> None:
    """Reads the whole file. Raises Damaged if not every entry of the sealed ledger is there, and sound."""
    check_header(path, disk.pread(fd, DATA_START, 0), info.id)
    for _ in entry_records(disk, fd, path, info):
        pass


def table_totals(data: bytes | memoryview, offset: int) -> tuple[int, int, int, int]:
    """Entries, messages, entry bytes and newest publish time of a record, from its table."""
    n = HEADER.unpack_from(data, offset)[5]
    at = offset + HEADER_SIZE
    if n == 1:
        start, end, count, time = struct.unpack_from("<IIIQ", data, at)
        return 1, count, end - start, time
    rows = memoryview(data)
    starts, ends = column("I", rows[at : at + 4 * n]), column("I", rows[at + 4 * n : at + 8 * n])
    counts, times = column("I", rows[at + 8 * n : at + 12 * n]), column("Q", rows[at + 12 * n : at + 20 * n])
    return n, sum(counts), sum(ends) - sum(starts), max(times)


class Ledger:
    """A ledger in use. `flushed_entries` of its `info.entries` are in the file, the others in `parts` and the cache.

    `next_entry` and `next_end` run ahead of `info.entries` and `info.end` by what the journal has not confirmed yet.
    """

    __slots__ = (
        "before_ms",
        "changed",
        "copies_first",
        "flushed_end",
        "flushed_entries",
        "info",
        "moves",
        "next_end",
        "next_entry",
        "old_at",
        "opened",
        "parts",
        "path",
        "removed",
        "span_end",
        "span_entries",
        "spans",
        "tail",
        "taken_end",
    )

    def __init__(self, info: LedgerInfo, path: Path, *, new: bool) -> None:
        self.info = info
        self.path = path
        self.spans: Spans | None = Spans() if new else None
        self.span_entries = 0  # the entry and
        self.span_end = 0  # the offset at which the next record opens a new span
        self.tail: Tail | None = None  # the cache's
        self.parts: list[bytes | memoryview] = []
        if new:
            info.end = DATA_START
        self.before_ms = info.created_ms - 1  # what ages of records count from; 0 stands for none
        self.next_entry = info.entries
        self.next_end = info.end
        self.flushed_entries = info.entries
        self.flushed_end = self.taken_end = info.end  # what is in the file, and what the writer was given
        self.opened = self.old_at = 0.0  # monotonic; when it was opened, and from when on it is rolled
        self.changed = False  # since the last checkpoint
        self.removed = False  # from the catalog: its file and copy are on the way out
        self.copies_first = False  # a complete copy is read although the file is there
        self.moves = 0  # how often `source` changed

    def confirm(
        self,
        head: bytes,
        blob: bytes | memoryview | None,
        length: int,
        n: int,
        messages: int,
        size: int,
        newest_ms: int,
    ) -> None:
        """The journal has made a run durable: it now belongs to the ledger, and is yet to be written to the file."""
        info = self.info
        if newest_ms > info.newest_ms:
            info.newest_ms = newest_ms
        if info.entries >= self.span_entries or info.end >= self.span_end:
            self._open_span()
        elif self.spans is not None:
            self.spans.newest[-1] = info.newest_ms
        self.parts.append(head)
        if blob is not None:
            self.parts.append(blob)
        info.entries += n
        info.messages += messages
        info.size += size
        info.end += length

    def _open_span(self) -> None:
        info = self.info
        assert self.spans is not None
        self.spans.add(info.entries, info.end, info.messages, info.size, info.newest_ms)
        self.span_entries = info.entries + SPAN_ENTRIES
        self.span_end = info.end + SPAN_BYTES

    @property
    def source(self) -> OffloadedCopy | None:
        """The copy in tiered storage that entries are read from; None: they are read from the file."""
        copy = self.info.copy
        if copy is not None and (copy.local_gone or (self.copies_first and copy.is_complete)):
            return copy
        return None

    @property
    def remote(self) -> bool:
        return self.source is not None

    @property
    def buffered(self) -> int:
        """Bytes of confirmed records that the writer was not given yet."""
        return self.info.end - self.taken_end

    def take_buffer(self) -> tuple[int, list[bytes | memoryview], int, int]:
        """Takes what is to be written: file offset and parts; entries and end of the file afterwards."""
        offset = self.taken_end
        parts, self.parts = self.parts, []
        self.taken_end = self.info.end
        return offset, parts, self.info.entries, self.info.end
