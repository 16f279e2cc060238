"""The key of an entry, parsed without protobuf but with the same result."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_core.wire.message import add_checksum, build_entry
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata, KeyValue, MessageMetadata
from broker_core.wire.sticky_key import NONE_KEY, key_hash, key_of, sticky_key
from tests.support.broker_metadata import add_broker_metadata

texts = st.text(max_size=140)
metadatas = st.builds(
    MessageMetadata,
    producer_name=texts,
    sequence_id=st.integers(0, 2**64 - 1),
    publish_time=st.integers(0, 2**64 - 1),
    properties=st.lists(st.builds(KeyValue, key=texts, value=texts), max_size=2),
    partition_key=st.none() | texts,
    partition_key_b64_encoded=st.none() | st.booleans(),
    ordering_key=st.none() | st.binary(max_size=20),
    uncompressed_size=st.none() | st.integers(0, 2**32 - 1),
    num_messages_in_batch=st.none() | st.integers(1, 1000),
    event_time=st.none() | st.integers(0, 2**63),
    uuid=st.none() | texts,
)


def key(entry: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    return sticky_key(before + entry + after, len(before), len(before) + len(entry))


@given(metadatas, st.binary(max_size=30), st.binary(max_size=30))
@example(MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, partition_key="2"), b"", b"\x92\x01")
@example(MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, partition_key="k", uuid="2"), b"", b"")
def test_the_hand_written_parser_finds_the_same_key_as_protobuf(
    metadata: MessageMetadata, payload: bytes, around: bytes
) -> None:
    entry = build_entry(metadata, payload)
    assert key(entry, around, around) == key_of(metadata)
    assert key(entry[6:]) == key_of(metadata)
    assert key(add_broker_metadata(entry, BrokerEntryMetadata(index=7))) == key_of(metadata)


@given(st.binary(max_size=60))
@example(b"\x0e\x01")
@example(b"\x0e\x02\xff\xff\xff\xff")
def test_any_bytes_have_a_key(entry: bytes) -> None:
    assert isinstance(key(entry), bytes)


def test_the_ordering_key_takes_precedence_over_the_partition_key() -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, partition_key="k", ordering_key=b"o")
    assert key(build_entry(metadata, b"")) == b"o"


def test_a_key_in_base64_is_decoded() -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, partition_key_b64_encoded=True)
    metadata.partition_key = base64.b64encode(b"\x00\xff").decode()
    assert key(build_entry(metadata, b"")) == b"\x00\xff"


def test_without_a_key_the_sequence_id_is_used() -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=12, publish_time=1)
    assert key(build_entry(metadata, b"x")) == b"p-12"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0),
        (b"abcde", 1755028214),
        (b"key1", 462881061),
        (b"test-key", 1201382723),
        (b"Order-3459134", 964695987),
        ("日本語".encode(), 631534231),
        (b"\x00\x01\x02\x03", 1958800441),
        (NONE_KEY, 504741539),
    ],
)
def test_the_hash_is_the_one_of_every_client(text: bytes, expected: int) -> None:
    assert key_hash(text) == expected


@pytest.mark.parametrize("size", [4, 200])
@pytest.mark.parametrize("base64_encoded", [False, True])
def test_a_key_that_is_not_text_is_a_key(size: int, base64_encoded: bool) -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, partition_key="k" * size)
    if base64_encoded:
        metadata.partition_key_b64_encoded = True
    encoded = metadata.SerializeToString().replace(b"k" * size, b"\xff" * size)
    broken = add_checksum(len(encoded).to_bytes(4, "big") + encoded + b"payload")
    assert key(broken) == b"\xff" * size
