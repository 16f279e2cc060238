"""The columns of a table: name, type, and how it is made. One list, in this order.

A row is a message (`unit=message`) or a whole entry as stored (`unit=entry`: a batch stays one row, and `messages` is
the number of its messages). Only requested columns are computed.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from broker_core.wire.batch import is_batch, is_chunk, is_encrypted
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata
from pulsarctl.errors import UsageProblem
from pulsarctl.tables import arrays
from pulsarctl.tables.rows import Message, Rows


class Column(NamedTuple):
    """`extract` takes values out of some rows, and `build` makes the array of all of them.

    `splits`: it needs the messages of a batch, not only the headers of its entry.
    """

    name: str
    arrow_type: pa.DataType
    extract: Callable[[Rows], Sequence[Any]]
    build: Callable[[Sequence[Any]], pa.Array]
    splits: bool = False


def _plain(name: str, kind: pa.DataType, extract: Callable[[Rows], Sequence[Any]], *, splits: bool = False) -> Column:
    return Column(name, kind, extract, lambda values: pa.array(values, kind), splits)


def _text(name: str, extract: Callable[[Rows], Sequence[Any]], *, splits: bool = False) -> Column:
    return Column(name, pa.string(), extract, arrays.texts, splits)


def _time(name: str, extract: Callable[[Rows], Sequence[Any]], *, splits: bool = False) -> Column:
    return Column(name, arrays.TIMESTAMP, extract, arrays.times, splits)


def _header(value: Callable[[MessageMetadata], Any]) -> Callable[[Rows], Sequence[Any]]:
    """A value of the entry's metadata."""
    return lambda rows: rows.of_metadata(value)


def _message_ids(rows: Rows) -> Sequence[str]:
    """`ledger:entry:partition[:batch]`, as Pulsar's clients print IDs."""
    ids = rows.per_row([f"{rows.ledger_id}:{entry_id}:{rows.partition}" for entry_id in rows.entry_ids])
    return [text if i < 0 else f"{text}:{i}" for text, i in zip(ids, rows.batch_indexes, strict=True)]


def _keys(rows: Rows) -> Sequence[str | None]:
    keys = [message.partition_key for message in rows.messages]
    if all(keys):
        return keys
    return [key if key or _has_key(message) else None for key, message in zip(keys, rows.messages, strict=True)]


def _has_key(message: Message) -> bool:
    """An empty key is a key."""
    return message.HasField("partition_key") and not message.null_partition_key


def _ordering_keys(rows: Rows) -> Sequence[bytes | None]:
    keys = [message.ordering_key for message in rows.messages]
    if all(keys):
        return keys
    pairs = zip(keys, rows.messages, strict=True)
    return [key if key or message.HasField("ordering_key") else None for key, message in pairs]


def _sequence_ids(rows: Rows) -> Sequence[int]:
    """A message of a batch that has none counts on from the ID of its entry."""
    ids = [message.sequence_id for message in rows.messages]
    if not all(ids):
        firsts = rows.of_metadata(lambda metadata: metadata.sequence_id)
        for row, (message, index) in enumerate(zip(rows.messages, rows.batch_indexes, strict=True)):
            if index >= 0 and not message.HasField("sequence_id"):
                ids[row] = firsts[row] + index
    return ids


def _broker_indexes(rows: Rows) -> Sequence[int | None]:
    """The broker numbers messages, and an entry carries the number of its last message."""
    firsts = rows.per_row(
        [
            None if stamp is None or not stamp.HasField("index") else stamp.index - metadata.num_messages_in_batch + 1
            for metadata, _, stamp in rows.entries
        ]
    )
    pairs = zip(firsts, rows.batch_indexes, strict=True)
    return [None if first is None else first + max(index, 0) for first, index in pairs]


def _broker_times(rows: Rows) -> Sequence[int | None]:
    stamps = [entry.broker_metadata for entry in rows.entries]
    return rows.per_row(
        [stamp.broker_timestamp if stamp and stamp.HasField("broker_timestamp") else None for stamp in stamps]
    )


def _value_sizes(rows: Rows) -> Sequence[int]:
    """Without values, what the headers of the entries announce."""
    if rows.values:
        return [0 if value is None else len(value) for value in rows.values]
    return rows.per_row([0 if m.null_value else m.uncompressed_size or len(payload) for m, payload, _ in rows.entries])


def _of_chunk(field: str) -> Callable[[Rows], Sequence[Any]]:
    return _header(lambda metadata: getattr(metadata, field) if is_chunk(metadata) else None)


COLUMNS: tuple[Column, ...] = (
    _plain("topic", pa.string(), lambda rows: [rows.topic] * len(rows)),
    _plain("partition", pa.int32(), lambda rows: [rows.partition] * len(rows)),
    _plain("ledger_id", pa.int64(), lambda rows: [rows.ledger_id] * len(rows)),
    _plain("entry_id", pa.int64(), lambda rows: rows.per_row(rows.entry_ids)),
    _plain("batch_index", pa.int32(), lambda rows: rows.batch_indexes),
    _plain("message_id", pa.string(), _message_ids),
    _plain("messages", pa.int32(), lambda rows: rows.per_row(rows.stands_for)),
    _plain("subscription", pa.string(), lambda rows: rows.per_row(rows.subscriptions)),
    _text("key", _keys, splits=True),
    _plain("key_is_base64", pa.bool_(), lambda rows: [m.partition_key_b64_encoded for m in rows.messages], splits=True),
    _plain("ordering_key", pa.binary(), _ordering_keys, splits=True),
    Column(
        "properties", arrays.MAP, lambda rows: [arrays.pairs(m.properties) for m in rows.messages], arrays.maps, True
    ),
    _time("publish_time", _header(lambda m: m.publish_time)),
    _time("event_time", lambda rows: [m.event_time or None for m in rows.messages], splits=True),
    _time("deliver_at", _header(lambda m: m.deliver_at_time if m.HasField("deliver_at_time") else None)),
    _text("producer", _header(lambda m: m.producer_name)),
    Column("sequence_id", pa.int64(), _sequence_ids, arrays.signed, splits=True),
    _plain(
        "schema_version", pa.binary(), _header(lambda m: m.schema_version if m.HasField("schema_version") else None)
    ),
    _plain("compression", pa.string(), _header(lambda m: CompressionType.Name(m.compression))),
    _plain("encrypted", pa.bool_(), _header(is_encrypted)),
    _text("chunk_uuid", _of_chunk("uuid")),
    _plain("chunk_index", pa.int32(), _of_chunk("chunk_id")),
    _plain("chunk_count", pa.int32(), _of_chunk("num_chunks_from_msg")),
    _text("replicated_from", _header(lambda m: m.replicated_from or None)),
    _plain("broker_index", pa.int64(), _broker_indexes),
    _time("broker_time", _broker_times),
    _plain("batched", pa.bool_(), _header(is_batch)),
    _plain("batch_size", pa.int32(), _header(lambda m: m.num_messages_in_batch)),
    _plain("entry_size", pa.int32(), lambda rows: rows.per_row(rows.sizes)),
    _plain("value_size", pa.int32(), _value_sizes, splits=True),
    _plain("value", pa.binary(), lambda rows: rows.values, splits=True),
)

_BY_NAME = {column.name: column for column in COLUMNS}


def columns_named(names: Iterable[str]) -> tuple[Column, ...]:
    """The columns of these names, in the order given. Raises `UsageProblem`."""
    return tuple(map(column_named, names))


def column_named(name: str) -> Column:
    """Raises `UsageProblem`."""
    if name not in _BY_NAME:
        raise UsageProblem(f"the pulsar source has no column {name}", hint=f"its columns are {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
