"""Whether a definition is valid for its type, before any comparison (Pulsar's `SchemaDataValidator`). Pure."""

from __future__ import annotations

import json

from broker_core.errors import InvalidSchema
from broker_core.metadata.schema.avro import AvroType, InvalidAvro, parse_avro
from broker_core.metadata.schema.key_value import decode_key_value
from broker_core.metadata.schema.protobuf_native import root_message
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import AVRO_BASED, CLIENT_SIDE, SchemaType

SHOWN_MAX = 1000  # characters of a reason, which may quote a name or a value of the definition
_PYTHON_NONE = b"null"  # the definition that the Python client sends for a STRING schema

# Jackson's names of JSON schema types; clients from before Avro definitions sent them for JSON.
LEGACY_JSON_TYPES = frozenset({"any", "array", "boolean", "integer", "null", "number", "object", "string"})


def validate(schema: SchemaData, allow_legacy_json: bool = True) -> None:
    """Raises `InvalidSchema`. `allow_legacy_json`: the JSON schemas of old clients are valid (PIP-464)."""
    if schema.type in AVRO_BASED:
        _validate_avro(schema, allow_legacy_json)
    elif schema.type is SchemaType.PROTOBUF_NATIVE:
        root_message(schema.data)
    elif schema.type is SchemaType.KEY_VALUE:
        for part in decode_key_value(schema):
            validate(part, allow_legacy_json)
    elif schema.type in CLIENT_SIDE:
        raise InvalidSchema(f"Schema {schema.type.name} is a client-side schema type")
    elif schema.type not in (SchemaType.NONE, SchemaType.BYTES, SchemaType.EXTERNAL):
        _validate_empty(schema)


def _validate_avro(schema: SchemaData, allow_legacy_json: bool) -> None:
    try:
        definition = parse_avro(schema.data.decode())
    except (InvalidAvro, ValueError) as error:
        if allow_legacy_json and schema.type is SchemaType.JSON and legacy_json(schema) is not None:
            return
        reason = str(error)[:SHOWN_MAX]
        raise InvalidSchema(f"Invalid schema definition data for {schema.type.name} schema: {reason}") from None
    if schema.type is SchemaType.AVRO:
        _check_supported(definition)


def _check_supported(definition: AvroType) -> None:
    if definition.kind == "union":
        raise InvalidSchema("Avro schema typed [UNION] is not supported")


def legacy_json(schema: SchemaData) -> dict[str, object] | None:
    """The JSON schema of an old client, from before Avro definitions; None if it is not one."""
    try:
        document = json.loads(schema.data)
    except (ValueError, RecursionError):
        return None
    known = (
        isinstance(document, dict) and isinstance(document.get("type"), str) and document["type"] in LEGACY_JSON_TYPES
    )
    return document if known else None


def _validate_empty(schema: SchemaData) -> None:
    if not schema.data or (schema.type is SchemaType.STRING and schema.data == _PYTHON_NONE):
        return
    if schema.type is SchemaType.STRING:
        raise InvalidSchema(f"Invalid schema definition data for string schema : '{schema.text}'")
    raise InvalidSchema(
        "Invalid schema definition data for primitive schemas :length of schema data should be zero,"
        f" but {len(schema.data)} bytes is found"
    )
