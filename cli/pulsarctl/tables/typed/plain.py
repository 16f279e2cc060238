"""Shapes of schemas without a definition: numbers, text, and times. Numbers are big-endian, as in Pulsar's clients."""

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from broker_core.wire.fixed_values import LOCAL_TIMES, NUMBERS
from pulsarctl.errors import DoesNotFit
from pulsarctl.tables.typed.shape import ColumnType, Decode

_FORMATS = {**NUMBERS, **LOCAL_TIMES}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_LOCAL = datetime(1970, 1, 1)  # a local time has no zone
_EPOCH_DAY = date(1970, 1, 1)


def raw() -> ColumnType:
    return ColumnType(pa.binary(), lambda data: data, is_raw=True)


def text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DoesNotFit(f"not UTF-8: {error.reason} at byte {error.start}") from error


def plain(kind: str) -> ColumnType | None:
    """The shape of a schema type, or None for a type with a definition."""
    if kind in ("NONE", "BYTES", ""):
        return raw()
    if kind == "STRING":
        return ColumnType(pa.string(), text)
    column_type = _TYPES.get(kind)
    if column_type is None:
        return None
    arrow, convert = column_type
    return ColumnType(arrow, _number(_FORMATS[kind], convert))


def _number(form: str, convert: Callable[..., Any] | None) -> Decode:
    unpack = struct.Struct(form).unpack

    def decode(data: bytes) -> Any:
        try:
            fields = unpack(data)
            return fields[0] if convert is None else convert(*fields)
        except struct.error as error:
            raise DoesNotFit(f"{len(data)} bytes are not {struct.calcsize(form)}") from error
        except (OverflowError, ValueError) as error:
            raise DoesNotFit(f"out of range: {error}") from error

    return decode


def _after(start: datetime) -> Callable[[int], datetime]:
    return lambda ms: start + timedelta(milliseconds=ms)


_TYPES: dict[str, tuple[pa.DataType, Callable[..., Any] | None]] = {
    "BOOLEAN": (pa.bool_(), None),
    "INT8": (pa.int8(), None),
    "INT16": (pa.int16(), None),
    "INT32": (pa.int32(), None),
    "INT64": (pa.int64(), None),
    "FLOAT": (pa.float32(), None),
    "DOUBLE": (pa.float64(), None),
    "DATE": (pa.date32(), lambda ms: (_EPOCH + timedelta(milliseconds=ms)).date()),
    "TIME": (pa.int64(), None),
    "TIMESTAMP": (pa.timestamp("us", tz="UTC"), _after(_EPOCH)),
    "INSTANT": (
        pa.timestamp("us", tz="UTC"),
        lambda seconds, nanos: _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000),
    ),
    "LOCAL_DATE": (pa.date32(), lambda days: _EPOCH_DAY + timedelta(days=days)),
    "LOCAL_TIME": (pa.int64(), None),
    "LOCAL_DATE_TIME": (
        pa.timestamp("us"),
        lambda days, nanos: _EPOCH_LOCAL + timedelta(days=days, microseconds=nanos // 1000),
    ),
}
