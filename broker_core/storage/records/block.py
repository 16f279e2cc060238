"""A record on disk, and a block of entries in memory (drawn byte by byte in FORMAT.md).

A record is one run of entries: the very same bytes go to the journal and to the ledger file.

    u32 crc32c      of all that follows in this record
    u32 length      of the whole record, this header included
    u8  kind        1 entries, 2 change (JSON), 3 acknowledgments, 4 index, 5 compacted entries, 6 their index,
                    7 batch acknowledgments, 8 commit (JSON), 9 page sums
    u8  flags       1: with delivery times
    u16 0
    u32 n           entries in the table
    u64 ledger id
    u64 first       entry id of the first entry
    u32 base        what to subtract from starts and ends
    u32 age         of the ledger when the entries arrived, in ms, from 1 on; 0: not known
    table           u32 starts[n], u32 ends[n], u32 message counts[n], u64 publish times[n] (ms)
    blob            entry i is blob[starts[i] - base : ends[i] - base], opaque
    delivery times  u64[n] (ms), only with the flag; 0: none

Little-endian. Between two entries the blob may hold bytes of no entry (the frame headers between
two messages as they came from the socket): cutting them out would cost a slice per message.
"""

import struct
import sys
from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Protocol

from crc32c import crc32c

ENTRIES = 1
CHANGE = 2
ACKS = 3
INDEX = 4
COMPACTED = 5
COMPACTED_INDEX = 6
BATCH_ACKS = 7
COMMIT = 8
PAGE_SUMS = 9

DELAYED = 1  # flag of a record: delivery times follow the blob

HEADER = struct.Struct("<IIBBHIQQII")
HEADER_SIZE = HEADER.size
ROW_SIZE = 4 + 4 + 4 + 8
DELIVERY_SIZE = 8  # of the delivery time of one entry
COPIED_BYTES = 8 << 10  # a smaller entry is copied into its record, which costs less than a block of its own
AGE_MAX = (1 << 32) - 1  # ms, seven weeks; an older ledger says nothing
GAP = 64  # bytes between two entries up to which one slice beats a join

_TABLE_ROW = {ENTRIES: ROW_SIZE, COMPACTED: 16 + ROW_SIZE}
_CRC = struct.Struct("<I")
_BODY = struct.Struct("<IBBHIQQII")
_ONE = struct.Struct("<IBBHIQQIIIIIQ")
_ROW = struct.Struct("<IIIQ")
_TIME = struct.Struct("<Q")


class EntryRun(Protocol):
    """Consecutive entries of one producer; entry i is `data[starts[i]:ends[i]]`."""

    @property
    def data(self) -> bytes: ...
    @property
    def starts(self) -> Sequence[int]: ...
    @property
    def ends(self) -> Sequence[int]: ...
    @property
    def counts(self) -> Sequence[int]: ...
    @property
    def publish_times(self) -> Sequence[int]: ...
    @property
    def delivery_times(self) -> Sequence[int]:
        """Empty when no entry has one, the usual case; else one per entry (ms), 0 for none."""


class Block:
    """Consecutive entries of one ledger, as columns. Immutable by convention.

    `delivery_times` is empty when no entry of the block has one; else 0 stands for none.
    """

    __slots__ = ("counts", "data", "delivery_times", "ends", "first_entry_id", "ledger_id", "publish_times", "starts")

    def __init__(
        self,
        ledger_id: int,
        first_entry_id: int,
        data: bytes,
        starts: Sequence[int],
        ends: Sequence[int],
        counts: Sequence[int],
        publish_times: Sequence[int],
        delivery_times: Sequence[int] = (),
    ) -> None:
        self.ledger_id = ledger_id
        self.first_entry_id = first_entry_id
        self.data = data
        self.starts = starts
        self.ends = ends
        self.counts = counts
        self.publish_times = publish_times
        self.delivery_times = delivery_times

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def last_entry_id(self) -> int:
        return self.first_entry_id + len(self.starts) - 1

    @property
    def size(self) -> int:
        """Bytes of the entries."""
        return sum(self.ends) - sum(self.starts)

    def entry(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.ends[index]]

    def with_counts(self, counts: Sequence[int]) -> "Block":
        """The same entries with other numbers of messages."""
        return Block(
            self.ledger_id,
            self.first_entry_id,
            self.data,
            self.starts,
            self.ends,
            counts,
            self.publish_times,
            self.delivery_times,
        )

    def slice(self, start: int, stop: int) -> "Block":
        """Entries `start` to `stop - 1`; the bytes are shared."""
        return Block(
            self.ledger_id,
            self.first_entry_id + start,
            self.data,
            self.starts[start:stop],
            self.ends[start:stop],
            self.counts[start:stop],
            self.publish_times[start:stop],
            self.delivery_times[start:stop],
        )


class WrittenRun(Block):
    """A run as it was written. `age` is that of its record."""

    __slots__ = ("age", "size")

    age: int
    size: int


EMPTY = Block(-1, 0, b"", (), (), (), ())

# What is known of an encoded run: header and table, blob, block.
Encoded = tuple[bytes, "bytes | memoryview", Block]


def encode_run(run: EntryRun, ledger_id: int, first: int, age: int = 0) -> Encoded:
    """The record of a run, in two parts to be written one after the other, and its block for the cache."""
    starts = run.starts
    n = len(starts)
    data, ends = run.data, run.ends
    base, stop = starts[0], ends[-1]
    size = sum(ends) - sum(starts)
    blob: bytes | memoryview
    if stop - base > size + GAP * n:
        # Entries of other producers lie between: take ours out.
        data = blob = b"".join([data[a:b] for a, b in zip(starts, ends, strict=True)])
        ends = list(accumulate([b - a for a, b in zip(starts, ends, strict=True)]))
        starts = [0, *ends[:-1]]
        base = 0
    elif 2 * (stop - base) < len(data):
        # A small part of a big chunk: a copy lets the chunk go.
        data = blob = data[base:stop]
        starts = [a - base for a in starts]
        ends = [b - base for b in ends]
        base = 0
    else:
        blob = memoryview(data)[base:stop]
    block = WrittenRun(
        ledger_id,
        first,
        data,
        array("I", starts),
        array("I", ends),
        array("I", run.counts),
        array("Q", run.publish_times),
        array("Q", run.delivery_times) if run.delivery_times else (),
    )
    block.age, block.size = age, size
    flags = 0
    if run.delivery_times:
        flags = DELAYED
        blob = b"".join((blob, column_bytes("Q", block.delivery_times)))
    length = HEADER_SIZE + ROW_SIZE * n + len(blob)
    body = _BODY.pack(length, ENTRIES, flags, 0, n, ledger_id, first, base, age) + table(block)
    head = _CRC.pack(crc32c(blob, crc32c(body))) + body
    return head, blob, block


def encode_one(run: EntryRun, ledger_id: int, first: int, age: int) -> bytes:
    """The record of a run of one entry, the common case at moderate rates: one pack, no arrays, no block."""
    blob = run.data[run.starts[0] : run.ends[0]]
    size = len(blob)
    count, time = run.counts[0], run.publish_times[0]
    body = (
        _ONE.pack(HEADER_SIZE + ROW_SIZE + size, ENTRIES, 0, 0, 1, ledger_id, first, 0, age, 0, size, count, time)
        + blob
    )
    return _CRC.pack(crc32c(body)) + body


def encode_one_delayed(run: EntryRun, ledger_id: int, first: int, age: int) -> bytes:
    """The record of a run of one entry that has a delivery time."""
    blob = run.data[run.starts[0] : run.ends[0]]
    size = len(blob)
    length = HEADER_SIZE + ROW_SIZE + size + DELIVERY_SIZE
    count, time = run.counts[0], run.publish_times[0]
    head = _ONE.pack(length, ENTRIES, DELAYED, 0, 1, ledger_id, first, 0, age, 0, size, count, time)
    body = b"".join((head, blob, _TIME.pack(run.delivery_times[0])))
    return _CRC.pack(crc32c(body)) + body


def block_of_one(record: bytes) -> Block:
    """The block of a record with one entry, which starts after its table."""
    _, length, _, flags, _, _, ledger_id, first, base, _ = HEADER.unpack_from(record)
    start, end, count, time = _ROW.unpack_from(record, HEADER_SIZE)
    shift = HEADER_SIZE + ROW_SIZE - base
    delivery = _TIME.unpack_from(record, length - DELIVERY_SIZE) if flags & DELAYED else ()
    return Block(ledger_id, first, record, (start + shift,), (end + shift,), (count,), (time,), delivery)


def encode_record(kind: int, payload: bytes, *, ledger_id: int = 0, first: int = 0, n: int = 0) -> bytes:
    """Any other record: header and payload."""
    body = _BODY.pack(HEADER_SIZE + len(payload), kind, 0, 0, n, ledger_id, first, 0, 0) + payload
    return _CRC.pack(crc32c(body)) + body


def table(block: Block) -> bytes:
    columns = (("I", block.starts), ("I", block.ends), ("I", block.counts), ("Q", block.publish_times))
    return b"".join([column_bytes(kind, values) for kind, values in columns])


def column_bytes(kind: str, values: Sequence[int]) -> bytes:
    column = values if isinstance(values, array) else array(kind, values)
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column.tobytes()


def column(kind: str, data: bytes | memoryview) -> "array[int]":
    """A column read back from disk."""
    values: array[int] = array(kind)
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def place_times(times: "array[int]", at: int, values: Sequence[int]) -> None:
    """Puts delivery times after the first `at` of a column; entries without one have 0."""
    times.extend([0] * (at - len(times)))
    times.extend(values)


def read_delivery_times(data: bytes | memoryview, end: int, n: int) -> "array[int]":
    """The delivery times of a flagged record of `n` entries that ends at `end` of `data`."""
    return column("Q", data[end - DELIVERY_SIZE * n : end])


def read_columns(data: bytes, at: int, n: int, base: int) -> "tuple[array[int], array[int], array[int], array[int]]":
    """The table at `at` of `data`, with starts and ends turned into offsets of `data`; the blob follows it."""
    rows = memoryview(data)
    shift = at + ROW_SIZE * n - base
    starts = array("I", [start + shift for start in column("I", rows[at : at + 4 * n])])
    ends = array("I", [end + shift for end in column("I", rows[at + 4 * n : at + 8 * n])])
    return starts, ends, column("I", rows[at + 8 * n : at + 12 * n]), column("Q", rows[at + 12 * n : at + 20 * n])


class Columns:
    """Gathers the entries of consecutive records of one buffer into one block."""

    def __init__(self) -> None:
        self.starts: array[int] = array("I")
        self.ends: array[int] = array("I")
        self.counts: array[int] = array("I")
        self.publish_times: array[int] = array("Q")
        self.delivery_times: array[int] = array("Q")

    def add_delivery_times(self, data: bytes, end: int, n: int) -> None:
        """Adds those of the flagged record that ends at `end`, before its rows are added."""
        place_times(self.delivery_times, len(self.starts), read_delivery_times(data, end, n))

    def add(self, data: bytes, offset: int, n: int, base: int) -> None:
        """The `n` rows of the record that starts at `offset` of `data`."""
        at = offset + HEADER_SIZE
        if n == 1:
            shift = at + ROW_SIZE - base
            start, end, count, time = _ROW.unpack_from(data, at)
            self.starts.append(start + shift)
            self.ends.append(end + shift)
            self.counts.append(count)
            self.publish_times.append(time)
            return
        starts, ends, counts, times = read_columns(data, at, n, base)
        self.starts.extend(starts)
        self.ends.extend(ends)
        self.counts.extend(counts)
        self.publish_times.extend(times)

    def block(self, ledger_id: int, first: int, data: bytes) -> Block:
        times = self.delivery_times
        if times:
            place_times(times, len(self.starts), ())
        return Block(ledger_id, first, data, self.starts, self.ends, self.counts, self.publish_times, times or ())


def check(data: bytes | memoryview, offset: int, limit: int) -> str | None:
    """Why the record at `offset` of `data` (valid up to `limit`) cannot be trusted; None when it can."""
    if limit - offset < HEADER_SIZE:
        return f"{limit - offset} bytes are too few for a record"
    crc, length, kind, flags, _, n, *_ = HEADER.unpack_from(data, offset)
    if length < HEADER_SIZE or length > limit - offset:
        return f"record length {length} is impossible here"
    if crc32c(memoryview(data)[offset + 4 : offset + length]) != crc:
        return "record checksum does not match"
    row = _TABLE_ROW.get(kind, 0) + (DELIVERY_SIZE if flags & DELAYED else 0)
    if length < HEADER_SIZE + row * n:
        return "record table does not fit its length"
    return None
