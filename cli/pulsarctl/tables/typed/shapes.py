"""One version of a topic's schema, as the admin API describes it -> its shape."""

from typing import Any

import pyarrow as pa

from pulsarctl.schemas.key_values import part_info, split_pair
from pulsarctl.tables.typed.avro import avro, json_by_avro
from pulsarctl.tables.typed.plain import plain, raw
from pulsarctl.tables.typed.protobuf import protobuf
from pulsarctl.tables.typed.shape import ColumnType


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


def _key_value(info: dict[str, Any]) -> ColumnType:
    key, value = (shape_of(part_info(info, part)) for part in ("key", "value"))

    def decode(data: bytes) -> Any:
        raw_key, raw_value = split_pair(data)
        return {
            "key": None if raw_key is None else key.decode(raw_key),
            "value": None if raw_value is None else value.decode(raw_value),
        }

    return ColumnType(pa.struct([("key", key.arrow), ("value", value.arrow)]), decode)
