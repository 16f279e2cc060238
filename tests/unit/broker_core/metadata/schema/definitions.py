"""Schemas that tests upload."""

import json

from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType


def avro(fields: str, schema_type: SchemaType = SchemaType.AVRO) -> SchemaData:
    """A record of int fields: `a` without a default, `a=` with one."""
    listed = [
        {"name": one.rstrip("="), "type": "int", **({"default": 0} if one.endswith("=") else {})}
        for one in fields.split()
    ]
    return SchemaData(schema_type, json.dumps({"type": "record", "name": "A", "fields": listed}).encode())


def string(text: bytes = b"") -> SchemaData:
    return SchemaData(SchemaType.STRING, text)
