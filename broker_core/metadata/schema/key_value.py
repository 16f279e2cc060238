"""A KEY_VALUE schema: two schemas in one, in Pulsar's two forms. Pure.

    on the wire   u32 size of the key's schema, that schema, u32 size of the value's schema, that schema
    over REST     {"key": <schema>, "value": <schema>}, "" for a type without a definition

The types of both, and how a message carries them, are properties: `key.schema.type`, `value.schema.type`, and
`kv.encoding.type` (INLINE: the payload holds both; SEPARATED: the key is the message's key).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from broker_core.errors import InvalidSchema
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import STRUCTURED, SchemaType

_SIZE = struct.Struct(">i")
KEY, VALUE = "key", "value"


def decode_key_value(schema: SchemaData) -> tuple[SchemaData, SchemaData]:
    """The schemas of key and value. Raises `InvalidSchema`."""
    key, rest = _part(schema.data)
    value, _ = _part(rest)
    return _sub_schema(schema, KEY, key), _sub_schema(schema, VALUE, value)


def encode_key_value(key: bytes, value: bytes) -> bytes:
    return _SIZE.pack(len(key)) + key + _SIZE.pack(len(value)) + value


def _part(data: bytes) -> tuple[bytes, bytes]:
    """A length-prefixed part and what follows it; the length -1 stands for no part."""
    try:
        size = max(_SIZE.unpack_from(data)[0], 0)
    except struct.error:
        raise InvalidSchema("Invalid schema definition data for KEY_VALUE schema: a length is missing") from None
    end = _SIZE.size + size
    if end > len(data):
        raise InvalidSchema("Invalid schema definition data for KEY_VALUE schema: the data is truncated")
    return data[_SIZE.size : end], data[end:]


def _sub_schema(schema: SchemaData, part: str, data: bytes) -> SchemaData:
    name = schema.properties.get(f"{part}.schema.type", SchemaType.BYTES.name)
    if name not in SchemaType.__members__:
        raise InvalidSchema(f"Unknown schema type : {name}")
    return SchemaData(SchemaType[name], data, _properties(schema.properties, part))


def _properties(properties: Mapping[str, str], part: str) -> dict[str, str]:
    text = properties.get(f"{part}.schema.properties")
    try:
        members = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        raise InvalidSchema(f"{part}.schema.properties is not a JSON object: {text}")
    return {key: str(value) for key, value in members.items()}


def key_value_text(schema: SchemaData) -> str:
    """The definition in the form for REST."""
    key, value = decode_key_value(schema)
    return json.dumps({KEY: _shown(key), VALUE: _shown(value)}, ensure_ascii=False, separators=(",", ":"))


def _shown(part: SchemaData) -> Any:
    if part.type not in STRUCTURED or not part.data:
        return ""
    try:
        return json.loads(key_value_text(part) if part.type is SchemaType.KEY_VALUE else part.data)
    except (ValueError, RecursionError):
        raise InvalidSchema(f"Invalid schema definition data for {part.type.name} schema") from None


def key_value_data(text: str) -> bytes:
    """Converts the REST form into the wire form. Raises `InvalidSchema`."""
    try:
        members = json.loads(text)
        return encode_key_value(_sent(members[KEY]), _sent(members[VALUE]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InvalidSchema('A KEY_VALUE schema is sent as {"key": <schema>, "value": <schema>}') from None


def _sent(part: Any) -> bytes:
    return b"" if part == "" else json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode()
