"""Limits for the size of a definition and the work of a comparison. Pure.

The size of a definition in bytes says little about its cost: two unions of 4,000 records are compared pair by pair, and
a record whose defaults are records doubles the work with each level. So values and depth are limited when a definition
is parsed, and a comparison stops after a number of steps.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from broker_core.errors import InvalidSchema
from broker_core.metadata.schema.key_value import decode_key_value
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import AVRO_BASED, SchemaType


class DefinitionBounds(NamedTuple):
    """`max_values`: JSON values in a definition. `max_depth`: their maximum nesting."""

    max_bytes: int
    max_values: int
    max_depth: int


def check_definition(schema: SchemaData, bounds: DefinitionBounds) -> None:
    """Raises `InvalidSchema` if the definition exceeds its bounds; its contents are validated later."""
    size = len(schema.data)
    if size > bounds.max_bytes:
        raise InvalidSchema(f"The schema has {size} bytes, more than schemaMaxSizeInBytes = {bounds.max_bytes}")
    if schema.type is SchemaType.KEY_VALUE:
        for part in decode_key_value(schema):
            check_definition(part, bounds)
    elif schema.type in AVRO_BASED or schema.type is SchemaType.PROTOBUF_NATIVE:
        _check_values(schema.data, bounds)


def _check_values(data: bytes, bounds: DefinitionBounds) -> None:
    try:
        document = json.loads(data)
    except RecursionError:
        raise InvalidSchema(_too_deep(bounds)) from None
    except ValueError:
        return  # not JSON: validation has a better message for it
    values, level = 0, [document]
    for _ in range(bounds.max_depth):
        values += len(level)
        if values > bounds.max_values:
            raise InvalidSchema(f"The schema holds more values than schemaMaxValues = {bounds.max_values}")
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise InvalidSchema(_too_deep(bounds))


def _parts(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _too_deep(bounds: DefinitionBounds) -> str:
    return f"The schema is nested deeper than schemaMaxDepth = {bounds.max_depth}"
