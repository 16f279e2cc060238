"""The identity of Avro schemas: schemas with the same meaning have one canonical text. Pure.

The comparison is that of Apache Avro for Java: documentation, aliases, and an enum's default do not count, everything
else does, including properties that Avro does not define. A named type is written out once and named afterwards.
"""

from __future__ import annotations

import json
from typing import Any

from broker_core.metadata.schema.avro import NO_DEFAULT, AvroField, AvroType


def canonical_text(schema: AvroType) -> str:
    """Equal for two schemas if and only if Pulsar's registry considers them the same."""
    return json.dumps(_canonical(schema, set()), sort_keys=True, separators=(",", ":"))


def _canonical(schema: AvroType, written: set[str]) -> Any:
    if schema.name and schema.name in written:
        return schema.name
    if schema.name:
        written.add(schema.name)
    return [
        schema.kind,
        schema.name,
        [_canonical_field(field, written) for field in schema.fields],
        schema.symbols,
        schema.size,
        None if schema.items is None else _canonical(schema.items, written),
        [_canonical(branch, written) for branch in schema.branches],
        schema.properties,
    ]


def _canonical_field(field: AvroField, written: set[str]) -> Any:
    default = [] if field.default is NO_DEFAULT else [field.default]
    return [field.name, _canonical(field.type, written), default, field.order, field.properties]
