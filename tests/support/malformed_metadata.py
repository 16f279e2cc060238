"""Metadata of a message whose fields are encoded in every wrong way, after the fields that every message has."""

from collections.abc import Iterator

from google.protobuf.message import DecodeError

from broker_core.wire.pulsar_api_pb2 import EncryptionKeys, KeyValue, MessageMetadata
from broker_core.wire.varint import encode_varint
from tests.support.send_frames import NOW_MS

VALUES = {
    "varint": (0, b"\x05"),
    "varint of ten bytes": (0, b"\xff" * 9 + b"\x01"),
    "varint of eleven bytes": (0, b"\xff" * 10 + b"\x01"),
    "varint without its end": (0, b"\xff\xff"),
    "eight bytes": (1, b"12345678"),
    "three of eight bytes": (1, b"123"),
    "text": (2, b"\x03abc"),
    "text that is not UTF-8": (2, b"\x02\xff\xfe"),
    "text longer than the metadata": (2, b"\x7fabc"),
    "length without its end": (2, b"\xff"),
    "length of 4 GB": (2, b"\xff\xff\xff\xff\x0f"),
    "nothing": (2, b"\x00"),
    "open group": (3, b"\x08\x01"),
    "end of a group that was not opened": (4, b""),
    "four bytes": (5, b"1234"),
    "one of four bytes": (5, b"1"),
    "wire type 6": (6, b"\x01"),
    "wire type 7": (7, b"\x01"),
}
"""Wire type and bytes of a field."""

UNKNOWN_FIELD = 1000


def first_fields(sequence_id: int) -> bytes:
    """The fields that every message has, as the known clients begin."""
    return MessageMetadata(producer_name="p", sequence_id=sequence_id, publish_time=NOW_MS).SerializeToString()


def tails() -> Iterator[tuple[str, bytes]]:
    """What may follow the first fields, valid or not, with its name."""
    numbers = {field.name: field.number for field in MessageMetadata.DESCRIPTOR.fields}
    for name, number in {**numbers, "unknown": UNKNOWN_FIELD, "field 0": 0}.items():
        for what, (wire_type, value) in VALUES.items():
            yield f"{name}: {what}", encode_varint(number << 3 | wire_type) + value
            yield f"{name}: {what}, in a long tag", _long_tag(number << 3 | wire_type) + value
    full = _every_field()
    for size in range(1, len(full)):
        yield f"every field: cut after {size} bytes", full[:size]
    yield "num_messages_in_batch: -2^31", encode_varint(11 << 3) + encode_varint(-(1 << 31))


def parsed(metadata: bytes) -> MessageMetadata | None:
    """As protobuf reads it, which decides; None if it is invalid."""
    try:
        found = MessageMetadata.FromString(metadata)
    except DecodeError:
        return None
    return found if found.IsInitialized() else None


def _long_tag(tag: int) -> bytes:
    encoded = encode_varint(tag)
    return encoded[:-1] + bytes((encoded[-1] | 0x80, 0))


def _every_field() -> bytes:
    return MessageMetadata(
        properties=[KeyValue(key="k", value="v")],
        partition_key="key",
        uncompressed_size=300,
        num_messages_in_batch=3,
        event_time=NOW_MS,
        encryption_keys=[EncryptionKeys(key="k", value=b"sealed", metadata=[KeyValue(key="k", value="v")])],
        schema_version=b"12345678",
        ordering_key=b"o",
        highest_sequence_id=7,
        null_value=True,
        uuid="u",
        num_chunks_from_msg=2,
        compacted_batch_indexes=[1, 2],
    ).SerializePartialToString()
