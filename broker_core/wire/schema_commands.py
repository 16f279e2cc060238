"""The responses to GET_SCHEMA and GET_OR_CREATE_SCHEMA; each function returns a complete frame.

A version is sent as eight bytes, most significant first (docs/reference/protocol.md "Schema versions").
"""

import struct
from collections.abc import Mapping

from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand

_VERSION = struct.Struct(">q")


def version_bytes(version: int | None) -> bytes:
    """The eight bytes of a version; empty for no schema."""
    return b"" if version is None else _VERSION.pack(version)


def version_number(version: bytes) -> int | None:
    """The number; None if there are too few bytes for a version. Extra bytes are ignored, as in Pulsar."""
    return int(_VERSION.unpack_from(version)[0]) if len(version) >= _VERSION.size else None


def schema_found(
    request_id: int, name: str, schema_type: int, data: bytes, properties: Mapping[str, str], version: int
) -> bytes:
    """`schema_type` is a number of Schema.Type."""
    command = BaseCommand(type=BaseCommand.GET_SCHEMA_RESPONSE)
    body = command.getSchemaResponse
    body.request_id = request_id
    body.schema.name = name
    body.schema.schema_data = data
    body.schema.type = schema_type  # type: ignore[assignment] # enum fields take plain numbers
    for key, value in properties.items():
        body.schema.properties.add(key=key, value=value)
    body.schema_version = version_bytes(version)
    return frame(command)


def get_schema_failed(request_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_SCHEMA_RESPONSE)
    command.getSchemaResponse.request_id = request_id
    command.getSchemaResponse.error_code = server_error  # type: ignore[assignment] # enum fields take plain numbers
    command.getSchemaResponse.error_message = text
    return frame(command)


def schema_created(request_id: int, version: int | None) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_OR_CREATE_SCHEMA_RESPONSE)
    command.getOrCreateSchemaResponse.request_id = request_id
    command.getOrCreateSchemaResponse.schema_version = version_bytes(version)
    return frame(command)


def create_schema_failed(request_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_OR_CREATE_SCHEMA_RESPONSE)
    body = command.getOrCreateSchemaResponse
    body.request_id = request_id
    body.error_code = server_error  # type: ignore[assignment] # enum fields take plain numbers
    body.error_message = text
    return frame(command)
