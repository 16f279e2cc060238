"""The payload of a message that came as JSON, encoded by its schema as Pulsar's clients encode it. Pure."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

from broker_core.errors import BrokerError, InvalidRequest
from broker_core.metadata.policies.json_values import check_plain, number, shown, string, truth, whole_number
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.wire.fixed_values import NUMBERS

MOST_DEPTH = 64  # levels of a JSON payload

Encoder = Callable[[Any], bytes]


def encode(kind: SchemaType, value: Any) -> bytes:
    """Raises `InvalidRequest`."""
    encoder = _ENCODERS.get(kind)
    if encoder is None:
        known = ", ".join(supported.name for supported in _ENCODERS)
        raise InvalidRequest(f"cannot encode {kind.name} over REST: use one of {known}, or a client library")
    try:
        return encoder(value)
    except (struct.error, OverflowError):
        raise InvalidRequest(f"{shown(value)} does not fit into {kind.name}") from None


def _whole(form: str) -> Encoder:
    return lambda value: struct.pack(form, whole_number(value, "payload"))


def _fraction(form: str) -> Encoder:
    return lambda value: struct.pack(form, number(value, "payload"))


def _text(value: Any) -> bytes:
    return string(value if isinstance(value, str) else json.dumps(value), "payload").encode()


def _json(value: Any) -> bytes:
    """A string that holds JSON is taken as that JSON, because tools send both."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InvalidRequest("payload must be JSON") from None
    try:
        check_plain(value, "payload", MOST_DEPTH)
    except BrokerError as error:
        raise InvalidRequest(error.reason) from None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


_ENCODERS: dict[SchemaType, Encoder] = {
    SchemaType.NONE: _text,
    SchemaType.STRING: _text,
    SchemaType.BOOLEAN: lambda value: bytes([truth(value, "payload")]),
    SchemaType.INT8: _whole(NUMBERS["INT8"]),
    SchemaType.INT16: _whole(NUMBERS["INT16"]),
    SchemaType.INT32: _whole(NUMBERS["INT32"]),
    SchemaType.INT64: _whole(NUMBERS["INT64"]),
    SchemaType.FLOAT: _fraction(NUMBERS["FLOAT"]),
    SchemaType.DOUBLE: _fraction(NUMBERS["DOUBLE"]),
    SchemaType.JSON: _json,
}
