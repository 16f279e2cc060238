"""The last place of each key in a range of a log, as a job hands it to the broker that compacts: bytes <-> columns.

    line 1       JSON: {"after": [ledger, entry], "through": [ledger, entry],
                 "ledgers": [[ledger, entries, messages, places, bytes], ...]}, ledgers ascending
    per ledger   `bytes` bytes: zlib of two columns, little-endian, in the order of the places:
                 u32 entry ID less that of the place before (the first: less 0), i32 batch index

The range begins after `after` and ends with `through`. `entries` and `messages` are what the job has read of a ledger:
the broker compares them with its own. A tombstone is a place like any other. The batch index is 0 outside of batches,
and `WHOLE` for an entry that cannot be opened, which compaction keeps.
"""

import json
import sys
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

WHOLE = -1
LEDGERS_MAX = 20_000
LINE_BYTES_MAX = 2 << 20
_VALUES_MAX = 6 * (LEDGERS_MAX + 3)  # a row has five numbers; openings and commas are counted
_MEMBERS = 3  # after, through, ledgers
_INT64_MAX = (1 << 63) - 1
_PLACE_BYTES = 8

Pair = tuple[int, int]


class MalformedPlaces(ValueError):
    """Bytes that are not the last places of a log."""


@dataclass(frozen=True, slots=True)
class LedgerPlaces:
    """`packed` is what `places` unpacks: columns of a few bytes a key."""

    ledger_id: int
    entries: int
    messages: int
    count: int
    packed: bytes = field(repr=False)

    @classmethod
    def of(cls, ledger_id: int, entries: int, messages: int, places: Sequence[Pair]) -> "LedgerPlaces":
        """`places` are pairs of entry ID and batch index, ascending."""
        ids = [entry_id for entry_id, _ in places]
        distances = array("I", map(int.__sub__, ids, [0, *ids[:-1]]))
        indexes = array("i", (index for _, index in places))
        packed = zlib.compress(_little(distances) + _little(indexes), 6)
        return cls(ledger_id, entries, messages, len(ids), packed)

    def places(self) -> "tuple[array[int], array[int]]":
        """Entry IDs, ascending, and batch indexes. Raises `MalformedPlaces`."""
        size = self.count * _PLACE_BYTES
        opener = zlib.decompressobj()
        try:
            data = opener.decompress(self.packed, size + 1)
        except zlib.error as error:
            raise MalformedPlaces(f"ledger {self.ledger_id}: {error}") from None
        if len(data) != size or not opener.eof:
            raise MalformedPlaces(f"ledger {self.ledger_id} does not have {self.count} places")
        middle = size // 2
        return array("q", accumulate(_native("I", data[:middle]))), _native("i", data[middle:])


@dataclass(frozen=True, slots=True)
class LastPlaces:
    """`after` and `through` are positions: the range that the places are of."""

    after: Pair
    through: Pair
    ledgers: tuple[LedgerPlaces, ...]

    @property
    def count(self) -> int:
        return sum(ledger.count for ledger in self.ledgers)

    def encode(self) -> bytes:
        rows = [
            [ledger.ledger_id, ledger.entries, ledger.messages, ledger.count, len(ledger.packed)]
            for ledger in self.ledgers
        ]
        head = {"after": self.after, "through": self.through, "ledgers": rows}
        return b"".join([json.dumps(head).encode(), b"\n", *(ledger.packed for ledger in self.ledgers)])

    @classmethod
    def decode(cls, data: bytes) -> "LastPlaces":
        """Raises `MalformedPlaces`."""
        line, _, rest = data.partition(b"\n")
        if len(line) > LINE_BYTES_MAX:
            raise MalformedPlaces(f"the first line has more than {LINE_BYTES_MAX} bytes")
        if sum(line.count(mark) for mark in (b"[", b"{", b",")) > _VALUES_MAX:  # before they are made, which takes long
            raise MalformedPlaces(f"the first line has more than {_VALUES_MAX} values")
        if line.count(b":") > _MEMBERS:
            raise MalformedPlaces(f"the first line has more than {_MEMBERS} members")
        try:
            head = json.loads(line)
            after, through = _numbers(head["after"], 2), _numbers(head["through"], 2)
            rows = [_numbers(row, 5) for row in _list(head["ledgers"])]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedPlaces(f"the first line is malformed: {type(error).__name__}: {error}") from None
        return cls((after[0], after[1]), (through[0], through[1]), tuple(_ledgers(rows, rest)))


def _ledgers(rows: list[list[int]], rest: bytes) -> list[LedgerPlaces]:
    if len(rows) > LEDGERS_MAX:
        raise MalformedPlaces(f"{len(rows)} ledgers; at most {LEDGERS_MAX} are allowed")
    if sum(row[4] for row in rows) != len(rest):
        raise MalformedPlaces(f"{len(rest)} bytes follow the first line, not those of its ledgers")
    ledgers: list[LedgerPlaces] = []
    at = 0
    for ledger_id, entries, messages, count, size in rows:
        if min(ledger_id, entries, messages, count, size) < 0 or count > max(messages, entries):
            raise MalformedPlaces(f"ledger {ledger_id} has {count} places in {messages} messages")
        if ledgers and ledger_id <= ledgers[-1].ledger_id:
            raise MalformedPlaces("the ledgers are not in ascending order")
        ledgers.append(LedgerPlaces(ledger_id, entries, messages, count, rest[at : at + size]))
        at += size
    return ledgers


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _numbers(value: object, count: int) -> list[int]:
    row = _list(value)
    if len(row) != count or not all(type(number) is int and -1 <= number <= _INT64_MAX for number in row):
        raise TypeError(f"not {count} numbers of 64 bits")
    return [number for number in row if isinstance(number, int)]


def _little(column: "array[int]") -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


def _native(kind: str, data: bytes) -> "array[int]":
    column: array[int] = array(kind)
    column.frombytes(data)
    if sys.byteorder == "big":
        column.byteswap()
    return column
