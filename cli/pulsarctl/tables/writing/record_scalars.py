"""Arrow types without parts -> Avro types, and their values without a loss of digits.

Times and dates are integers in Avro and in Pulsar's JSON schemas, which Avro describes. In JSON, bytes are base64,
as Java's and Go's clients write them, and a decimal is text, since clients read numbers as doubles.
"""

import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

PRECISION_MAX = 38  # of typed reads, Spark, and Iceberg

Values = Callable[[pa.Array], Sequence[Any]]


class Scalar(NamedTuple):
    """`values` are what an encoder takes. It raises `pa.ArrowInvalid` for a value that the Avro type cannot have."""

    avro: Any
    values: Values


def scalar_of(kind: pa.DataType, *, as_json: bool) -> Scalar | None:
    """None: Avro has no such type."""
    if pa.types.is_timestamp(kind):
        return _timestamp(kind)
    if pa.types.is_time(kind):
        return _time(kind)
    if pa.types.is_decimal(kind):
        return _decimal(kind, kind.precision, kind.scale, as_json=as_json)
    if kind == pa.uint64():
        return _decimal(pa.decimal128(20, 0), 20, 0, as_json=as_json)
    if pa.types.is_date(kind):
        return Scalar({"type": "int", "logicalType": "date"}, _cast(pa.date32(), pa.int32()))
    if pa.types.is_floating(kind):
        avro = "double" if kind == pa.float64() else "float"
        return Scalar(avro, _json_floats if as_json else _listed)
    if _is_binary(kind):
        return Scalar("bytes", _base64 if as_json else _listed)
    return Scalar(_NAMES[kind], _listed) if kind in _NAMES else None


_NAMES = {
    pa.null(): "null",
    pa.bool_(): "boolean",
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), "int"),
    **dict.fromkeys((pa.int64(), pa.uint32()), "long"),
    **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), "string"),
}


def _timestamp(kind: pa.DataType) -> Scalar:
    logical = "timestamp-micros" if kind.tz else "local-timestamp-micros"
    return Scalar({"type": "long", "logicalType": logical}, _cast(pa.timestamp("us", kind.tz), pa.int64()))


def _time(kind: pa.DataType) -> Scalar:
    if pa.types.is_time32(kind):
        return Scalar({"type": "int", "logicalType": "time-millis"}, _cast(pa.time32("ms"), pa.int32()))
    return Scalar({"type": "long", "logicalType": "time-micros"}, _cast(pa.time64("us"), pa.int64()))


def _decimal(kind: pa.DataType, precision: int, scale: int, *, as_json: bool) -> Scalar | None:
    """Avro has no scale below 0, and none above the precision."""
    precision, scale = max(precision - min(scale, 0), scale), max(scale, 0)
    if precision > PRECISION_MAX:
        return None
    avro = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    listed = _cast(kind)
    return Scalar(avro, (lambda column: _texts(listed(column))) if as_json else listed)


def _is_binary(kind: pa.DataType) -> bool:
    is_one = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return bool(is_one or pa.types.is_fixed_size_binary(kind))


def _cast(*kinds: pa.DataType) -> Values:
    def values(column: pa.Array) -> Sequence[Any]:
        for kind in kinds:
            column = column.cast(kind)
        return _listed(column)

    return values


def _listed(column: pa.Array) -> Sequence[Any]:
    return column.to_pylist()  # type: ignore[no-any-return]  # pyarrow ships no types


def _texts(decimals: Sequence[Any]) -> Sequence[str | None]:
    return [None if value is None else f"{value:f}" for value in decimals]


def _json_floats(column: pa.Array) -> Sequence[float | str | None]:
    """JSON has no number for these three: they are text, as Jackson writes them in Java's clients."""
    return [value if value is None or math.isfinite(value) else _WORDS[str(value)] for value in _listed(column)]


_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _base64(column: pa.Array) -> Sequence[str | None]:
    """As Java's and Go's clients write bytes."""
    return [None if value is None else b64encode(value).decode() for value in _listed(column)]
