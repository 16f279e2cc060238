"""The entries of one part of the plan, counted for each subscription: Arrow batches -> tallies. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pulsarctl.backlog.batch_messages import MessageColumns, message_columns
from pulsarctl.backlog.tally import (
    AGE_LIMITS_SECONDS,
    LARGEST_KEPT,
    SIZE_BUCKETS,
    BacklogRun,
    LargeMessage,
    Tally,
    joined,
)
from pulsarctl.tables.ledger_ranges import LedgerRange, Unacknowledged

COLUMNS = (
    "entry_id",
    "messages",
    "entry_size",
    "publish_time",
    "deliver_at",
    "producer",
    "schema_version",
    "encrypted",
    "batched",
    "key",
    "key_is_base64",
    "value_size",
    "value",
)
"""What counting needs of `TopicTable` with `unit=entry`."""

BLOCKS_PER_PART = 256

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of the report, and the age from which a TTL would remove messages."""

    now_ms: int
    ttl_seconds: float | None = None


class _Entries(NamedTuple):
    """Row `i` is one entry. Times are milliseconds."""

    entry_id: Array
    messages: Array
    size: Array
    published: Array
    deliver_at: Array
    producer: Array
    producers: list[str]
    schema: Array
    schemas: list[str]


def count(part: LedgerRange, batches: Iterable[pa.RecordBatch], moment: Moment) -> dict[str, Tally]:
    """A tally for each subscription that wants something of the part."""
    wanting = part.subscriptions or ()
    tallies = {unacknowledged.subscription: Tally() for unacknowledged in wanting}
    for batch in batches:
        entries, messages = _entries(batch), message_columns(batch)
        for unacknowledged in wanting:
            chosen = _Chosen.of(unacknowledged, entries, messages)
            _add(tallies[unacknowledged.subscription], part, chosen, moment)
    return tallies


def _entries(batch: pa.RecordBatch) -> _Entries:
    producer = batch.column("producer").fill_null("").dictionary_encode()
    schema = batch.column("schema_version").fill_null(b"").dictionary_encode()
    return _Entries(
        _integers(batch.column("entry_id")),
        _integers(batch.column("messages")),
        _integers(batch.column("entry_size")),
        _milliseconds(batch.column("publish_time")),
        _milliseconds(batch.column("deliver_at")),
        _integers(producer.indices),
        producer.dictionary.to_pylist(),
        _integers(schema.indices),
        [_version(version) for version in schema.dictionary.to_pylist()],
    )


def _integers(column: pa.Array) -> Array:
    numbers: Array = column.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _milliseconds(column: pa.Array) -> Array:
    return _integers(column.cast(pa.int64()).fill_null(0)) // 1000


def _version(stored: bytes) -> str:
    """Brokers store a number of 8 bytes; other clusters may use more."""
    if not stored:
        return "none"
    return str(int.from_bytes(stored, "big")) if len(stored) == 8 else stored.hex()


class _Chosen(NamedTuple):
    """The part of a batch that a subscription wants: rows of `entries` and `messages`, and open messages by entry."""

    entries: _Entries
    rows: Array
    open: Array
    messages: MessageColumns
    message_rows: Array

    @classmethod
    def of(cls, wanting: Unacknowledged, entries: _Entries, messages: MessageColumns) -> "_Chosen":
        chosen = _wanted(wanting, entries.entry_id)
        message_wanted = chosen[messages.entry]
        open_messages = entries.messages
        if wanting.open_batches:
            open_messages = open_messages.copy()
            for row, bits in _open_rows(wanting.open_batches, entries.entry_id):
                open_messages[row] = (bits & ((1 << int(entries.messages[row])) - 1)).bit_count()
                first, stop = np.searchsorted(messages.entry, (row, row + 1))
                for message in range(first, stop):
                    message_wanted[message] &= bool(bits >> int(messages.batch_index[message]) & 1)
        rows = np.flatnonzero(chosen)
        return cls(entries, rows, open_messages[rows], messages, np.flatnonzero(message_wanted))


def _wanted(wanting: Unacknowledged, entry_ids: Array) -> Array:
    firsts, lasts = (np.array(bounds, dtype=np.int64) for bounds in wanting.acked.bounds)
    chosen = entry_ids > wanting.after
    if len(firsts):
        index = np.searchsorted(firsts, entry_ids, side="right") - 1
        chosen &= ~((index >= 0) & (entry_ids <= lasts[np.maximum(index, 0)]))
    return chosen


def _open_rows(open_batches: Mapping[int, int], entry_ids: Array) -> Iterator[tuple[int, int]]:
    rows = {entry_id: row for row, entry_id in enumerate(entry_ids.tolist())}
    for entry_id, bits in open_batches.items():
        if entry_id in rows:
            yield rows[entry_id], bits


def _add(tally: Tally, entries: LedgerRange, chosen: _Chosen, moment: Moment) -> None:
    if not len(chosen.rows):
        return
    _add_entries(tally, entries, chosen)
    _add_times(tally, chosen, moment)
    _add_names(tally, chosen)
    _add_messages(tally, entries, chosen)


def _add_entries(tally: Tally, entries: LedgerRange, chosen: _Chosen) -> None:
    sizes, entry_ids = chosen.entries.size[chosen.rows], chosen.entries.entry_id[chosen.rows]
    tally.messages += int(chosen.open.sum())
    tally.entries += len(chosen.rows)
    tally.bytes += int(sizes.sum())
    _add_blocks(tally, entries, entry_ids, chosen.open, sizes)


def _add_blocks(tally: Tally, entries: LedgerRange, entry_ids: Array, messages: Array, sizes: Array) -> None:
    """The bounds of blocks follow from the plan, since those of batches depend on how the bytes arrived."""
    length = -(-entries.entries // BLOCKS_PER_PART)
    numbers = (entry_ids - entries.first) // length
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
    columns = (entry_ids[starts], np.add.reduceat(messages, starts), np.add.reduceat(sizes, starts))
    blocks = [BacklogRun(entries.ledger_id, *map(int, row)) for row in zip(*columns, strict=True)]
    if tally.blocks and (tally.blocks[-1].entry_id - entries.first) // length == numbers[0]:
        blocks[0] = joined([tally.blocks.pop(), blocks[0]])
    tally.add_blocks(blocks)


def _add_times(tally: Tally, chosen: _Chosen, moment: Moment) -> None:
    """Ages are never below 0, because a producer's clock may be ahead."""
    published, size = chosen.entries.published[chosen.rows], chosen.entries.size[chosen.rows]
    age_seconds = np.maximum(moment.now_ms - published, 0) / 1000
    bucket = np.searchsorted(AGE_LIMITS_SECONDS, age_seconds, side="right")
    tally.seen(int(published.min()), int(published.max()))
    tally.timeline.add(published, chosen.open)
    tally.ages = _plus(tally.ages, bucket, chosen.open)
    tally.age_bytes = _plus(tally.age_bytes, bucket, size)
    delayed = chosen.entries.deliver_at[chosen.rows] > moment.now_ms
    tally.delayed_messages += int(chosen.open[delayed].sum())
    tally.delayed_bytes += int(size[delayed].sum())
    if moment.ttl_seconds is not None:
        expired = age_seconds >= moment.ttl_seconds
        tally.expired_messages += int(chosen.open[expired].sum())
        tally.expired_bytes += int(size[expired].sum())


def _plus(histogram: list[int], bucket: Array, weights: Array) -> list[int]:
    more = np.bincount(bucket, weights=weights, minlength=len(histogram))
    return [before + int(number) for before, number in zip(histogram, more, strict=True)]


def _add_names(tally: Tally, chosen: _Chosen) -> None:
    entries = chosen.entries
    tally.producers.add(_counts(entries.producer[chosen.rows], chosen.open, entries.producers))
    tally.schema_versions.add(_counts(entries.schema[chosen.rows], chosen.open, entries.schemas))


def _counts(codes: Array, weights: Array | None, names: list[str]) -> Iterator[tuple[str, int]]:
    for name, number in zip(names, np.bincount(codes, weights=weights, minlength=len(names)), strict=True):
        if number:
            yield name, int(number)


def _add_messages(tally: Tally, entries: LedgerRange, chosen: _Chosen) -> None:
    messages, rows = chosen.messages, chosen.message_rows
    tally.opaque_messages += int(chosen.open.sum()) - len(rows)
    if not len(rows):
        return
    keys = messages.key[rows]
    counts = list(_counts(keys[keys >= 0], None, messages.names))
    tally.keyed_messages += int((keys >= 0).sum())
    tally.keys.add(counts)
    tally.distinct_keys.add(name for name, _ in counts)
    size = messages.size[rows]
    bits = np.where(size > 0, np.floor(np.log2(np.maximum(size, 1))) + 1, 0).astype(np.int64)
    tally.sizes = _plus(tally.sizes, np.minimum(bits, SIZE_BUCKETS - 1), np.ones(len(rows)))
    tally.keep_largest([_large(entries, chosen, int(row)) for row in rows[_largest(size)]])


def _largest(size: Array) -> Array:
    """The rows of the largest, and of every row that is as large as the last of them."""
    if len(size) <= LARGEST_KEPT:
        return np.arange(len(size))
    limit = np.partition(size, -LARGEST_KEPT)[-LARGEST_KEPT]
    return np.concatenate([np.flatnonzero(size > limit), np.flatnonzero(size == limit)[:LARGEST_KEPT]])


def _large(part: LedgerRange, chosen: _Chosen, row: int) -> LargeMessage:
    entries, messages = chosen.entries, chosen.messages
    entry = int(messages.entry[row])
    return LargeMessage(
        int(messages.size[row]),
        part.ledger_id,
        int(entries.entry_id[entry]),
        int(messages.batch_index[row]),
        part.topic,
        entries.producers[int(entries.producer[entry])],
        int(entries.published[entry]),
    )
