"""The columns of a table: name, type, and where each value comes from. One list, in this order.

A row is a message (`unit=message`) or a whole entry as stored (`unit=entry`: a batch stays one row, and `messages` is
the number of its messages). Only requested columns are computed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from pulsarctl.errors import UsageProblem
from pulsarctl.raw.entry import Entry, StoredMessage

BATCH_ROWS = 4096
BATCH_VALUE_BYTES = 8 * 1024 * 1024
TIME_MAX_MS = 253_402_300_799_999  # the end of year 9999: a producer may write anything into a time


class Row(NamedTuple):
    """One row before it becomes columns; `messages` is how many messages of `entry` it stands for."""

    entry: Entry
    message: StoredMessage
    messages: int
    subscription: str | None


class Column(NamedTuple):
    name: str
    arrow_type: pa.DataType
    of: Callable[[Row], Any]


def _time(ms: int | None) -> int | None:
    """Microseconds, as Arrow wants them."""
    return None if ms is None else max(min(ms, TIME_MAX_MS), 0) * 1000


def _signed(number: int) -> int:
    """Sequence ids are unsigned and 64 bits wide; Spark's numbers have a sign."""
    return number - (1 << 64) if number >> 63 else number


def _value_size(row: Row) -> int:
    if row.message.value is not None:
        return len(row.message.value)
    if row.message.id.batch_index >= 0 or row.entry.metadata.null_value:
        return 0
    return row.entry.metadata.uncompressed_size or len(row.entry.payload)


def _chunk(part: int) -> Callable[[Row], Any]:
    return lambda row: None if row.message.chunk is None else row.message.chunk[part]


_TIMESTAMP = pa.timestamp("us", tz="UTC")
_PROPERTIES = pa.map_(pa.string(), pa.string())

COLUMNS = (
    Column("topic", pa.string(), lambda row: row.entry.topic),
    Column("partition", pa.int32(), lambda row: row.entry.partition),
    Column("ledger_id", pa.int64(), lambda row: row.entry.ledger_id),
    Column("entry_id", pa.int64(), lambda row: row.entry.entry_id),
    Column("batch_index", pa.int32(), lambda row: row.message.id.batch_index),
    Column("message_id", pa.string(), lambda row: str(row.message.id)),
    Column("messages", pa.int32(), lambda row: row.messages),
    Column("subscription", pa.string(), lambda row: row.subscription),
    Column("key", pa.string(), lambda row: row.message.key),
    Column("key_is_base64", pa.bool_(), lambda row: row.message.key_is_base64),
    Column("ordering_key", pa.binary(), lambda row: row.message.ordering_key),
    Column("properties", _PROPERTIES, lambda row: list(row.message.properties.items())),
    Column("publish_time", _TIMESTAMP, lambda row: _time(row.message.publish_time_ms)),
    Column("event_time", _TIMESTAMP, lambda row: _time(row.message.event_time_ms)),
    Column("deliver_at", _TIMESTAMP, lambda row: _time(row.message.deliver_at_ms)),
    Column("producer", pa.string(), lambda row: row.message.producer),
    Column("sequence_id", pa.int64(), lambda row: _signed(row.message.sequence_id)),
    Column("schema_version", pa.binary(), lambda row: row.message.schema_version),
    Column("compression", pa.string(), lambda row: row.message.compression),
    Column("encrypted", pa.bool_(), lambda row: row.message.encrypted),
    Column("chunk_uuid", pa.string(), _chunk(0)),
    Column("chunk_index", pa.int32(), _chunk(1)),
    Column("chunk_count", pa.int32(), _chunk(2)),
    Column("replicated_from", pa.string(), lambda row: row.message.replicated_from),
    Column("broker_index", pa.int64(), lambda row: row.message.broker_index),
    Column("broker_time", _TIMESTAMP, lambda row: _time(row.message.broker_time_ms)),
    Column("batch_size", pa.int32(), lambda row: row.entry.message_count),
    Column("batched", pa.bool_(), lambda row: row.entry.is_batch),
    Column("entry_size", pa.int32(), lambda row: row.entry.stored_bytes),
    Column("value_size", pa.int32(), _value_size),
    Column("value", pa.binary(), lambda row: row.message.value),
)

_BY_NAME = {column.name: column for column in COLUMNS}


def columns_named(names: Iterable[str]) -> tuple[Column, ...]:
    """The columns of these names, in the order given. Raises `UsageProblem`."""
    names = list(names)
    unknown = [name for name in names if name not in _BY_NAME]
    if unknown or not names:
        raise UsageProblem(
            f"the pulsar source has no column {', '.join(unknown) or 'to read'}",
            hint=f"its columns are {', '.join(_BY_NAME)}",
        )
    return tuple(_BY_NAME[name] for name in names)


def record_batches(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    """Rows as Arrow batches, bounded in rows and in bytes of values."""
    schema = pa.schema([(column.name, column.arrow_type) for column in columns])
    pending: list[Row] = []
    size = 0
    for row in rows:
        pending.append(row)
        size += len(row.message.value or b"")
        if len(pending) >= BATCH_ROWS or size >= BATCH_VALUE_BYTES:
            yield _batch(pending, columns, schema)
            pending, size = [], 0
    if pending:
        yield _batch(pending, columns, schema)


def _batch(rows: list[Row], columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(map(column.of, rows), type=column.arrow_type) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
