"""Avro definitions -> shapes, for payloads in Avro's binary encoding (AVRO) and for JSON (JSON schemas use Avro, too).

[null, X] is a nullable X. Any other union is a struct with a field for each branch, named by its type. A record that
contains itself is JSON text, since a column cannot have an endless type, and so is one without fields, since Parquet
has no such column.
"""

import io
import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, NamedTuple, TypedDict
from uuid import UUID

import fastavro
import msgspec
import pyarrow as pa

from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.avro_reading import UNREADABLE, safe_reader
from pulsarctl.tables.typed.branches import branch_of, with_branches
from pulsarctl.tables.typed.json_numbers import Digits, Int32, Int64, Real, Real32, number, with_words
from pulsarctl.tables.typed.shape import ColumnType, Convert, Decode, Fields
from pulsarctl.values.json_text import without_nan

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_INT32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]


class Typed(NamedTuple):
    """`convert`: what to do with the decoder's value; None: nothing. `json`: what the JSON decoder accepts."""

    arrow: pa.DataType
    convert: Convert | None
    json: Any = Any


_PRIMITIVES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
    "null": pa.string(),
}
_FLOAT32 = Annotated[float, msgspec.Meta(gt=-Real32.limit, lt=Real32.limit)]
_JSON: dict[str, Any] = {"boolean": bool, "int": _INT32, "long": _INT64, "float": _FLOAT32, "double": float}
_LENIENT = {"int": Int32, "long": Int64, "float": Real32, "double": Real}
_JSON_TEXT = ("string", "bytes", "enum", "fixed")
_LOGICAL: dict[str, pa.DataType] = {
    "int-date": pa.date32(),
    "int-time-millis": pa.int64(),
    "long-time-micros": pa.int64(),
    "long-timestamp-millis": pa.timestamp("us", tz="UTC"),
    "long-timestamp-micros": pa.timestamp("us", tz="UTC"),
    "long-local-timestamp-millis": pa.timestamp("us"),
    "long-local-timestamp-micros": pa.timestamp("us"),
    "string-uuid": pa.string(),
    "fixed-uuid": pa.string(),
}
"""A logical type of another type has no meaning, as Avro specifies."""

_DECIMALS = ("bytes-decimal", "fixed-decimal")
_EXPONENT_MAX = 38
_DIGITS_MAX = 38  # Arrow and both engines have no longer decimals


def avro(definition: Any) -> ColumnType:
    """Raises `DoesNotFit` if the definition is not Avro."""
    named: dict[str, Any] = {}
    schema, (arrow, convert, _) = _typed(definition, named, as_json=False)
    read = safe_reader(schema, named)

    def decode(data: bytes) -> Any:
        try:
            value = read(io.BytesIO(data), schema, None)
            return value if convert is None else convert(value)
        except UNREADABLE as error:
            raise DoesNotFit(f"the bytes do not match the schema ({type(error).__name__}: {error})") from error

    return ColumnType(arrow, decode)


def json_by_avro(definition: Any) -> ColumnType:
    """Raises `DoesNotFit` if the definition is not Avro."""
    _, typed = _typed(definition, {}, as_json=True)
    strict = _json_decoder(typed)
    lenient = _json_decoder(_typed(definition, {}, as_json=True, numbers=_LENIENT)[1], float_hook=Digits)

    def decode(data: bytes) -> Any:
        try:
            try:
                return strict(data)
            except msgspec.ValidationError:  # perhaps only because of 1.0 in a field of integers, or of "NaN"
                return lenient(data)
            except msgspec.DecodeError:  # perhaps only because of NaN
                return lenient(with_words(data))
        except (msgspec.DecodeError, *UNREADABLE) as error:
            raise DoesNotFit(f"the JSON does not match the schema: {error}") from error

    return ColumnType(typed.arrow, decode)


def _json_decoder(typed: Typed, float_hook: Any = None) -> Decode:
    decoder = msgspec.json.Decoder(typed.json | None, dec_hook=number, float_hook=float_hook)

    def decode(data: bytes) -> Any:
        value = decoder.decode(data)
        return value if typed.convert is None or value is None else typed.convert(value)

    return decode


def _typed(
    definition: Any, named: dict[str, Any], *, as_json: bool, numbers: dict[str, Any] | None = None
) -> tuple[Any, Typed]:
    try:
        schema = fastavro.parse_schema(with_branches(definition), named)
        return schema, _Types(named, _JSON | (numbers or {}), as_json=as_json).of(schema)
    except (
        fastavro.schema.SchemaParseException,
        fastavro.schema.UnknownType,
        KeyError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        raise DoesNotFit(f"not an Avro schema ({type(error).__name__}: {error})") from error


class _Types:
    def __init__(self, named: dict[str, Any], json_types: dict[str, Any], *, as_json: bool) -> None:
        self._named = named
        self._json_types = json_types
        self._as_json = as_json
        self._fields = Fields()
        self._recursive: dict[str, bool] = {}

    def of(self, schema: Any) -> Typed:
        if isinstance(schema, list):
            return self._of_union(schema)
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.of(kind)
        if kind in ("record", "error"):
            return self._of_record(schema)
        if kind == "array":
            return _list_of(*self.of(schema["items"]))
        if kind == "map":
            return _map_of(*self.of(schema["values"]))
        return self._of_scalar(schema, kind)

    def _of_record(self, schema: Any) -> Typed:
        if not schema["fields"] or self._contains_itself(schema["name"], schema):
            return Typed(pa.string(), _as_json)
        return self._struct(schema["fields"])

    def _struct(self, fields: list[Any]) -> Typed:
        self._fields.add(len(fields))
        parts = {field["name"]: self.of(field["type"]) for field in fields}
        arrow = pa.struct([(field, part.arrow) for field, part in parts.items()])
        converts = {field: part.convert for field, part in parts.items() if part.convert is not None}
        # A field that is missing, or null although it is not nullable, is NULL.
        accepted = TypedDict("Record", {field: part.json | None for field, part in parts.items()}, total=False)  # type: ignore[misc] # the fields are those of the schema
        if not converts:
            return Typed(arrow, None, accepted)

        def convert(value: Any) -> Any:
            members = dict(value)
            for field, convert_field in converts.items():
                if members.get(field) is not None:
                    members[field] = convert_field(members[field])
            return members

        return Typed(arrow, convert, accepted)

    def _contains_itself(self, name: str, schema: Any) -> bool:
        if name not in self._recursive:
            seen: set[str] = set()
            parts = [part for field in schema["fields"] for part in self._mentioned(field["type"], seen)]
            self._recursive[name] = name in parts
        return self._recursive[name]

    def _mentioned(self, schema: Any, seen: set[str]) -> Iterator[str]:
        """The named types in a type, each once."""
        schema = self._resolved(schema)
        if isinstance(schema, list):
            for branch in schema:
                yield from self._mentioned(branch, seen)
        elif "name" not in schema:
            for part in ("items", "values"):
                if part in schema:
                    yield from self._mentioned(schema[part], seen)
        elif schema["name"] not in seen:
            seen.add(schema["name"])
            yield schema["name"]
            for field in schema.get("fields", ()):
                yield from self._mentioned(field["type"], seen)

    def _resolved(self, schema: Any) -> Any:
        return self._named.get(schema, {"type": schema}) if isinstance(schema, str) else schema

    def _of_union(self, branches: list[Any]) -> Typed:
        others = [branch for branch in branches if branch != "null"]
        if len(others) == 1:
            return self.of(others[0])
        if not others:
            return Typed(pa.string(), None, type(None))
        fields = [branch["fields"][0] for branch in others]  # as `with_branches` wraps them
        union = self._struct(fields)
        if not self._as_json:
            return union
        types = [(field["name"], self._resolved(field["type"])) for field in fields]

        def convert(value: Any) -> Any:
            found = msgspec.convert({branch_of(value, types): value}, union.json, dec_hook=number)
            return found if union.convert is None else union.convert(found)

        return Typed(union.arrow, convert)

    def _of_scalar(self, schema: Any, kind: str) -> Typed:
        logical = f"{kind}-{schema.get('logicalType')}"
        if logical in _DECIMALS:
            return self._decimal(int(schema["precision"]), int(schema.get("scale", 0)))
        accepted = str if kind in _JSON_TEXT else self._json_types.get(kind, type(None))
        if logical in _LOGICAL:
            convert = _from_json(logical) if self._as_json else _from_avro(logical)
            return Typed(_LOGICAL[logical], convert, accepted)
        if self._as_json and kind in ("bytes", "fixed"):
            return Typed(pa.binary(), _from_base64, accepted)
        return Typed(_PRIMITIVES[kind], None, accepted)

    def _decimal(self, precision: int, scale: int) -> Typed:
        """Text if the engines have no decimal of this precision."""
        if precision > _DIGITS_MAX:
            return Typed(pa.string(), str, Decimal)
        return Typed(pa.decimal128(precision, scale), _checked if self._as_json else None, Decimal)


def _list_of(arrow: pa.DataType, convert: Convert | None, accepted: Any) -> Typed:
    if convert is None:
        return Typed(pa.list_(arrow), None, list[accepted | None])
    return Typed(pa.list_(arrow), lambda items: [_maybe(convert, item) for item in items], list[accepted | None])


def _map_of(arrow: pa.DataType, convert: Convert | None, accepted: Any) -> Typed:
    def pairs(members: dict[str, Any]) -> list[tuple[str, Any]]:
        return [(key, _maybe(convert, item)) for key, item in members.items()]

    return Typed(pa.map_(pa.string(), arrow), pairs, dict[str, accepted | None])


def _maybe(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _checked(value: Decimal) -> Decimal:
    """With any other, Arrow reads beyond the end of its powers of ten, and the process may end."""
    if not value.is_finite() or not -_EXPONENT_MAX <= int(value.as_tuple().exponent) <= _EXPONENT_MAX:
        raise ValueError("a decimal has too many digits")
    return value


def _from_avro(logical: str) -> Convert | None:
    """fastavro gives objects of datetime and uuid."""
    if logical == "string-uuid":
        return str
    if logical == "fixed-uuid":
        return lambda data: str(UUID(bytes=data))
    if "-time-" in logical:
        micros = logical == "long-time-micros"

        def since_midnight(moment: time) -> int:
            microseconds = ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond
            return microseconds if micros else microseconds // 1000

        return since_midnight
    return None


def _from_base64(text: str) -> bytes:
    """Bytes as Java's and Go's clients write them. Raises `ValueError`."""
    return b64decode(text, validate=True)


def _from_json(logical: str) -> Convert | None:
    """Numbers since the epoch, as Pulsar's clients write them."""
    if "timestamp" not in logical:
        return None
    unit = "milliseconds" if logical.endswith("millis") else "microseconds"
    start = _EPOCH.replace(tzinfo=None) if "local" in logical else _EPOCH
    return lambda number: start + timedelta(**{unit: number})


def _as_json(value: Any) -> str:
    return without_nan(partial(json.dumps, default=_json_value, ensure_ascii=False, allow_nan=False), value)


def _json_value(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
