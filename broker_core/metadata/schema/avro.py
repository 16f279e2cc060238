"""Parses the JSON text of an Avro schema into a tree. Pure.

The rules are those of Apache Avro 1.11 for Java, because Pulsar's broker uses it (Avro specification, "Schema
Declaration" and "Names"): a name without a dot belongs to the enclosing namespace, a type must be defined before it is
named, no name is defined twice, and a union holds each type once and no other union. Defaults are not checked here;
`avro_default` says whether a default fits its field when that matters.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
RECORDS = frozenset({"record", "error"})
NAMED = RECORDS | {"enum", "fixed"}

NO_DEFAULT: Any = object()
"""The default of a field that has none; `null` is a default like any other."""

ORDERS = frozenset({"ascending", "descending", "ignore"})

_OF_SCHEMA = frozenset({"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"})
_OF_ENUM = _OF_SCHEMA | {"default"}
_OF_FIELD = frozenset({"default", "doc", "name", "order", "type", "aliases"})


class InvalidAvro(Exception):
    """The text is not an Avro schema; `str(error)` says why."""


@dataclass(slots=True, eq=False)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType
    default: Any = NO_DEFAULT
    aliases: tuple[str, ...] = ()
    order: str = "ascending"
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroType:
    """One node; attributes that its kind does not have are empty.

    `kind`: a primitive's name, `record`, `enum`, `fixed`, `array`, `map`, or `union`. `name` and `aliases` are full
    names. `items` is the type of an array's elements or of a map's values. `properties`: those that Avro does not
    define, and `logicalType`. Trees can be circular: a record can contain itself.
    """

    kind: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    fields: list[AvroField] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    symbol_set: frozenset[str] = frozenset()  # the same: an array of them can be the default of a field
    enum_default: str | None = None
    size: int = 0
    items: AvroType | None = None
    branches: list[AvroType] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """The name under which a union knows the type."""
        return self.name or self.kind

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    def element(self) -> AvroType:
        """The type of an array's or map's elements."""
        assert self.items is not None, f"{self.kind} has no elements"
        return self.items

    def fields_by_name(self) -> dict[str, AvroField]:
        return {field.name: field for field in self.fields}


def parse_avro(text: str) -> AvroType:
    """Raises `InvalidAvro`."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise InvalidAvro(f"not JSON: {error}") from None
    except RecursionError:
        raise InvalidAvro("the schema is nested too deeply") from None
    try:
        return _Reader().read(document)
    except ValueError as error:  # a string as the default of a number
        raise InvalidAvro(str(error)) from None
    except RecursionError:
        raise InvalidAvro("the schema is nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise InvalidAvro(f"{name} is not JSON")


class _Reader:
    """Tracks the types defined so far, by full name, and the enclosing namespace."""

    def __init__(self) -> None:
        self._defined: dict[str, AvroType] = {}
        self._namespace = ""

    def read(self, document: Any) -> AvroType:
        if isinstance(document, str):
            return self._reference(document)
        if isinstance(document, list):
            return self._union(document)
        if isinstance(document, dict):
            return self._object(document)
        raise InvalidAvro(f"Schema not yet supported: {document!r}")

    def _reference(self, name: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        defined = self._defined.get(_full_name(name, self._namespace)) or self._defined.get(_full_name(name, ""))
        if defined is None:
            raise InvalidAvro(f"Undefined name: {name!r}")
        return defined

    def _union(self, document: list[Any]) -> AvroType:
        branches = [self.read(branch) for branch in document]
        names = [branch.full_name for branch in branches]
        if "union" in names:
            raise InvalidAvro("Nested union")
        if len(set(names)) < len(names):
            raise InvalidAvro(f"Duplicate in union: {', '.join(names)}")
        return AvroType("union", branches=branches)

    def _object(self, document: dict[str, Any]) -> AvroType:
        kind = _text(document, "type", "No type")
        if kind in NAMED:
            return self._named(kind, document)
        if kind in PRIMITIVES:
            return AvroType(kind, properties=_others(document, _OF_SCHEMA))
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            if part not in document:
                raise InvalidAvro(f"{kind.capitalize()} has no {part} type")
            return AvroType(kind, items=self.read(document[part]), properties=_others(document, _OF_SCHEMA))
        defined = self._defined.get(_full_name(kind, self._namespace))
        if defined is None:
            raise InvalidAvro(f"Type not supported: {kind}")
        return defined

    def _named(self, kind: str, document: dict[str, Any]) -> AvroType:
        outer = self._namespace
        own = document.get("namespace")
        name = _full_name(_text(document, "name", "No name in schema"), own if isinstance(own, str) else outer)
        if name in PRIMITIVES:
            raise InvalidAvro(f"Schemas may not be named after primitives: {name}")
        self._namespace = name.rpartition(".")[0]
        made = AvroType("record" if kind in RECORDS else kind, name)
        if kind in RECORDS:
            self._define(made)  # defined before its fields, which may be of its own type
            made.fields = self._fields(document)
        else:
            _complete_enum(made, document) if kind == "enum" else _complete_fixed(made, document)
            self._define(made)
        made.aliases = tuple(_full_name(alias, self._namespace) for alias in _aliases(document))
        made.properties = _others(document, _OF_ENUM if kind == "enum" else _OF_SCHEMA)
        self._namespace = outer
        return made

    def _define(self, made: AvroType) -> None:
        if made.name in self._defined:
            raise InvalidAvro(f"Can't redefine: {made.name}")
        self._defined[made.name] = made

    def _fields(self, document: dict[str, Any]) -> list[AvroField]:
        listed = document.get("fields")
        if not isinstance(listed, list):
            raise InvalidAvro(f"Record has no fields: {document.get('name')}")
        fields = [self._field(field) for field in listed]
        if len({field.name for field in fields}) < len(fields):
            raise InvalidAvro(f"Duplicate field in record {document.get('name')}")
        return fields

    def _field(self, document: Any) -> AvroField:
        if not isinstance(document, dict):
            raise InvalidAvro(f"No field name: {document!r}")
        name = _checked(_text(document, "name", "No field name"))
        if document.get("type") is None:
            raise InvalidAvro(f"No field type: {name}")
        order = str(document.get("order", "ascending")).lower()
        if order not in ORDERS:
            raise InvalidAvro(f"No such order: {order}")
        kind = self.read(document["type"])
        return AvroField(name, kind, _default(document, kind), _aliases(document), order, _others(document, _OF_FIELD))


def _complete_enum(made: AvroType, document: dict[str, Any]) -> None:
    symbols = document.get("symbols")
    if not isinstance(symbols, list):
        raise InvalidAvro(f"Enum has no symbols: {made.name}")
    made.symbols = tuple(_checked(symbol) for symbol in symbols)
    made.symbol_set = frozenset(made.symbols)
    if len(made.symbol_set) < len(symbols):
        raise InvalidAvro(f"Duplicate enum symbol in {made.name}")
    default = document.get("default")
    made.enum_default = default if isinstance(default, str) else None
    if made.enum_default is not None and made.enum_default not in made.symbol_set:
        raise InvalidAvro(f"The Enum Default: {default} is not in the enum symbol set of {made.name}")


def _complete_fixed(made: AvroType, document: dict[str, Any]) -> None:
    size = document.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise InvalidAvro(f"Invalid or no size: {made.name}")
    made.size = size


def _default(document: dict[str, Any], kind: AvroType) -> Any:
    """A float or double may be a string, as in Java's parser."""
    default = document.get("default", NO_DEFAULT)
    return float(default) if kind.kind in ("float", "double") and isinstance(default, str) else default


def _aliases(document: dict[str, Any]) -> tuple[str, ...]:
    aliases = document.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise InvalidAvro(f"aliases must be an array of strings: {aliases!r}")
    return tuple(aliases)


def _others(document: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in known}


def _text(document: dict[str, Any], key: str, missing: str) -> str:
    text = document.get(key)
    if not isinstance(text, str):
        raise InvalidAvro(missing)
    return text


def _full_name(name: str, namespace: str) -> str:
    start, _, last = name.rpartition(".")
    _checked(last)
    space = start if "." in name else namespace
    return f"{space}.{last}" if space else last


def _checked(name: Any) -> str:
    """Checks a name by Avro's rules: letters, digits, and underscores, and no digit first."""
    if not isinstance(name, str) or not name:
        raise InvalidAvro("Empty name")
    if not (name[0].isalpha() or name[0] == "_"):
        raise InvalidAvro(f"Illegal initial character: {name}")
    if not all(letter.isalpha() or letter.isdecimal() or letter == "_" for letter in name):
        raise InvalidAvro(f"Illegal character in: {name}")
    return name
