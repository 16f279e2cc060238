"""Rows as columns from the start: the messages of many entries, without an object for any of them.

`rows_of_entries` has a row for each entry, and `rows_of_batches` one for each message. Both raise `Unusual` for what
only `Rows` can hold, and `EntryError` never: an entry that is wrong is unusual.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from broker_core.wire.compression import UNCOMPRESSED_SIZE_MAX, decompress
from broker_core.wire.errors import EntryError
from pulsarctl.tables.entry_run import EntryRun, Headers
from pulsarctl.tables.protobuf_columns import Array, Field, Parsed, Unusual, Words, parse

MESSAGE_FIELDS = (
    Field("properties", 1, is_bytes=True, repeats=True),
    Field("partition_key", 2, is_bytes=True),
    Field("payload_size", 3),
    Field("compacted_out", 4),
    Field("event_time", 5),
    Field("partition_key_b64_encoded", 6),
    Field("ordering_key", 7, is_bytes=True),
    Field("sequence_id", 8),
    Field("null_value", 9),
    Field("null_partition_key", 10),
)
"""Fields of SingleMessageMetadata."""

PLAIN_MAX = 64 << 20
"""Bytes of the decompressed payloads of one run; those of a larger one are decompressed one by one."""

MESSAGES_MAX = 1_000_000
"""Messages in the batches of one run. A batch announces their number in a few bytes, and they may not fit in memory."""

_SIZE = 4  # bytes of the size in front of the metadata of a message
_LOOKED_AT = 128 << 10  # pairs


@dataclass(frozen=True, slots=True)
class ColumnRows:
    """Rows of one run. `entry` is the metadata of its entries, and `of_entry` the index of each row's entry.

    `of_entry` None: each entry is one row. `own` is the metadata of each row: of the message in its batch, or of the
    entry. `values` None: no column needs them.
    """

    run: EntryRun
    entry: Parsed
    of_entry: Array | None
    own: Parsed
    batch_indexes: Array
    stands_for: Array
    payload_sizes: Array
    values: pa.Array | None

    def __len__(self) -> int:
        return len(self.batch_indexes)

    def per_row(self, of_entries: Array) -> Array:
        """The values of each entry, repeated for each of its rows."""
        return of_entries if self.of_entry is None else of_entries[self.of_entry]


class Batches(NamedTuple):
    """Where each batch starts and ends in some bytes, and how many messages it has."""

    first: Array
    stop: Array
    counts: Array


def rows_of_entries(run: EntryRun, headers: Headers, *, whole: bool, wants_values: bool) -> ColumnRows:
    """`whole`: a batch is one row, which stands for its messages."""
    metadata, payload, end = headers
    count = len(run)
    return ColumnRows(
        run,
        metadata,
        None,
        metadata,
        np.full(count, -1, np.int32),
        metadata.numbers("num_messages_in_batch", 1).astype(np.int64) if whole else np.ones(count, np.int64),
        end - payload,
        _values(metadata, _payloads(headers)) if wants_values else None,
    )


def rows_of_batches(run: EntryRun, headers: Headers, *, wants_messages: bool) -> ColumnRows:
    metadata = headers.metadata
    counts = metadata.numbers("num_messages_in_batch").astype(np.int64)
    _check_counts(counts, _plain_sizes(headers))
    if counts.sum() > MESSAGES_MAX:
        raise Unusual
    of_entry = np.repeat(np.arange(len(run)), counts)
    indexes = np.arange(len(of_entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    own, values, sizes = metadata, None, np.zeros(len(of_entry), np.int64)
    if wants_messages:
        own, first = split_batches(*_plain(headers), counts)
        if own.is_set("compacted_out").any():
            raise Unusual
        sizes = own.numbers("payload_size").astype(np.int64)
        values = _values(own, own.words.cut(first, first + sizes))
    ones = np.ones(len(of_entry), np.int64)
    return ColumnRows(run, metadata, of_entry, own, indexes.astype(np.int32), ones, sizes, values)


def _values(own: Parsed, payloads: pa.Array) -> pa.Array:
    """Null where the message has a null value."""
    if "null_value" not in own:
        return payloads
    return payloads.take(pa.array(np.arange(own.count), mask=own.is_set("null_value")))


def _payloads(headers: Headers) -> pa.Array:
    """The payload of each entry, decompressed."""
    words, first, stop = _plain(headers)
    return words.cut(first, stop)


def _plain_sizes(headers: Headers) -> Array:
    """The bytes of each payload: its own, or what the producer announces up to the limit of decompression."""
    metadata, payload, end = headers
    announced = np.minimum(metadata.numbers("uncompressed_size").astype(np.int64), UNCOMPRESSED_SIZE_MAX)
    return np.where(metadata.is_set("compression"), announced, end - payload)


def _plain(headers: Headers) -> tuple[Words, Array, Array]:
    """The decompressed payloads, one after the other, in some bytes."""
    metadata, payload, end = headers
    if not metadata.numbers("compression").any():
        return metadata.words, payload, end
    if _plain_sizes(headers).sum() > PLAIN_MAX:
        raise Unusual
    data = metadata.words.bytes
    columns = (metadata.numbers("compression"), metadata.numbers("uncompressed_size"), payload, end)
    try:
        plain = [
            decompress(kind, data[start:stop].tobytes(), size)
            for kind, size, start, stop in zip(*(column.tolist() for column in columns), strict=True)
        ]
    except EntryError as error:
        raise Unusual from error
    ends = np.fromiter(accumulate(map(len, plain)), np.int64, len(plain))
    return Words(b"".join(plain)), ends - np.fromiter(map(len, plain), np.int64, len(plain)), ends


def split_batches(words: Words, first: Array, stop: Array, counts: Array) -> tuple[Parsed, Array]:
    """The metadata of all messages of the batches between `first` and `stop`, and where the payload of each starts.

    Where a message starts, only the one before it says. So each place that looks like one is parsed, and the messages
    are those that form a chain from the start of each batch to its end. Raises `Unusual`.
    """
    _check_counts(counts, stop - first)
    starts, batch = _inside(_likely_starts(words), first, stop)
    parsed, ends = _parsed(words, starts)
    follows = ends + parsed.numbers("payload_size").astype(np.int64)
    sound = parsed.sound & parsed.has("payload_size") & (follows <= stop[batch])
    chain = _chain(starts[sound], follows[sound], batch[sound], Batches(first, stop, counts))
    if len(chain) < len(starts):
        parsed, ends = _parsed(words, starts[sound][chain])
    return parsed, ends


def _inside(starts: Array, first: Array, stop: Array) -> tuple[Array, Array]:
    """The starts that are in a batch, and the batch of each."""
    batch = np.searchsorted(first, starts, "right") - 1
    inside = (batch >= 0) & (starts < stop[batch]) if len(stop) else np.zeros(len(starts), bool)
    return starts[inside], batch[inside]


def _check_counts(counts: Array, sizes: Array) -> None:
    """Raises `Unusual` for more messages than fit, before they take memory."""
    if (counts * _SIZE > sizes).any():
        raise Unusual


def _parsed(words: Words, starts: Array) -> tuple[Parsed, Array]:
    ends = starts + _SIZE + words.sizes(starts)
    return parse(words, starts + _SIZE, ends, MESSAGE_FIELDS), ends


def _likely_starts(words: Words) -> Array:
    """Where a size below 256 may be, and the metadata of a message after it. Looks at some bytes after others, so that
    they stay in the processor's caches.

    Three zeros in a row include two at an even place. If more follow, the last three are those of a size.
    """
    pairs = words.bytes[: words.size & ~1].view("<u2")
    places = [(pairs[at : at + _LOOKED_AT] == 0).nonzero()[0] + at for at in range(0, len(pairs), _LOOKED_AT)]
    zeros = 2 * np.concatenate([*places, np.empty(0, np.int64)])
    after = (words.at(zeros) >> np.uint64(16)).astype("<u2")
    before = words.bytes[zeros - 1]
    is_third = after & 0xFF == 0
    starts = zeros - ~is_third
    sizes = np.where(is_third, after >> 8, after & 0xFF)
    likely = is_third | (before == 0)
    likely &= (sizes >= 2) & (starts >= 0) & (starts + _SIZE + sizes <= words.size)
    chosen: Array = starts[likely]
    return chosen


def _chain(starts: Array, follows: Array, batch: Array, batches: Batches) -> Array:
    """The indexes in `starts` of the messages of all batches. `batch` has the index of the batch of each."""
    whole = _without_others(starts, follows, batch, batches)
    if whole.all():
        return np.arange(len(starts))
    is_message = whole[batch]
    rest = np.flatnonzero(~is_message)
    known = dict(zip(starts[rest].tolist(), rest.tolist(), strict=True))
    for row in np.flatnonzero(~whole).tolist():
        is_message[_walked(known, follows, Batches(*(column[row] for column in batches)))] = True
    return np.flatnonzero(is_message)


def _without_others(starts: Array, follows: Array, batch: Array, batches: Batches) -> Array:
    """The batches in which every start is that of a message: each one follows the one before, and none is missing."""
    first, stop, counts = batches
    expected = stop[batch]
    inner = batch[:-1] == batch[1:]
    expected[:-1][inner] = starts[1:][inner]
    whole: Array = (np.bincount(batch, minlength=len(counts)) == counts) & ((counts > 0) | (first == stop))
    whole[batch[follows != expected]] = False
    opening = np.flatnonzero(np.append(True, ~inner))[: len(batch)]
    whole[batch[opening]] &= starts[opening] == first[batch[opening]]
    return whole


def _walked(known: Mapping[int, int], follows: Array, batch: Batches) -> list[int]:
    """The indexes of the messages of one batch, one after the other. Raises `Unusual`."""
    at, indexes = int(batch.first), []
    for _ in range(int(batch.counts)):
        index = known.get(at)
        if index is None:
            raise Unusual
        indexes.append(index)
        at = int(follows[index])
    if at != batch.stop:
        raise Unusual
    return indexes
