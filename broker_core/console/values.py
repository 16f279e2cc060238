"""A message's bytes as text, by the schema that it was written with. Pure.

A value that does not fit its schema is still shown: as text if it is UTF-8, or else as hexadecimal digits.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

from broker_core.console.avro_values import Unreadable, read_avro
from broker_core.metadata.schema.avro import InvalidAvro, parse_avro
from broker_core.wire.fixed_values import NUMBERS

SHOWN_MAX = 4_000  # characters or bytes of a value on a page
DECODED_MAX = 256 * 1024  # bytes of a value that is decoded
INDENTED_MAX = 4_000  # bytes
DEFINITION_MAX = 256 * 1024  # characters

Decode = Callable[[bytes], Any]
_FAILURES = (Unreadable, InvalidAvro, ValueError, struct.error, RecursionError)


class ValueReader:
    """Reads the values of one schema version, `schema` of the admin API; None: they have no schema."""

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        self._kind = str((schema or {}).get("type", ""))
        self._decode: Decode | None = None
        self._why = ""
        try:
            self._decode = _decoder(self._kind, schema or {})
        except _FAILURES as error:
            self._why = str(error)

    def read(self, data: bytes) -> tuple[str, str]:
        """The text of a value, and how it was read: `AVRO`, `text`, `bytes`, or why the schema did not help."""
        why = self._why
        if self._decode is not None:
            try:
                if len(data) > DECODED_MAX:
                    raise Unreadable(f"a value of more than {DECODED_MAX} bytes is not decoded")
                return cut(_as_text(self._decode(data), len(data))), self._kind
            except _FAILURES as error:
                why = str(error)
        text, how = plain_text(data)
        return text, f"{how}; not {self._kind}: {why}" if why else how


def plain_text(data: bytes) -> tuple[str, str]:
    try:
        return cut(data[: SHOWN_MAX * 4].decode()), "text"
    except UnicodeDecodeError as error:
        if len(data) > SHOWN_MAX * 4 and error.start > SHOWN_MAX * 4 - 4:  # cut inside a character
            return cut(data[: error.start].decode()), "text"
        return cut(data[:SHOWN_MAX].hex(" ")), "bytes"


def cut(text: str) -> str:
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}… ({len(text):,} characters)"


def _as_text(value: Any, size: int) -> str:
    """Large values are not indented: in a deep one, the indentation would be most of the text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2 if size <= INDENTED_MAX else None, ensure_ascii=False)


def _decoder(kind: str, schema: Mapping[str, Any]) -> Decode | None:
    """The decoder; None if the type says nothing about the bytes, or is not decoded here."""
    if kind in NUMBERS:
        return lambda data: struct.unpack(NUMBERS[kind], data)[0]
    if kind == "STRING":
        return lambda data: data.decode()
    if kind == "JSON":
        return json.loads
    if kind == "AVRO":
        return _avro(str(schema.get("data", "")))
    return _pair(schema) if kind == "KEY_VALUE" else None


def _avro(definition: str) -> Decode:
    if len(definition) > DEFINITION_MAX:
        raise Unreadable("its definition is too large")
    parsed = parse_avro(definition)
    return lambda data: read_avro(parsed, data)


def _pair(schema: Mapping[str, Any]) -> Decode | None:
    """Key and value in one payload. If the key is that of the message, the payload is the value."""
    properties = schema.get("properties") or {}
    definitions = json.loads(str(schema.get("data") or "{}"))
    if not isinstance(definitions, dict):
        raise Unreadable("its definition is not an object")
    key, value = (_part(name, properties, definitions) for name in ("key", "value"))
    if properties.get("kv.encoding.type") == "SEPARATED":
        return value

    def decode(data: bytes) -> dict[str, Any]:
        first, rest = _sized(data)
        second, _ = _sized(rest)
        return {"key": key(first), "value": value(second)}

    return decode


def _part(name: str, properties: Mapping[str, Any], definitions: Mapping[str, Any]) -> Decode:
    kind, definition = str(properties.get(f"{name}.schema.type", "")), definitions.get(name) or ""
    data = definition if isinstance(definition, str) else json.dumps(definition)
    decoder = None if kind == "KEY_VALUE" else _decoder(kind, {"data": data})
    return decoder or (lambda part: plain_text(part)[0])


def _sized(data: bytes) -> tuple[bytes, bytes]:
    size = max(struct.unpack_from(">i", data)[0], 0)
    if 4 + size > len(data):
        raise Unreadable("the pair is cut short")
    return data[4 : 4 + size], data[4 + size :]
