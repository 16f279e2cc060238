"""A schema version as the admin API describes it: for REST, and for programs that read messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.metadata.schema.key_value import key_value_text
from broker_core.metadata.schema.schema_type import SchemaType

if TYPE_CHECKING:
    from broker_core.metadata.schema.registry import SchemaVersion


def described(stored: SchemaVersion) -> dict[str, Any]:
    """A GetSchemaResponse of Pulsar."""
    schema = stored.schema
    return {
        "version": stored.version,
        "type": schema.type.name,
        "timestamp": stored.timestamp_ms,
        "data": key_value_text(schema) if schema.type is SchemaType.KEY_VALUE else schema.text,
        "properties": dict(schema.properties),
    }
