"""Decoding of messages by the schema version they were written with, for `consume` and `read --schema auto`.

Each version is fetched once from the admin API. A message without a version, or with an unsupported schema, is shown as
bytes.
"""

import struct
from collections.abc import Callable
from typing import Any

from broker_core.wire.fixed_values import NUMBERS
from pulsarctl.errors import DoesNotFit
from pulsarctl.records.decoded_record import DecodedRecord
from pulsarctl.records.record import Record
from pulsarctl.schemas.avro_json import AvroCodec
from pulsarctl.values.json_text import parse_json

Decode = Callable[[bytes], Any]
Lookup = Callable[[str, int], dict[str, Any]]


class SchemaDecoder:
    """`lookup` fetches one version of a topic's schema, like `Schemas.get`."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._decoders: dict[tuple[str, bytes], Decode | None] = {}

    def __call__(self, record: Record) -> Record:
        """The record with its value decoded, or unchanged. Raises the `CliError` of a failed lookup."""
        value, version = record.value, record.schema_version
        if value is None or len(version) != 8:
            return record
        key = (record.topic, version)
        if key not in self._decoders:
            schema = self._lookup(record.topic, int.from_bytes(version))
            self._decoders[key] = _decoder_or_reason(schema["schemaInfo"])
        decode = self._decoders[key]
        if decode is None:
            return record
        try:
            return DecodedRecord(record, decode(value))
        except DoesNotFit as error:
            return DecodedRecord(record, None, f"schema version {int.from_bytes(version)}: {error}")


def _decoder_or_reason(info: dict[str, Any]) -> Decode | None:
    """The decoder of a schema. For a schema that describes nothing, it refuses each message with the reason."""
    try:
        return decoder_of(info)
    except DoesNotFit as error:
        reason = str(error)

    def refuse(data: bytes) -> Any:
        raise DoesNotFit(reason)

    return refuse


def decoder_of(info: dict[str, Any]) -> Decode | None:
    """The decoder for a schema (`schemaInfo`), or None for an unsupported type. Raises `DoesNotFit`."""
    kind, definition = info["type"], info["schema"]
    if kind in NUMBERS:
        return _number(NUMBERS[kind])
    if kind == "STRING":
        return lambda data: data.decode("utf-8", "replace")
    if kind == "JSON":
        return _from_json
    if kind == "AVRO":
        return AvroCodec(definition).decode
    if kind == "PROTOBUF_NATIVE":
        return _protobuf(definition)
    return _pair(info) if kind == "KEY_VALUE" else None


def _number(form: str) -> Decode:
    def decode(data: bytes) -> Any:
        try:
            return struct.unpack(form, data)[0]
        except struct.error as error:
            raise DoesNotFit(f"{len(data)} bytes are not {struct.calcsize(form)}") from error

    return decode


def _from_json(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError as error:
        raise DoesNotFit(f"it is not JSON: {error}") from error


def _protobuf(definition: dict[str, Any]) -> Decode:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    from pulsarctl.schemas.protobuf_messages import root_message

    message_class = GetMessageClass(root_message(definition))

    def decode(data: bytes) -> Any:
        try:
            return MessageToDict(message_class.FromString(data), preserving_proto_field_name=True)
        except DecodeError as error:
            raise DoesNotFit(str(error)) from error

    return decode


def _pair(info: dict[str, Any]) -> Decode | None:
    """INLINE: the data has key and value. SEPARATED: it has only the value, and the message has the key."""
    properties, schemas = info["properties"], info["schema"]
    key, value = (_part(schemas[part], properties.get(f"{part}.schema.type", "BYTES")) for part in ("key", "value"))
    if properties.get("kv.encoding.type") == "SEPARATED":
        return value
    return lambda data: dict(zip(("key", "value"), _split(data, key, value), strict=True))


def _part(definition: Any, kind: str) -> Decode:
    decode = decoder_of({"type": kind, "schema": definition, "properties": {}})
    return decode or (lambda data: data.decode("latin-1"))


def _split(data: bytes, key: Decode, value: Decode) -> tuple[Any, Any]:
    try:
        (key_size,) = struct.unpack_from(">i", data)
        (value_size,) = struct.unpack_from(">i", data, 4 + max(key_size, 0))
    except struct.error as error:
        raise DoesNotFit("it is not a key-value pair") from error
    start = 8 + max(key_size, 0)
    return (
        None if key_size < 0 else key(data[4 : 4 + key_size]),
        None if value_size < 0 else value(data[start : start + value_size]),
    )
