"""Rows that are columns already -> Arrow arrays: what `columns` does for rows of objects, with the same results."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from broker_core.wire.pulsar_api_pb2 import CompressionType
from pulsarctl.tables.arrays import LATER_US, MAP, TIME_MAX_MS, TIMESTAMP
from pulsarctl.tables.column_rows import ColumnRows
from pulsarctl.tables.protobuf_columns import Array, Field, FieldColumn, Parsed, Unusual, parse

_PAIR_FIELDS = (Field("key", 1, is_bytes=True), Field("value", 2, is_bytes=True))

Place = tuple[str, int]  # topic and its partition


def array_of(name: str, rows: ColumnRows, place: Place) -> pa.Array:
    """The column of that name. Raises `Unusual`, also for text that is not UTF-8 and for numbers that do not fit."""
    try:
        return _ARRAYS[name](rows, place)
    except pa.ArrowInvalid as error:
        raise Unusual from error


def _always(value: Any, kind: pa.DataType) -> Callable[[ColumnRows, Place], pa.Array]:
    return lambda rows, _: _repeated(value, kind, rows)


def _repeated(value: Any, kind: pa.DataType, rows: ColumnRows) -> pa.Array:
    return pa.nulls(len(rows), kind) if value is None else pa.repeat(pa.scalar(value, kind), len(rows))


def _numbers(kind: pa.DataType, values_of: Callable[[ColumnRows], Array]) -> Callable[[ColumnRows, Place], pa.Array]:
    return lambda rows, _: pa.array(values_of(rows)).cast(kind)


def _text(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _of_entry(rows: ColumnRows, array: pa.Array) -> pa.Array:
    return array if rows.of_entry is None else array.take(pa.array(rows.of_entry))


def _times(ms: Array, missing: Array | None = None) -> pa.Array:
    """As `arrays.times`."""
    us = np.minimum(ms, np.uint64(TIME_MAX_MS)).astype(np.int64) * 1000
    us[ms > TIME_MAX_MS] = LATER_US
    return pa.array(us, pa.int64(), mask=missing).view(TIMESTAMP)


def _message_ids(rows: ColumnRows, place: Place) -> pa.Array:
    prefix, suffix = f"{rows.run.ledger_id}:", f":{place[1]}"
    ids = [f"{prefix}{entry_id}{suffix}" for entry_id in rows.run.entry_ids.tolist()]
    if rows.of_entry is not None:
        pairs = zip(rows.of_entry.tolist(), rows.batch_indexes.tolist(), strict=True)
        ids = [f"{ids[entry]}:{index}" for entry, index in pairs]
    return pa.array(ids, pa.string())


def _keys(rows: ColumnRows, _: Place) -> pa.Array:
    """An empty key is a key, unless it stands for null."""
    keys = _text(rows.own.texts("partition_key"))
    if "null_partition_key" not in rows.own:
        return keys
    is_null = pc.and_(pa.array(rows.own.is_set("null_partition_key")), pc.equal(keys, ""))
    return pc.if_else(is_null, None, keys)


def _properties(rows: ColumnRows, _: Place) -> pa.Array:
    own = rows.own
    owners, pairs = _pairs(own)
    counts = np.bincount(owners, minlength=own.count)
    keys, items = _text(pairs.texts("key")), _text(pairs.texts("value"))
    if len(owners) and counts.max() > 1:
        _check_names(owners, keys)
    offsets = np.zeros(own.count + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items).cast(MAP)


def _pairs(own: Parsed) -> tuple[Array, Parsed]:
    """The row of each property, and the parsed properties, in the order of rows."""
    fields = own.columns.get("properties", [])
    owners = [np.arange(own.count) if field.rows is None else field.rows for field in fields]
    row = np.concatenate([*owners, np.empty(0, np.int64)]).astype(np.int64)
    order = np.argsort(row, kind="stable") if len(fields) > 1 else slice(None)
    empty = FieldColumn(None, np.empty(0, np.int64), np.empty(0, np.int64))
    first = np.concatenate([field.first for field in [*fields, empty]])[order]
    stop = np.concatenate([field.stop for field in [*fields, empty]])[order]
    pairs = parse(own.words, first, stop, _PAIR_FIELDS)
    if len(row) and not (pairs.sound.all() and pairs.everywhere("key") and pairs.everywhere("value")):
        raise Unusual
    return row[order], pairs


def _check_names(owners: Array, keys: pa.Array) -> None:
    """Raises `Unusual` if a message has two properties of one name."""
    codes = keys.dictionary_encode()
    pairs = owners * len(codes.dictionary) + codes.indices.to_numpy()
    if len(np.unique(pairs)) != len(pairs):
        raise Unusual


def _event_times(rows: ColumnRows, _: Place) -> pa.Array:
    ms = rows.own.numbers("event_time")
    return _times(ms, ms == 0)


def _deliver_at(rows: ColumnRows, _: Place) -> pa.Array:
    entry = rows.entry
    return _times(rows.per_row(entry.numbers("deliver_at_time")), ~rows.per_row(entry.has("deliver_at_time")))


def _sequence_ids(rows: ColumnRows) -> Array:
    """A message of a batch that has none counts on from the ID of its entry."""
    own = rows.own.numbers("sequence_id")
    if rows.of_entry is not None and not rows.own.everywhere("sequence_id"):
        counted = rows.per_row(rows.entry.numbers("sequence_id")) + rows.batch_indexes.astype(np.uint64)
        own = np.where(rows.own.has("sequence_id"), own, counted)
    return own.astype(np.uint64).view(np.int64)


def _compressions(rows: ColumnRows, _: Place) -> pa.Array:
    kinds, codes = np.unique(rows.entry.numbers("compression"), return_inverse=True)
    known = dict(zip(CompressionType.values(), CompressionType.keys(), strict=True))
    if not set(kinds.tolist()) <= known.keys():
        raise Unusual
    names = pa.array([known[kind] for kind in kinds.tolist()], pa.string())
    return names.take(pa.array(rows.per_row(codes.reshape(-1))))


def _replicated_from(rows: ColumnRows, _: Place) -> pa.Array:
    texts = _text(_of_entry(rows, rows.entry.texts("replicated_from")))
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _value_sizes(rows: ColumnRows, _: Place) -> pa.Array:
    """Without values, what the headers of the entries announce."""
    if rows.values is not None:
        return pc.fill_null(pc.binary_length(rows.values), 0).cast(pa.int32())
    announced = rows.entry.numbers("uncompressed_size").astype(np.int64)
    sizes = np.where(announced > 0, announced, rows.payload_sizes)
    return pa.array(np.where(rows.entry.is_set("null_value"), 0, sizes)).cast(pa.int32())


def _values(rows: ColumnRows, _: Place) -> pa.Array:
    assert rows.values is not None, "the column needs them"
    return rows.values


_ARRAYS: Mapping[str, Callable[[ColumnRows, Place], pa.Array]] = {
    "topic": lambda rows, place: _repeated(place[0], pa.string(), rows),
    "partition": lambda rows, place: _repeated(place[1], pa.int32(), rows),
    "ledger_id": lambda rows, _: _repeated(rows.run.ledger_id, pa.int64(), rows),
    "entry_id": _numbers(pa.int64(), lambda rows: rows.per_row(rows.run.entry_ids)),
    "batch_index": _numbers(pa.int32(), lambda rows: rows.batch_indexes),
    "message_id": _message_ids,
    "messages": _numbers(pa.int32(), lambda rows: rows.stands_for),
    "subscription": _always(None, pa.string()),
    "key": _keys,
    "key_is_base64": _numbers(pa.bool_(), lambda rows: rows.own.is_set("partition_key_b64_encoded")),
    "ordering_key": lambda rows, _: rows.own.texts("ordering_key"),
    "properties": _properties,
    "publish_time": lambda rows, _: _times(rows.per_row(rows.entry.numbers("publish_time"))),
    "event_time": _event_times,
    "deliver_at": _deliver_at,
    "producer": lambda rows, _: _text(_of_entry(rows, rows.entry.texts("producer_name"))),
    "sequence_id": _numbers(pa.int64(), _sequence_ids),
    "schema_version": lambda rows, _: _of_entry(rows, rows.entry.texts("schema_version")),
    "compression": _compressions,
    "encrypted": _always(False, pa.bool_()),
    "chunk_uuid": _always(None, pa.string()),
    "chunk_index": _always(None, pa.int32()),
    "chunk_count": _always(None, pa.int32()),
    "replicated_from": _replicated_from,
    "broker_index": _always(None, pa.int64()),
    "broker_time": _always(None, TIMESTAMP),
    "batched": _numbers(pa.bool_(), lambda rows: rows.per_row(rows.entry.has("num_messages_in_batch"))),
    "batch_size": _numbers(pa.int32(), lambda rows: rows.per_row(rows.entry.numbers("num_messages_in_batch", 1))),
    "entry_size": _numbers(pa.int32(), lambda rows: rows.per_row(rows.run.sizes)),
    "value_size": _value_sizes,
    "value": _values,
}
