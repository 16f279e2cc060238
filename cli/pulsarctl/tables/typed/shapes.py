"""One version of a topic's schema, as the admin API describes it -> its shape."""

import struct
from typing import Any

import pyarrow as pa

from pulsarctl.errors import DoesNotFit
from pulsarctl.tables.typed.avro import avro, json_by_avro
from pulsarctl.tables.typed.plain import plain, raw
from pulsarctl.tables.typed.protobuf import protobuf
from pulsarctl.tables.typed.shape import ColumnType

SEPARATED = "SEPARATED"


def shape_of(info: dict[str, Any]) -> ColumnType:
    """`info` is a `schemaInfo`. Raw for a type that describes no bytes (PROTOBUF without a descriptor).

    Raises `DoesNotFit` for an invalid definition.
    """
    kind, definition = info["type"], info["schema"]
    column_type = plain(kind)
    if column_type is not None:
        return column_type
    match kind:
        case "AVRO":
            return avro(definition)
        case "JSON":
            return json_by_avro(definition)
        case "PROTOBUF_NATIVE":
            return protobuf(definition)
        case "KEY_VALUE":
            return _key_value(info)
    return raw()


def takes_key(info: dict[str, Any]) -> bool:
    """Whether the key of the message is a part of the pair."""
    return bool(info["type"] == "KEY_VALUE" and info["properties"].get("kv.encoding.type") == SEPARATED)


def join_pair(key: bytes | None, value: bytes | None) -> bytes:
    """A separated pair in the encoding of an inline one."""
    parts = [struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part for part in (key, value)]
    return b"".join(parts)


def _key_value(info: dict[str, Any]) -> ColumnType:
    properties, schemas = info["properties"], info["schema"]
    key, value = (
        shape_of({"type": properties.get(f"{part}.schema.type", "BYTES"), "schema": schemas[part], "properties": {}})
        for part in ("key", "value")
    )

    def decode(data: bytes) -> Any:
        raw_key, raw_value = _split(data)
        return {
            "key": None if raw_key is None else key.decode(raw_key),
            "value": None if raw_value is None else value.decode(raw_value),
        }

    return ColumnType(pa.struct([("key", key.arrow), ("value", value.arrow)]), decode)


def _split(data: bytes) -> tuple[bytes | None, bytes | None]:
    try:
        (key_size,) = struct.unpack_from(">i", data)
        middle = 4 + max(key_size, 0)
        (value_size,) = struct.unpack_from(">i", data, middle)
    except struct.error as error:
        raise DoesNotFit("it is not a key-value pair") from error
    if middle + 4 + max(value_size, 0) != len(data):
        raise DoesNotFit("the sizes of key and value do not match the bytes")
    return None if key_size < 0 else data[4:middle], None if value_size < 0 else data[middle + 4 :]
