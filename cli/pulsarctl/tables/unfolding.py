"""Entries -> rows -> Arrow batches: selects, decompresses, splits batches, joins chunks. One pass, in order.

Usual entries become columns at once (`column_rows`); the others are read one by one (`rows`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from broker_core.wire.batch import check_count, is_batch, is_chunk, is_encrypted, plain_payload, split_batch_columns
from broker_core.wire.errors import EntryError
from broker_core.wire.message import Entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from pulsarctl.tables.chunks import ChunkJoiner
from pulsarctl.tables.column_arrays import array_of
from pulsarctl.tables.column_rows import PLAIN_MAX, ColumnRows, rows_of_batches, rows_of_entries
from pulsarctl.tables.columns import Column, columns_named
from pulsarctl.tables.entry_run import COLUMNS_ENTRIES_MIN, EntryRun, Headers, damaged
from pulsarctl.tables.ledger_ranges import LedgerRange, Unacknowledged
from pulsarctl.tables.protobuf_columns import Unusual
from pulsarctl.tables.rows import Message, Rows
from pulsarctl.tables.typed import typed_values
from pulsarctl.tables.typed.typed_values import TypedValues
from pulsarctl.values.names import partition_index

Piece: TypeAlias = list[Any] | pa.Array  # of a column: values, or an array of them

GATHER_ROWS = 100  # more parsed entries would fall out of the processor's caches
ROWS_MAX = 10_000
ROWS_ENOUGH = 8_000
BYTES_MAX = 8 << 20
BYTES_ENOUGH = 1 << 20  # of columns, which would be copied to make more of them one

_EVERYONE: Sequence[Unacknowledged | None] = (None,)


class Unfolding:
    """The unfolding of one range. `chunks` None: chunks stay apart, and batches stay one row (`unit=entry`)."""

    def __init__(
        self, part: LedgerRange, schema: pa.Schema, chunks: ChunkJoiner | None, typed: TypedValues | None = None
    ) -> None:
        self._part = part
        self._partition = partition_index(part.topic)
        self._schema = schema
        self._columns = columns_named(_untyped(schema.names, typed))
        self._typed = typed
        self._chunks = chunks
        self._splits = typed is not None or any(column.splits for column in self._columns)
        self._wants_values = "value" in schema.names
        self._wants_payloads = self._wants_values if chunks is None else self._splits
        self._is_filtered = part.subscriptions is not None or part.since_ms is not None or part.until_ms is not None
        self._is_selective = self._is_filtered or bool(part.before) or part.through >= 0
        self._rows = self._no_rows()
        self._gathered: list[list[Piece]] = [[] for _ in self._columns]
        self._count = 0
        self._bytes = 0

    def batches(self, runs: Iterable[EntryRun]) -> Iterator[pa.RecordBatch]:
        """Raises `DamagedEntry`, and what reading raises."""
        for run in runs:
            for part in self._of_one_kind(run):
                if self._add_columns(part):
                    yield from self._flush_if_enough(BYTES_ENOUGH)
                else:
                    yield from self._one_by_one(part)
        self._gather()
        yield from self._flush()

    def _of_one_kind(self, run: EntryRun) -> Iterator[EntryRun]:
        """Runs of batches, and runs of single messages, where these do not alternate all the time."""
        headers = None if self._chunks is None or self._is_selective else run.headers
        if headers is None:
            return iter((run,))
        changes = np.flatnonzero(np.diff(headers.metadata.has("num_messages_in_batch"))) + 1
        if not len(changes) or len(changes) * COLUMNS_ENTRIES_MIN > len(run):
            return iter((run,))
        return run.cut(changes.tolist())

    def _add_columns(self, run: EntryRun) -> bool:
        """False, without effect, if the entries have to be read one by one."""
        if self._is_selective or self._typed is not None or run.headers is None:
            return False
        try:
            rows = self._column_rows(run, run.headers)
            place = (self._part.topic, self._partition)
            arrays = [array_of(column.name, rows, place) for column in self._columns]
        except Unusual:
            return False
        self._gather()
        for pieces, array in zip(self._gathered, arrays, strict=True):
            pieces.append(array)
        self._count += len(rows)
        self._bytes += max(int(run.sizes.sum()), sum(array.nbytes for array in arrays))
        return True

    def _column_rows(self, run: EntryRun, headers: Headers) -> ColumnRows:
        """Raises `Unusual`."""
        if self._chunks is None:
            return rows_of_entries(run, headers, whole=True, wants_values=self._wants_values)
        batched = headers.metadata.has("num_messages_in_batch")
        if not batched.any():
            return rows_of_entries(run, headers, whole=False, wants_values=self._splits)
        if not batched.all():
            raise Unusual
        return rows_of_batches(run, headers, wants_messages=self._splits)

    def _one_by_one(self, run: EntryRun) -> Iterator[pa.RecordBatch]:
        for few in run.cut(range(GATHER_ROWS, len(run), GATHER_ROWS)):
            if self._is_plain(few):
                self._rows.add_singles(few, self._values_of_singles(few))
                self._bytes += max(int(few.sizes.sum()), self._decompressed(few.entries))
                yield from self._gather_and_flush()
                continue
            for entry_id, entry, size in zip(few.entry_ids.tolist(), few.entries, few.sizes.tolist(), strict=True):
                self._take(entry_id, entry, size)
                self._bytes += max(size, self._decompressed([entry]))
                yield from self._gather_and_flush()

    def _is_plain(self, run: EntryRun) -> bool:
        """Whether each entry is one message and one row, the usual run of a topic without batches."""
        if self._is_selective or self._chunks is None:
            return False
        return self._decompressed(run.entries) <= PLAIN_MAX and not any(
            entry.metadata.HasField("num_messages_in_batch")
            or is_chunk(entry.metadata)
            or entry.metadata.encryption_keys
            for entry in run.entries
        )

    def _decompressed(self, entries: Sequence[Entry]) -> int:
        """The bytes that come out of the payloads, as far as columns need them."""
        if not self._wants_payloads:
            return 0
        return sum([metadata.uncompressed_size for metadata, _, _ in entries if metadata.compression])

    def _values_of_singles(self, run: EntryRun) -> Sequence[bytes | None]:
        if not self._splits:
            return ()
        try:
            return [
                None if metadata.null_value else plain_payload(metadata, payload) if metadata.compression else payload
                for metadata, payload, _ in run.entries
            ]
        except EntryError:
            for entry_id, (metadata, payload, _) in zip(run.entry_ids.tolist(), run.entries, strict=True):
                self._check_payload(entry_id, metadata, payload)
            raise

    def _check_payload(self, entry_id: int, metadata: MessageMetadata, payload: bytes) -> None:
        try:
            plain_payload(metadata, payload)
        except EntryError as error:
            raise damaged(self._part.topic, self._part.ledger_id, entry_id, error) from error

    def _gather_and_flush(self) -> Iterator[pa.RecordBatch]:
        if len(self._rows) >= GATHER_ROWS or self._bytes >= BYTES_MAX:
            self._gather()
            yield from self._flush_if_enough()

    def _flush_if_enough(self, bytes_enough: int = BYTES_MAX) -> Iterator[pa.RecordBatch]:
        if self._count >= ROWS_ENOUGH or self._bytes >= bytes_enough:
            yield from self._flush()

    def _no_rows(self) -> Rows:
        return Rows(self._part.topic, self._partition, self._part.ledger_id)

    def _gather(self) -> None:
        rows, self._rows = self._rows, self._no_rows()
        if len(rows):
            self._count += len(rows)
            for pieces, column in zip(self._gathered, self._columns, strict=True):
                values = column.extract(rows)
                if pieces and isinstance(pieces[-1], list):
                    pieces[-1] += values
                else:
                    pieces.append(list(values))
            if self._typed is not None:
                self._typed.add(rows)

    def _flush(self) -> Iterator[pa.RecordBatch]:
        gathered, self._gathered = self._gathered, [[] for _ in self._columns]
        count, self._count, self._bytes = self._count, 0, 0
        if not count:
            return
        arrays = {column.name: _built(column, pieces) for column, pieces in zip(self._columns, gathered, strict=True)}
        if self._typed is not None:
            arrays |= self._typed.take()
        for name in self._schema.names:
            if name not in arrays:  # of untyped values: there is nothing to say about their decoding
                arrays[name] = pa.nulls(count, self._schema.field(name).type)
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in self._schema.names], schema=self._schema)
        for start in range(0, count, ROWS_MAX):
            yield batch.slice(start, ROWS_MAX)

    def _take(self, entry_id: int, entry: Entry, size: int) -> None:
        wanting = self._wanting(entry_id, entry.metadata.publish_time) if self._is_filtered else _EVERYONE
        try:
            if self._chunks is None:
                self._take_whole(entry_id, entry, size, wanting)
                return
            if is_chunk(entry.metadata):
                joined = self._chunks.add(entry_id, entry, size, needed=bool(wanting))
                if joined is None:
                    return
                entry, size = joined
            if wanting:
                self._take_messages(entry_id, entry, size, wanting)
        except EntryError as error:
            raise damaged(self._part.topic, self._part.ledger_id, entry_id, error) from error

    def _take_whole(self, entry_id: int, entry: Entry, size: int, wanting: Sequence[Unacknowledged | None]) -> None:
        """One row for the entry."""
        values: list[bytes | None] = []
        metadata = entry.metadata
        if wanting and self._wants_values:
            values = [None if metadata.null_value else plain_payload(metadata, entry.payload)]
        count = metadata.num_messages_in_batch
        for unacknowledged in wanting:
            self._rows.add(
                entry_id,
                entry,
                size,
                [metadata],
                values,
                [-1],
                stands_for=count if unacknowledged is None else unacknowledged.wanted_of_batch(entry_id, count),
                subscription=None if unacknowledged is None else unacknowledged.subscription,
            )

    def _take_messages(self, entry_id: int, entry: Entry, size: int, wanting: Sequence[Unacknowledged | None]) -> None:
        messages, values, indexes = self._messages(entry)
        if (part := self._part).before and entry_id == part.first:
            skipped = sum(0 <= index < part.before for index in indexes)  # -1 stands for the whole entry
            messages, values, indexes = messages[skipped:], values[skipped:], indexes[skipped:]
        if part.through >= 0 and entry_id == part.last:
            kept = sum(index <= part.through for index in indexes)
            messages, values, indexes = messages[:kept], values[:kept], indexes[:kept]
        for unacknowledged in wanting:
            if unacknowledged is None:
                self._rows.add(entry_id, entry, size, messages, values, indexes)
                continue
            if rows := unacknowledged.wanted_rows(entry_id, indexes):
                own, contents = [messages[row] for row in rows], [values[row] for row in rows] if values else ()
                places = [indexes[row] for row in rows]
                self._rows.add(entry_id, entry, size, own, contents, places, subscription=unacknowledged.subscription)

    def _messages(self, entry: Entry) -> tuple[Sequence[Message], Sequence[bytes | None], Sequence[int]]:
        metadata = entry.metadata
        if not is_batch(metadata) or is_encrypted(metadata):
            if not self._splits:
                return [metadata], (), [-1]
            return [metadata], [None if metadata.null_value else plain_payload(metadata, entry.payload)], [-1]
        count = metadata.num_messages_in_batch
        if not self._splits:
            check_count(metadata, entry.payload)
            return [metadata] * count, (), range(count)
        singles, payloads = split_batch_columns(plain_payload(metadata, entry.payload), count)
        if not all(payloads):  # one is empty, null, or compacted away
            return _without_compacted(singles, payloads)
        return singles, payloads, range(count)

    def _wanting(self, entry_id: int, publish_time: int) -> Sequence[Unacknowledged | None]:
        """The subscriptions for which the entry has rows; `None` if none was asked for."""
        part = self._part
        if part.since_ms is not None and publish_time < part.since_ms:
            return ()
        if part.until_ms is not None and publish_time > part.until_ms:
            return ()
        if part.subscriptions is None:
            return _EVERYONE
        return [unacknowledged for unacknowledged in part.subscriptions if unacknowledged.wants(entry_id)]


def _built(column: Column, pieces: list[Piece]) -> pa.Array:
    arrays = [column.build(piece) if isinstance(piece, list) else piece for piece in pieces]
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _without_compacted(
    singles: Sequence[Message], payloads: Sequence[bytes]
) -> tuple[Sequence[Message], Sequence[bytes | None], Sequence[int]]:
    """Compaction leaves an empty slot for each message that it removes, and null values have no bytes."""
    kept = [index for index, single in enumerate(singles) if not getattr(single, "compacted_out", False)]
    values = [None if singles[index].null_value else payloads[index] for index in kept]
    return [singles[index] for index in kept], values, kept


def _untyped(names: Iterable[str], typed: TypedValues | None) -> Iterator[str]:
    """Columns that are made one by one."""
    for name in names:
        if name not in typed_values.NAMES or (name == "value" and typed is None):
            yield name
