"""Decoding of messages by the schema version they were written with, for `consume` and `read --schema auto`.

Each version is fetched once from the admin API. A message without a version, or with an unsupported schema, is shown as
bytes.
"""

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from broker_core.wire.fixed_values import NUMBERS
from pulsarctl.errors import DoesNotFit, NotFound
from pulsarctl.records.decoded_record import DecodedRecord
from pulsarctl.records.record import Record
from pulsarctl.schemas.avro_json import AvroCodec
from pulsarctl.schemas.key_values import join_pair, part_info, split_pair, takes_key
from pulsarctl.values.json_text import parse_json

Decode = Callable[[bytes], Any]
DecodeRecord = Callable[[Record], Any]
Lookup = Callable[[str, int], dict[str, Any]]


class SchemaDecoder:
    """`lookup` fetches one version of a topic's schema, like `Schemas.get`."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._decoders: dict[tuple[str, bytes], DecodeRecord | None] = {}

    def __call__(self, record: Record) -> Record:
        """The record with its value decoded, or unchanged. Raises the `CliError` of a lookup that got no answer."""
        version = record.schema_version
        if record.value is None or len(version) != 8:
            return record
        key = (record.topic, version)
        if key not in self._decoders:
            self._decoders[key] = self._decoder(record.topic, int.from_bytes(version))
        decode = self._decoders[key]
        if decode is None:
            return record
        try:
            return DecodedRecord(record, decode(record))
        except DoesNotFit as error:
            return DecodedRecord(record, None, f"schema version {int.from_bytes(version)}: {error}")

    def _decoder(self, topic: str, version: int) -> DecodeRecord | None:
        """For a version that is gone or describes nothing, it refuses each message with the reason."""
        try:
            return _record_decoder(self._lookup(topic, version)["schemaInfo"])
        except (DoesNotFit, NotFound) as error:
            reason = str(error)

        def refuse(record: Record) -> Any:
            raise DoesNotFit(reason)

        return refuse


def _record_decoder(info: dict[str, Any]) -> DecodeRecord | None:
    decode = decoder_of(info)
    if decode is None:
        return None
    if takes_key(info):
        return lambda record: decode(join_pair(record.pair_key, record.value))
    return lambda record: decode(record.value or b"")


def decoder_of(info: dict[str, Any]) -> Decode | None:
    """The decoder for a schema (`schemaInfo`), or None for an unsupported type. Raises `DoesNotFit`.

    It expects a key-value pair as one piece (`join_pair`).
    """
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

    from pulsarctl.schemas.protobuf_messages import message_reader, root_message

    root = root_message(definition)
    to_dict = partial(MessageToDict, preserving_proto_field_name=True, descriptor_pool=root.file.pool)
    return message_reader(root, to_dict)


def _pair(info: dict[str, Any]) -> Decode:
    key, value = (_part(part_info(info, part)) for part in ("key", "value"))

    def decode(data: bytes) -> dict[str, Any]:
        raw_key, raw_value = split_pair(data)
        return {
            "key": None if raw_key is None else key(raw_key),
            "value": None if raw_value is None else value(raw_value),
        }

    return decode


def _part(info: dict[str, Any]) -> Decode:
    return decoder_of(info) or (lambda data: data.decode("latin-1"))
