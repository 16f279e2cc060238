"""Conversion between JSON and Avro's binary encoding, by a schema.

The value of a union may be plain (`"a"`, `null`) or tagged with its type (`{"string": "a"}`), as in Avro's JSON
encoding. Bytes are text with the characters U+0000 to U+00FF. Missing fields of a record get their defaults.
"""

import io
import json
from collections.abc import Callable
from functools import cached_property
from typing import Any

import fastavro

from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.avro_reading import UNREADABLE, safe_reader

BYTES = ("bytes", "fixed")
_NO_SCHEMA = (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType, KeyError, TypeError, RecursionError)


class AvroCodec:
    """`definition` is an Avro schema as a JSON value. Raises `DoesNotFit` if it is invalid.

    `as_json`: messages are JSON, as in Pulsar's JSON schemas. Then values of unions are plain, and bytes are any text.
    """

    def __init__(self, definition: Any, *, as_json: bool = False) -> None:
        self._as_json = as_json
        self._named: dict[str, Any] = {}
        try:
            self._schema = fastavro.parse_schema(definition, self._named)
        except _NO_SCHEMA as error:
            raise DoesNotFit(f"not an Avro schema ({type(error).__name__}: {error})") from error

    def checked(self, text: bytes) -> bytes:
        """The JSON unchanged. Raises `DoesNotFit` if it does not match the schema."""
        self._fitted(text)
        return text

    def encode(self, text: bytes) -> bytes:
        """Raises `DoesNotFit`."""
        datum = self._fitted(text)
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self._schema, datum)
        except (ValueError, OverflowError, TypeError) as error:  # a float that is too large, or an invalid date
            raise DoesNotFit(str(error)) from error
        return out.getvalue()

    def decode(self, data: bytes) -> Any:
        """Raises `DoesNotFit`."""
        try:
            return _shown(self._read(io.BytesIO(data), self._schema, None))
        except UNREADABLE as error:
            raise DoesNotFit(f"the bytes do not match the schema ({type(error).__name__}: {error})") from error

    @cached_property
    def _read(self) -> Callable[..., Any]:
        return safe_reader(self._schema, self._named)

    def _fitted(self, text: bytes) -> Any:
        try:
            return self._datum(self._schema, json.loads(text, parse_constant=_no_number), "value")
        except RecursionError as error:  # in the parser, or in a record that contains itself
            raise DoesNotFit("it is nested too deeply") from error
        except ValueError as error:
            raise DoesNotFit(f"it is not JSON: {error}") from error

    def _datum(self, schema: Any, value: Any, path: str) -> Any:
        if isinstance(schema, list):
            return self._of_union(schema, value, path)
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self._datum(kind, value, path)
        if kind in ("record", "error"):
            return self._of_record(schema, value, path)
        if kind == "array":
            _check(isinstance(value, list), value, "an array", path)
            return [self._datum(schema["items"], item, f"{path}[{index}]") for index, item in enumerate(value)]
        if kind == "map":
            _check(isinstance(value, dict), value, "an object", path)
            return {key: self._datum(schema["values"], item, f"{path}.{key}") for key, item in value.items()}
        return _scalar(schema, "string" if self._as_json and kind in BYTES else kind, value, path)

    def _of_record(self, schema: Any, value: Any, path: str) -> dict[str, Any]:
        _check(isinstance(value, dict), value, "an object", path)
        fields = {field["name"]: field for field in schema["fields"]}
        unknown = [name for name in value if name not in fields]
        if unknown:
            raise DoesNotFit(f"{path} has no field {unknown[0]!r}")
        missing = [name for name, field in fields.items() if name not in value and "default" not in field]
        if missing:
            raise DoesNotFit(f"{path}.{missing[0]} is missing")
        return {name: self._datum(fields[name]["type"], member, f"{path}.{name}") for name, member in value.items()}

    def _of_union(self, branches: list[Any], value: Any, path: str) -> Any:
        named = {_name(branch): branch for branch in branches}
        if not self._as_json and isinstance(value, dict) and len(value) == 1 and next(iter(value)) in named:
            (name,) = value
            return self._branch(named[name], value[name], path)
        for branch in branches:
            try:
                return self._branch(branch, value, path)
            except DoesNotFit:
                continue
        raise DoesNotFit(f"{path} is {value!r}, not one of {', '.join(named)}")

    def _branch(self, branch: Any, value: Any, path: str) -> Any:
        """The value, with the name of its branch if the union has several records."""
        datum = self._datum(branch, value, path)
        return (_name(branch), datum) if isinstance(datum, dict) and _name(branch) in self._named else datum


def _scalar(schema: Any, kind: str, value: Any, path: str) -> Any:
    if kind in BYTES:
        _check(isinstance(value, str), value, "a string", path)
        try:
            data: bytes = value.encode("latin-1")
        except UnicodeEncodeError as error:
            raise DoesNotFit(f"{path} has a character above U+00FF, which is not a byte") from error
        _check(kind == "bytes" or len(data) == schema["size"], value, f"{schema.get('size')} bytes", path)
        return data
    if kind == "enum":
        _check(value in schema["symbols"], value, f"one of {', '.join(schema['symbols'])}", path)
        return value
    fits, noun = _SCALARS[kind]
    _check(fits(value), value, noun, path)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any, bits: int) -> bool:
    """Checks the range, because the library writes integers of any size, which no reader accepts."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << bits - 1) <= value < 1 << bits - 1


_SCALARS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "null": (lambda value: value is None, "null"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "int": (lambda value: _is_whole(value, 32), "a 32-bit integer"),
    "long": (lambda value: _is_whole(value, 64), "a 64-bit integer"),
    "float": (_is_number, "a number"),
    "double": (_is_number, "a number"),
    "string": (lambda value: isinstance(value, str), "a string"),
}


def _check(fits: bool, value: Any, noun: str, path: str) -> None:
    if not fits:
        raise DoesNotFit(f"{path} is {value!r}, not {noun}")


def _name(branch: Any) -> str:
    if isinstance(branch, dict):
        return str(branch.get("name") or branch["type"])
    return str(branch)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number in JSON")


def _shown(value: Any) -> Any:
    """The value as JSON: bytes as in Avro's JSON encoding, and dates and decimals as text."""
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
