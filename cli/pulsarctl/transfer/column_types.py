"""Columns of files from elsewhere, with the types of an export, so that every later step meets only these.

Numbers of a time are milliseconds, as in Pulsar. Properties may be a map, a struct, or JSON text. A
floating-point number is not text: a key 7 that pandas has read as 7.0 would be another key.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pulsarctl.transfer.portable import PROPERTIES, TYPES, properties_of

UNDECODED = "raw_value"
"""The bytes of values that could not be decoded, in a file that also says why."""
MILLISECONDS = pa.timestamp("ms", tz="UTC")


def fitted(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Only the named columns. A value may be a struct. Raises `ValueError` for what has no such type, or no value."""
    if "value" not in batch.schema.names:
        raise ValueError("it has no column value")
    present = [name for name in names if name in batch.schema.names]
    columns = {name: _fitted(name, batch) for name in present}
    if UNDECODED in batch.schema.names and "decode_error" in batch.schema.names:
        columns[UNDECODED] = batch.column(UNDECODED).cast(pa.binary())
    return pa.RecordBatch.from_pydict(columns)


def _fitted(name: str, batch: pa.RecordBatch) -> pa.Array:
    if batch.schema.names.count(name) > 1:
        raise ValueError(f"it has several columns {name}")
    column = batch.column(name)
    if name == "value":
        return _value(column)
    if column.type == TYPES[name]:
        return column
    try:
        return _cast(column, TYPES[name])
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"column {name} has type {column.type}; make it {_NAMES.get(TYPES[name], TYPES[name])} ({reason})"
        ) from error


def _value(column: pa.Array) -> pa.Array:
    """Text and bytes in one form; what else has an encoding is decided where values become payloads."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type) or column.type in (pa.large_binary(), pa.binary_view()):
        return column.cast(pa.binary())
    return column.cast(pa.string()) if column.type in (pa.large_string(), pa.string_view()) else column


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type) and pa.types.is_string(kind):
        raise TypeError("a floating-point number is no text")
    if pa.types.is_timestamp(kind):
        return _instants(column, kind)
    if kind == PROPERTIES and not pa.types.is_map(column.type):
        return pa.array(
            [None if members is None else list(properties_of(members).items()) for members in _maps(column)], kind
        )
    return column.cast(kind)


def _instants(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Nanoseconds lose digits, as Pulsar has milliseconds. An unsafe cast wraps around where a number is too large."""
    if pa.types.is_integer(column.type):
        column = column.cast(pa.int64()).cast(MILLISECONDS)
    is_finer = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
    return column.cast(kind, safe=not is_finer)


def _maps(column: pa.Array) -> list[Any]:
    """JSON text or structs; the fields of a struct that are null are not there."""
    if not pa.types.is_struct(column.type):
        return column.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]  # pyarrow ships no types
    return [
        members and {key: value for key, value in members.items() if value is not None}
        for members in column.to_pylist()
    ]


_NAMES = {
    pa.string(): "a string",
    pa.binary(): "binary",
    pa.int32(): "an int32",
    pa.int64(): "an int64",
    PROPERTIES: "a map of strings, or JSON text",
    TYPES["event_time"]: "a timestamp",
}
