"""Pulsar's `SchemaType`, with the names of the REST API and the numbers of the protocol."""

from __future__ import annotations

import enum

from broker_core.wire.pulsar_api_pb2 import Schema


class SchemaType(enum.IntEnum):
    """Types below zero exist only in clients; BYTES is stored as NONE (Pulsar's registry format)."""

    NONE = 0
    STRING = 1
    JSON = 2
    PROTOBUF = 3
    AVRO = 4
    BOOLEAN = 5
    INT8 = 6
    INT16 = 7
    INT32 = 8
    INT64 = 9
    FLOAT = 10
    DOUBLE = 11
    DATE = 12
    TIME = 13
    TIMESTAMP = 14
    KEY_VALUE = 15
    INSTANT = 16
    LOCAL_DATE = 17
    LOCAL_TIME = 18
    LOCAL_DATE_TIME = 19
    PROTOBUF_NATIVE = 20
    BYTES = -1
    AUTO = -2
    AUTO_CONSUME = -3
    AUTO_PUBLISH = -4
    EXTERNAL = 22  # a schema in another registry; only the client can read it (PIP-420)


AVRO_BASED = frozenset({SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF})
"""Types whose definition is an Avro schema in JSON."""

STRUCTURED = AVRO_BASED | {SchemaType.PROTOBUF_NATIVE, SchemaType.KEY_VALUE}

CLIENT_SIDE = frozenset({SchemaType.AUTO, SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH})


def from_wire(number: int) -> SchemaType:
    """The type of a `Schema` message; an unknown number counts as NONE, as in Pulsar."""
    if number == Schema.AutoConsume:
        return SchemaType.AUTO_CONSUME
    try:
        return SchemaType(number)
    except ValueError:
        return SchemaType.NONE


def to_wire(schema_type: SchemaType) -> int:
    """The number for a `Schema` message."""
    if schema_type is SchemaType.AUTO_CONSUME:
        return Schema.AutoConsume
    return max(schema_type.value, 0)
