"""A schema as a producer announces it."""

from broker_core.wire.pulsar_api_pb2 import KeyValue, Schema
from pulsarctl.admin.schemas import SchemaInfo

_WIRE_TYPES = {name.upper(): number for name, number in Schema.Type.items()}


def wire_schema(schema: SchemaInfo) -> Schema | None:
    """None for a type that only newer brokers know."""
    kind = _WIRE_TYPES.get(schema.type.replace("_", ""))
    if kind is None:
        return None
    properties = [KeyValue(key=key, value=value) for key, value in schema.properties.items()]
    return Schema(name="", schema_data=schema.definition.encode(), type=kind, properties=properties)
