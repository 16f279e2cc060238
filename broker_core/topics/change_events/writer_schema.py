"""The schemas with which other clusters write their events: those that are safe to decode with. Pure.

A client that can publish to `__change_events` can also register a schema there, which fastavro follows in C: a record
that contains itself ends the process, and an array of a type without bytes has as many items as its count says. So a
value is decoded only with a schema in which no type contains itself and each one takes at least a byte. Then the
value's size bounds the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from broker_core.errors import InvalidRequest
from broker_core.metadata.schema.avro import NAMED, RECORDS, AvroType, InvalidAvro, parse_avro

RECORD = "org.apache.pulsar.common.events.PulsarEvent"
MOST_BYTES = 64 << 10  # that of Pulsar 4.0.7 has 9 KiB
MOST_DEPTH = 32  # that of Pulsar 4.0.7 has 11


def checked_schema(text: bytes) -> Any:
    """The schema as a JSON document with only what decoding needs. Raises `InvalidRequest` for one that is not safe."""
    document, reason = _verdict(text)
    if reason:
        raise InvalidRequest(f"its schema is not one of Pulsar's events: {reason}")
    return document


@lru_cache(maxsize=16)  # refused ones, too: each event would cost as much as the first
def _verdict(text: bytes) -> tuple[Any, str]:
    """The document, or why there is none."""
    try:
        return _checked(text), ""
    except (InvalidAvro, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)


def _checked(text: bytes) -> Any:
    if len(text) > MOST_BYTES:
        raise InvalidAvro(f"it has {len(text)} bytes, and {MOST_BYTES} are the maximum")
    schema = parse_avro(text.decode())
    if schema.kind != "record" or schema.name != RECORD:
        raise InvalidAvro(f"it is not the record {RECORD}")
    if _Depths().of(schema) > MOST_DEPTH:
        raise InvalidAvro("a type contains itself, or the types are nested too deeply")
    return _document(schema, {})


class _Depths:
    """The depths of types by identity, because a schema can name a type many times, and each is measured once."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, schema: AvroType) -> int:
        """The depth of nested types; more than `MOST_DEPTH` if one contains itself. Raises `InvalidAvro`."""
        if id(schema) not in self._known:
            _check_type(schema)
            self._known[id(schema)] = MOST_DEPTH  # while its parts are measured: a type inside itself is too deep
            self._known[id(schema)] = 1 + max((self.of(part) for part in _parts(schema)), default=0)
        return self._known[id(schema)]


def _parts(schema: AvroType) -> Iterator[AvroType]:
    """The types inside a type, without `null` as a branch, which takes the byte of its union."""
    yield from (field.type for field in schema.fields)
    yield from (branch for branch in schema.branches if branch.kind != "null")
    if schema.items is not None:
        yield schema.items


def _check_type(schema: AvroType) -> None:
    """Raises `InvalidAvro` for a type whose values can take no bytes, or that stands for another type."""
    empty_record = schema.kind in RECORDS and not schema.fields
    if schema.kind == "null" or empty_record or (schema.kind == "fixed" and not schema.size):
        raise InvalidAvro(f"the values of its type {schema.full_name} take no bytes")
    if "logicalType" in schema.properties:
        raise InvalidAvro(f"it has the logical type {schema.properties['logicalType']!r}")


def _document(schema: AvroType, names: dict[int, str]) -> Any:
    """The document of a checked schema, with names that mean the same to fastavro whatever the namespace."""
    if id(schema) in names:
        return names[id(schema)]
    if schema.kind == "union":
        return [_document(branch, names) for branch in schema.branches]
    if schema.items is not None:
        return {"type": schema.kind, "items" if schema.kind == "array" else "values": _document(schema.items, names)}
    return _named(schema, names) if schema.kind in NAMED else schema.kind


def _named(schema: AvroType, names: dict[int, str]) -> dict[str, Any]:
    name = names[id(schema)] = f"Type{len(names)}"
    head = {"type": schema.kind, "name": name}
    if schema.kind == "enum":
        return {**head, "symbols": list(schema.symbols)}
    if schema.kind == "fixed":
        return {**head, "size": schema.size}
    return {**head, "fields": [{"name": field.name, "type": _document(field.type, names)} for field in schema.fields]}
