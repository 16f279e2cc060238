"""The columns of an exported message, and how text formats write them.

Parquet and Avro keep the types. In JSON lines and CSV, times are ISO-8601, an ordering key is base64, and a value that
is not UTF-8 text is base64 in the column `value_base64`. CSV has properties as a JSON object.
"""

import base64
import json
from collections.abc import Container, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.values.json_text import parse_json

COLUMNS = (
    "topic",
    "partition",
    "message_id",
    "key",
    "key_is_base64",
    "ordering_key",
    "properties",
    "publish_time",
    "event_time",
    "deliver_at",
    "producer",
    "sequence_id",
    "schema_version",
    "encrypted",
)
VALUES = ("value", "value_base64")
NO_VALUE = "it has neither value nor value_base64"
TIMES = ("publish_time", "event_time", "deliver_at")
TIMESTAMP = pa.timestamp("us", tz="UTC")
PROPERTIES = pa.map_(pa.string(), pa.string())
TYPES: dict[str, pa.DataType] = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "message_id": pa.string(),
    "key": pa.string(),
    "key_is_base64": pa.bool_(),
    "ordering_key": pa.binary(),
    "properties": PROPERTIES,
    "publish_time": TIMESTAMP,
    "event_time": TIMESTAMP,
    "deliver_at": TIMESTAMP,
    "producer": pa.string(),
    "sequence_id": pa.int64(),
    "schema_version": pa.int64(),
    "value": pa.binary(),
}


def portable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch as exported: without `encrypted`, and schema versions as numbers."""
    columns = {name: batch.column(name) for name in batch.schema.names if name != "encrypted"}
    columns["schema_version"] = pa.array(list(map(_number, columns["schema_version"].to_pylist())), pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def as_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch as text, for JSON lines and CSV."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    for name in TIMES:
        columns[name] = pc.strftime(columns[name], format="%Y-%m-%dT%H:%M:%SZ")
    columns["ordering_key"] = pa.array(list(map(_base64, columns["ordering_key"].to_pylist())), pa.string())
    if pa.types.is_binary(columns["value"].type):
        columns |= _text_values(columns["value"])
    return pa.RecordBatch.from_pydict(columns)


def has_value(names: Container[str]) -> bool:
    """Whether a row has a value, perhaps null, or a file a column for it."""
    return any(name in names for name in VALUES)


def from_text(rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Rows of JSON lines or CSV, ours or others', as messages. Raises `ValueError`, which names the column."""
    columns = {}
    for name, kind in TYPES.items():
        try:
            if name == "value":
                columns[name] = pa.array(list(map(_value, rows)), kind)
            elif any(name in row for row in rows):
                columns[name] = _column(name, kind, [row.get(name) for row in rows])
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            raise ValueError(f"{name}: {error}") from error
    return pa.RecordBatch.from_pydict(columns)


def properties_text(pairs: Sequence[tuple[str, str]] | None) -> str | None:
    return json.dumps(dict(pairs), ensure_ascii=False) if pairs else None


def _column(name: str, kind: pa.DataType, values: list[Any]) -> pa.Array:
    if name == "ordering_key":
        return pa.array([None if value is None else base64.b64decode(value, validate=True) for value in values], kind)
    if name == "properties":
        return pa.array([list(properties_of(value).items()) for value in values], kind)
    if name == "key":
        return pa.array(list(map(_key, values)), kind)
    if pa.types.is_timestamp(kind):
        return _times(kind, values)
    if pa.types.is_string(kind) or all(value is None or type(value) is _PYTHON_TYPES[kind] for value in values):
        return pa.array(values, kind)
    return pa.array(list(map(_as_text, values)), pa.string()).cast(kind)


_PYTHON_TYPES = {pa.bool_(): bool, pa.int32(): int, pa.int64(): int}  # Arrow would make 1.5 a whole number


def _key(value: Any) -> str | None:
    """Text or a whole number. Others have several forms, each of which would be another key."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"{json.dumps(value)} is neither text nor a whole number")


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _times(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Numbers are milliseconds, as in Pulsar. In CSV they are text."""
    numbers = [int(value) if _is_number(value) else value for value in values]
    millis = pa.array([None if isinstance(value, str) else value for value in numbers], pa.timestamp("ms", tz="UTC"))
    texts = pa.array([value if isinstance(value, str) else None for value in numbers], pa.string())
    return pc.coalesce(texts.cast(kind), millis.cast(kind))


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.removeprefix("-").isdecimal()


def properties_of(properties: Any) -> dict[str, str]:
    """An object or its JSON text. Null is not a property, and other values are text as in JSON. Raises `ValueError`."""
    if isinstance(properties, str):
        properties = parse_json(properties or "{}")
    if properties is not None and not isinstance(properties, dict):
        raise ValueError("properties are not a JSON object")
    return {name: text for name, value in (properties or {}).items() if (text := _as_text(value)) is not None}


def _value(row: dict[str, Any]) -> bytes | None:
    if (encoded := row.get("value_base64")) is not None:
        return base64.b64decode(encoded, validate=True)
    value = row.get("value")
    if value is None and row.get("decode_error") is not None and isinstance(row.get("raw_value"), str):
        return str(row["raw_value"]).encode("latin-1")  # as JSON lines have bytes
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode()


def _text_values(values: pa.Array) -> dict[str, pa.Array]:
    try:
        return {"value": values.cast(pa.string()), "value_base64": pa.nulls(len(values), pa.string())}
    except pa.ArrowInvalid:  # some value is not text
        listed = values.to_pylist()
        texts = list(map(_utf8, listed))
        binary = [_base64(value) if text is None else None for text, value in zip(texts, listed, strict=True)]
        return {"value": pa.array(texts, pa.string()), "value_base64": pa.array(binary, pa.string())}


def _utf8(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _base64(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _number(version: bytes | None) -> int | None:
    return int.from_bytes(version) if version is not None and len(version) == 8 else None
