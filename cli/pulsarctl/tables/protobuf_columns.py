"""Many protobuf messages at once: their fields as columns of numbers, and of places in the bytes.

What a client writes one after the other has the same fields in the same order, so each step reads one field of all
messages. A message is not sound here if it is unusual: its fields are in another order, one of them is not listed, or a
number has more than 56 bits. The caller parses such messages one by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from broker_core.wire.received import Received

Array = np.ndarray[Any, Any]

WORD = 8
FAR = 1 << 60  # after the end of any data
CUT_MAX = (1 << 31) - 1  # bytes; Arrow's offsets have 32 bits

_CONTINUED = np.uint64(0x8080808080808080)
_SEVEN_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_JOINS = (  # two groups of bits become one: of 7 bits, 14, and 28
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)
_FIRST_CONTINUED = np.uint64(0x80)
_FIRST_BITS = np.uint64(0x7F)
_ONE = np.uint64(1)


class Unusual(Exception):
    """Something that cannot be read as columns, though it may be right."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message; a number unless `is_bytes`. `tag` and `mask` say what its first bytes are."""

    name: str
    number: int
    is_bytes: bool = False
    repeats: bool = False
    tag: np.uint64 = field(init=False)
    mask: np.uint64 = field(init=False)
    tag_size: int = field(init=False)

    def __post_init__(self) -> None:
        key = self.number << 3 | (2 if self.is_bytes else 0)
        tag = bytes((key,)) if key < 0x80 else bytes((key & 0x7F | 0x80, key >> 7))
        object.__setattr__(self, "tag", np.uint64(int.from_bytes(tag, "little")))
        object.__setattr__(self, "mask", np.uint64((1 << 8 * len(tag)) - 1))
        object.__setattr__(self, "tag_size", len(tag))


class Words:
    """Bytes, with the eight from any place on as one number."""

    def __init__(self, data: Received | memoryview) -> None:
        self.size = len(data)
        self.bytes = np.frombuffer(data, np.uint8)
        self._buffer = pa.py_buffer(data)
        self._whole = max(len(data) - WORD + 1, 0)
        self._words = words_of(data, self._whole)
        rest = bytes(data[self._whole :]) + bytes(2 * WORD)
        self._last_words = words_of(rest, len(rest) - WORD + 1)

    def at(self, places: Array) -> Array:
        """Zeros follow the end of the data, where the place after a tag may be."""
        near = places >= self._whole
        if not np.count_nonzero(near):
            return self._words[places]
        values = np.zeros(len(places), np.uint64)
        values[near] = self._last_words[places[near] - self._whole]
        values[~near] = self._words[places[~near]]
        return values

    def sizes(self, at: Array) -> Array:
        """The big-endian numbers of four bytes at these places."""
        return (self.at(at) & np.uint64(0xFFFFFFFF)).astype("<u4").byteswap().astype(np.int64)

    def cut(self, first: Array, stop: Array) -> pa.Array:
        """The bytes between each two places, which ascend. The gaps between them are left out by Arrow.

        Raises `Unusual` if the offsets do not fit.
        """
        if self.size > CUT_MAX:
            raise Unusual
        places = np.empty(2 * len(first), np.int32)
        places[0::2], places[1::2] = first, stop
        if not len(first):
            return pa.array([], pa.binary())
        whole = pa.Array.from_buffers(pa.binary(), len(places) - 1, [None, pa.py_buffer(places), self._buffer])
        return whole.take(pa.array(np.arange(0, len(places), 2, dtype=np.int32)))


def words_of(data: Received | memoryview, count: int) -> Array:
    """The eight bytes at each of the first places."""
    return np.ndarray((count,), "<u8", data, 0, (1,)) if count else np.empty(0, np.uint64)


class FieldColumn(NamedTuple):
    """One field of some messages: numbers in `first`, or bytes from `first` up to `stop`. `rows` None: of all."""

    rows: Array | None
    first: Array
    stop: Array


class Parsed:
    """The fields of `count` messages, each as often as the message with most of them has it."""

    def __init__(self, words: Words, count: int, columns: dict[str, list[FieldColumn]], sound: Array) -> None:
        self.words = words
        self.count = count
        self.columns = columns
        self.sound = sound

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def has(self, name: str) -> Array:
        """Which messages have the field."""
        mask = np.zeros(self.count, bool)
        for column in self.columns.get(name, ()):
            mask[slice(None) if column.rows is None else column.rows] = True
        return mask

    def everywhere(self, name: str) -> bool:
        return name in self.columns and self.columns[name][0].rows is None

    def numbers(self, name: str, default: int = 0) -> Array:
        """64 bits without a sign; `default` where a message does not have the field."""
        if self.everywhere(name):
            return self.columns[name][0].first
        values = np.full(self.count, default, np.uint64)
        for column in self.columns.get(name, ()):
            values[column.rows] = column.first
        return values

    def is_set(self, name: str) -> Array:
        flags: Array = self.numbers(name) != 0
        return flags

    def texts(self, name: str) -> pa.Array:
        """The bytes of the field; null where a message does not have it."""
        if name not in self.columns:
            return pa.nulls(self.count, pa.binary())
        (column,) = self.columns[name]
        cut = self.words.cut(column.first, column.stop)
        if column.rows is None:
            return cut
        place = np.zeros(self.count, np.int32)
        place[column.rows] = np.arange(len(column.rows), dtype=np.int32)
        return cut.take(pa.array(place, mask=~self.has(name)))


def parse(words: Words, start: Array, end: Array, fields: Iterable[Field]) -> Parsed:
    """The messages between `start` and `end`. `fields` are in the order in which clients write them."""
    at, sound = start.copy(), np.ones(len(start), bool)
    columns: dict[str, list[FieldColumn]] = {}
    heads = _heads(words, at, end)
    for wire_field in fields:
        while count := np.count_nonzero(has := heads & wire_field.mask == wire_field.tag):
            rows = None if count == len(at) else np.flatnonzero(has)
            chosen = slice(None) if rows is None else rows
            first, after = _numbers_after(wire_field.tag_size, words, at[chosen], heads[chosen])
            stop, limit = after, end[chosen]
            if wire_field.is_bytes:
                first, stop = after, after + first.astype(np.int64)
            if np.count_nonzero(beyond := stop > limit):
                sound[beyond if rows is None else rows[beyond]] = False
                stop = np.minimum(stop, limit)
            at[chosen] = stop
            heads[chosen] = _heads(words, stop, limit)
            columns.setdefault(wire_field.name, []).append(FieldColumn(rows, first, stop))
            if not wire_field.repeats:
                break
    return Parsed(words, len(start), columns, sound & (at == end))


def _heads(words: Words, at: Array, end: Array) -> Array:
    """The next tags; 0, which is not a tag, after the end of a message."""
    heads = words.at(at)
    heads[at >= end] = 0
    return heads


def _numbers_after(tag_size: int, words: Words, at: Array, heads: Array) -> tuple[Array, Array]:
    """The numbers after the tags at these places, and where they end. One of more than eight bytes ends far away.

    Most fit in what was read with the tag (`heads`).
    """
    bits = np.uint64(8 * tag_size)
    raw, limit = heads >> bits, _CONTINUED >> bits
    if not np.count_nonzero(raw & _FIRST_CONTINUED):
        return raw & _FIRST_BITS, at + (tag_size + 1)
    at = at + tag_size
    if np.count_nonzero(stops := ~raw & limit) < len(at):
        raw = words.at(at)
        stops = ~raw & _CONTINUED
    lowest = stops & (~stops + _ONE)  # the highest bit of the last byte
    largest = int(lowest.max()).bit_length() >> 3
    values = raw & (lowest - _ONE) & _SEVEN_BITS
    for lower, upper, shift in _JOINS[: (largest - 1).bit_length()]:
        values = values & lower | (values & upper) >> shift
    after = at + (np.frexp(lowest.astype(np.float64))[1] >> 3)
    if np.count_nonzero(lowest) < len(at):
        after[lowest == 0] = FAR
    return values, after
