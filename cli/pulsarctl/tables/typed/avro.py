"""Avro definitions -> shapes, for payloads in Avro's binary encoding (AVRO) and for JSON (JSON schemas use Avro, too).

[null, X] is a nullable X. Any other union is a struct with a field for each branch, named by its type. A record that
contains itself is JSON text, since a column cannot have an endless type.
"""

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypedDict

import fastavro
import msgspec
import pyarrow as pa

from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.avro_reading import UNREADABLE, safe_reader
from pulsarctl.tables.typed.json_numbers import Digits, Int32, Int64, Real, number
from pulsarctl.tables.typed.shape import ColumnType, Convert

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
_JSON: dict[str, Any] = {"boolean": bool, "int": _INT32, "long": _INT64, "float": float, "double": float}
_LENIENT = {"int": Int32, "long": Int64, "float": Real, "double": Real}
_JSON_TEXT = ("string", "bytes", "enum", "fixed")
_LOGICAL: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "time-millis": pa.int64(),
    "time-micros": pa.int64(),
    "timestamp-millis": pa.timestamp("us", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}
_PYTHON_TYPES: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("long", "int", "double", "float"),
    float: ("double", "float"),
    Digits: ("double", "float"),
    str: ("string", "enum"),
    bytes: ("bytes", "fixed"),
    list: ("array",),
    dict: ("record", "map"),
}


def avro(definition: Any) -> ColumnType:
    """Raises `DoesNotFit` if the definition is not Avro."""
    named: dict[str, Any] = {}
    schema, (arrow, convert, _) = _typed(definition, named, as_json=False)
    read = safe_reader(schema, named)

    def decode(data: bytes) -> Any:
        try:
            value = read(io.BytesIO(data), schema, None, return_record_name=True, return_record_name_override=True)
            return value if convert is None else convert(value)
        except UNREADABLE as error:
            raise DoesNotFit(f"the bytes do not match the schema ({type(error).__name__}: {error})") from error

    return ColumnType(arrow, decode)


def json_by_avro(definition: Any) -> ColumnType:
    """Raises `DoesNotFit` if the definition is not Avro."""
    _, (arrow, convert, accepted) = _typed(definition, {}, as_json=True)
    decoder = msgspec.json.Decoder(accepted | None)
    lenient = msgspec.json.Decoder(
        _typed(definition, {}, as_json=True, numbers=_LENIENT)[1].json | None, dec_hook=number, float_hook=Digits
    )

    def decode(data: bytes) -> Any:
        try:
            try:
                value = decoder.decode(data)
            except msgspec.ValidationError:  # perhaps only because of 1.0 in a field of integers, or of NaN
                value = lenient.decode(data)
            return value if convert is None or value is None else convert(value)
        except (msgspec.DecodeError, *UNREADABLE) as error:
            raise DoesNotFit(f"the JSON does not match the schema: {error}") from error

    return ColumnType(arrow, decode)


def _typed(
    definition: Any, named: dict[str, Any], *, as_json: bool, numbers: dict[str, Any] | None = None
) -> tuple[Any, Typed]:
    try:
        schema = fastavro.parse_schema(definition, named)
        return schema, _Types(named, _JSON | (numbers or {}), as_json=as_json).of(schema)
    except (
        fastavro.schema.SchemaParseException,
        fastavro.schema.UnknownType,
        KeyError,
        TypeError,
        RecursionError,
    ) as error:
        raise DoesNotFit(f"not an Avro schema ({type(error).__name__}: {error})") from error


class _Types:
    def __init__(self, named: dict[str, Any], json_types: dict[str, Any], *, as_json: bool) -> None:
        self._named = named
        self._json_types = json_types
        self._as_json = as_json
        self._inside: list[str] = []

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
        name = schema["name"]
        if name in self._inside or self._contains_itself(name, schema):
            return Typed(pa.string(), _as_json)
        self._inside.append(name)
        parts = {field["name"]: self.of(field["type"]) for field in schema["fields"]}
        self._inside.pop()
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
        return any(
            mentioned == name for field in schema["fields"] for mentioned in self._mentioned(field["type"], set())
        )

    def _mentioned(self, schema: Any, seen: set[str]) -> Iterator[str]:
        if isinstance(schema, str):
            if schema in self._named and schema not in seen:
                yield schema
                seen.add(schema)
                yield from self._mentioned(self._named[schema], seen)
        elif isinstance(schema, list):
            for branch in schema:
                yield from self._mentioned(branch, seen)
        elif schema["type"] in ("record", "error"):
            yield schema["name"]
            for field in schema["fields"]:
                yield from self._mentioned(field["type"], seen | {schema["name"]})
        else:
            for part in ("items", "values"):
                if part in schema:
                    yield from self._mentioned(schema[part], seen)
            if isinstance(schema["type"], dict | list):
                yield from self._mentioned(schema["type"], seen)

    def _of_union(self, branches: list[Any]) -> Typed:
        others = [branch for branch in branches if branch != "null"]
        if len(others) == 1:
            return self.of(others[0])
        if not others:
            return Typed(pa.string(), None, type(None))
        names = [self._name(branch) for branch in others]
        typed = [self.of(branch) for branch in others]
        arrow = pa.struct([(name, part.arrow) for name, part in zip(names, typed, strict=True)])
        converts = {name: part.convert for name, part in zip(names, typed, strict=True)}
        kinds = {self._kind(branch): name for branch, name in zip(reversed(others), reversed(names), strict=True)}

        def convert(value: Any) -> Any:
            if isinstance(value, tuple):  # a record of several, with its name
                name, value = value[0].rpartition(".")[2], value[1]
            else:
                name = next((kinds[kind] for kind in _kinds_of(value) if kind in kinds), "")
            if name not in converts:
                raise ValueError(f"{type(value).__name__} is not a branch of the union")
            return {name: _maybe(converts[name], value)}

        return Typed(arrow, convert)

    def _name(self, branch: Any) -> str:
        if isinstance(branch, dict):
            return str(branch.get("name") or branch.get("logicalType") or branch["type"]).rpartition(".")[2]
        return str(branch).rpartition(".")[2]

    def _kind(self, branch: Any) -> str:
        schema = self._named.get(branch, branch) if isinstance(branch, str) else branch
        return str(schema if isinstance(schema, str) else schema.get("logicalType") or schema["type"])

    def _of_scalar(self, schema: Any, kind: str) -> Typed:
        logical = schema.get("logicalType")
        if logical == "decimal":
            precision, scale = int(schema["precision"]), int(schema.get("scale", 0))
            if precision <= 38:
                return Typed(pa.decimal128(precision, scale), None, Decimal)
        accepted = str if kind in _JSON_TEXT else self._json_types.get(kind, type(None))
        if logical in _LOGICAL:
            convert = _from_json(logical) if self._as_json else _from_avro(logical)
            return Typed(_LOGICAL[logical], convert, accepted)
        if self._as_json and kind in ("bytes", "fixed"):
            return Typed(pa.binary(), lambda value: value.encode("latin-1"), accepted)
        return Typed(_PRIMITIVES[kind], None, accepted)


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


def _kinds_of(value: Any) -> tuple[str, ...]:
    if isinstance(value, datetime):
        return ("timestamp-millis", "timestamp-micros", "local-timestamp-millis", "local-timestamp-micros")
    if isinstance(value, date):
        return ("date",)
    if isinstance(value, time):
        return ("time-millis", "time-micros")
    if isinstance(value, Decimal):
        return ("decimal",)
    return _PYTHON_TYPES.get(type(value), ("uuid",))


def _from_avro(logical: str) -> Convert | None:
    """fastavro gives objects of datetime and uuid."""
    if logical == "uuid":
        return str
    if logical.startswith("time-"):
        micros = logical == "time-micros"

        def since_midnight(moment: time) -> int:
            microseconds = ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond
            return microseconds if micros else microseconds // 1000

        return since_midnight
    return None


def _from_json(logical: str) -> Convert | None:
    """Numbers since the epoch, as Pulsar's clients write them."""
    if "timestamp" not in logical:
        return None
    unit = "milliseconds" if logical.endswith("millis") else "microseconds"
    start = _EPOCH.replace(tzinfo=None) if logical.startswith("local") else _EPOCH
    return lambda number: start + timedelta(**{unit: number})


def _as_json(value: Any) -> str:
    return json.dumps(value, default=_json_value, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
