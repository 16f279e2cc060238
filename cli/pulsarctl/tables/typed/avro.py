"""Avro definitions -> shapes, for payloads in Avro's binary encoding (AVRO) and for JSON (JSON schemas use Avro, too).

[null, X] is a nullable X. Any other union is a struct with a field for each branch, named by its type. A record that
contains itself is JSON text, since a column cannot have an endless type.
"""

import io
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isinf
from typing import Any

import fastavro
import msgspec
import pyarrow as pa

from pulsarctl.errors import DoesNotFit
from pulsarctl.tables.typed.shape import Convert, Shape

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Typed = tuple[pa.DataType, Convert | None]
"""A type, and what to do with the decoder's value; None: nothing."""

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
    str: ("string", "enum"),
    bytes: ("bytes", "fixed"),
    list: ("array",),
    dict: ("record", "map"),
}


def avro(definition: Any) -> Shape:
    """Raises `DoesNotFit` if the definition is not Avro."""
    schema, (arrow, convert) = _typed(definition, as_json=False)

    def decode(data: bytes) -> Any:
        try:
            value = fastavro.schemaless_reader(
                io.BytesIO(data), schema, None, return_record_name=True, return_record_name_override=True
            )
            return value if convert is None else convert(value)
        except (EOFError, ValueError, IndexError, KeyError, ArithmeticError, TypeError) as error:
            raise DoesNotFit(f"the bytes do not match the schema ({type(error).__name__}: {error})") from error

    return Shape(arrow, decode)


def json_by_avro(definition: Any) -> Shape:
    """Raises `DoesNotFit` if the definition is not Avro."""
    _, (arrow, convert) = _typed(definition, as_json=True)
    _, (_, exact) = _typed(definition, as_json=True, with_fractions=True)
    decoder = msgspec.json.Decoder(float_hook=_Fraction if "decimal" in str(arrow) else None)

    def decode(data: bytes) -> Any:
        try:
            value = decoder.decode(data)
            fitting = exact if b"." in data or b"e-" in data or b"E-" in data else convert
            return value if fitting is None else fitting(value)
        except (msgspec.DecodeError, ValueError, KeyError, TypeError, ArithmeticError) as error:
            raise DoesNotFit(f"the JSON does not match the schema: {error}") from error

    return Shape(arrow, decode)


class _Fraction(float):
    """A number of JSON with all of its digits, for decimals."""

    def __new__(cls, text: str) -> "_Fraction":
        found = super().__new__(cls, text)
        if isinf(found):
            raise ValueError("number out of range")
        found.text = text
        return found

    text: str


def _typed(definition: Any, *, as_json: bool, with_fractions: bool = False) -> tuple[Any, Typed]:
    named: dict[str, Any] = {}
    try:
        schema = fastavro.parse_schema(definition, named)
        return schema, _Types(named, as_json=as_json, with_fractions=with_fractions).of(schema)
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, KeyError, TypeError) as error:
        raise DoesNotFit(f"not an Avro schema ({type(error).__name__}: {error})") from error


class _Types:
    """`with_fractions`: what must be whole is checked, because Arrow cuts a fraction off inside of a struct."""

    def __init__(self, named: dict[str, Any], *, as_json: bool, with_fractions: bool) -> None:
        self._named = named
        self._as_json = as_json
        self._with_fractions = with_fractions
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
            return self._of_array(schema)
        if kind == "map":
            arrow, convert = self.of(schema["values"])
            return pa.map_(pa.string(), arrow), lambda found: [
                (key, _maybe(convert, one)) for key, one in _checked(found, dict).items()
            ]
        return self._of_scalar(schema, kind)

    def _of_array(self, schema: Any) -> Typed:
        arrow, convert = self.of(schema["items"])
        if convert is not None:
            return pa.list_(arrow), lambda items: [_maybe(convert, item) for item in _checked(items, list)]
        return pa.list_(arrow), (lambda items: _checked(items, list)) if self._as_json else None

    def _of_record(self, schema: Any) -> Typed:
        name = schema["name"]
        if name in self._inside or self._contains_itself(name, schema):
            return pa.string(), _as_json
        self._inside.append(name)
        parts = {field["name"]: self.of(field["type"]) for field in schema["fields"]}
        self._inside.pop()
        arrow = pa.struct([(field, kind) for field, (kind, _) in parts.items()])
        converts = {field: convert for field, (_, convert) in parts.items() if convert is not None}
        if not converts:
            return arrow, (lambda value: _checked(value, dict)) if self._as_json else None

        def convert(value: Any) -> Any:
            found = dict(_checked(value, dict))
            for field, one in converts.items():
                if found.get(field) is not None:
                    found[field] = one(found[field])
            return found

        return arrow, convert

    def _contains_itself(self, name: str, schema: Any) -> bool:
        return any(found == name for field in schema["fields"] for found in self._mentioned(field["type"], set()))

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
            return pa.string(), None
        names = [self._name(branch) for branch in others]
        typed = [self.of(branch) for branch in others]
        arrow = pa.struct([(name, kind) for name, (kind, _) in zip(names, typed, strict=True)])
        converts = {name: convert for name, (_, convert) in zip(names, typed, strict=True)}
        kinds = {self._kind(branch): name for branch, name in zip(reversed(others), reversed(names), strict=True)}

        def convert(value: Any) -> Any:
            if isinstance(value, tuple):  # a record of several, with its name
                name, value = value[0].rpartition(".")[2], value[1]
            else:
                name = next((kinds[kind] for kind in _kinds_of(value) if kind in kinds), "")
            if name not in converts:
                raise ValueError(f"{type(value).__name__} is not a branch of the union")
            return {name: _maybe(converts[name], value)}

        return arrow, convert

    def _from_json(self, logical: str) -> Convert | None:
        if logical == "uuid" or "timestamp" in logical or not self._with_fractions:
            return _from_json(logical)
        return _whole

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
                return pa.decimal128(precision, scale), _decimal if self._as_json else None
        if logical in _LOGICAL:
            return _LOGICAL[logical], self._from_json(logical) if self._as_json else _from_avro(logical)
        if self._as_json and kind in ("bytes", "fixed"):
            return pa.binary(), lambda value: _checked(value, str).encode("latin-1")
        return _PRIMITIVES[kind], _whole if self._with_fractions and kind in ("int", "long") else None


def _checked(value: Any, kind: type) -> Any:
    """Producers may write any JSON, and what looks alike in Python is another value."""
    if not isinstance(value, kind):
        raise ValueError(f"{type(value).__name__} instead of {kind.__name__}")
    return value


def _decimal(value: Any) -> Decimal:
    return Decimal(value.text if isinstance(value, _Fraction) else value)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not a whole number")
    return value


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
    return _PYTHON_TYPES.get(float if isinstance(value, float) else type(value), ("uuid",))


def _from_avro(logical: str) -> Convert | None:
    """fastavro gives objects of datetime and uuid."""
    if logical == "uuid":
        return str
    if logical.startswith("time-"):
        micros = logical == "time-micros"

        def since_midnight(found: time) -> int:
            whole = ((found.hour * 60 + found.minute) * 60 + found.second) * 1_000_000 + found.microsecond
            return whole if micros else whole // 1000

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
