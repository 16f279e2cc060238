import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.wire import batch
from broker_core.wire.batch import BatchMessage
from broker_core.wire.errors import EntryError, MalformedEntry
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata, SingleMessageMetadata

GOLDEN = bytes.fromhex("0000000218016100000005" + "12016b18026263")


def messages(count: int) -> list[BatchMessage]:
    return [
        BatchMessage(SingleMessageMetadata(partition_key=f"key {number}"), f"payload {number}".encode())
        for number in range(count)
    ]


def metadata_of(compression: str = "NONE") -> MessageMetadata:
    return MessageMetadata(
        producer_name="p",
        sequence_id=1,
        publish_time=2,
        highest_sequence_id=5,
        compression=CompressionType.Value(compression),
    )


def test_the_golden_batch_is_split() -> None:
    first, second = batch.split_batch(GOLDEN, 2)
    assert (first.payload, second.payload, second.metadata.partition_key) == (b"a", b"bc", "k")


def test_the_golden_batch_is_joined() -> None:
    parts = [
        BatchMessage(SingleMessageMetadata(), b"a"),
        BatchMessage(SingleMessageMetadata(partition_key="k"), b"bc"),
    ]
    assert batch.join_batch(parts) == GOLDEN


@given(st.lists(st.tuples(st.text(), st.binary()), max_size=20))
def test_splitting_undoes_joining(contents: list[tuple[str, bytes]]) -> None:
    joined = batch.join_batch(BatchMessage(SingleMessageMetadata(partition_key=key), body) for key, body in contents)
    split = batch.split_batch(joined, len(contents))
    assert [(message.metadata.partition_key, message.payload) for message in split] == contents


def test_a_torn_batch_is_refused() -> None:
    for size in range(len(GOLDEN)):
        with pytest.raises(MalformedEntry):
            batch.split_batch(GOLDEN[:size], 2)


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 1 << 30])
def test_a_batch_with_a_wrong_count_is_refused(count: int) -> None:
    with pytest.raises(MalformedEntry):
        batch.split_batch(GOLDEN, count)


@given(st.binary(max_size=100), st.integers(-3, 30))
def test_any_bytes_are_a_batch_or_refused(payload: bytes, count: int) -> None:
    with contextlib.suppress(EntryError):
        assert len(batch.split_batch(payload, count)) == count


def test_an_entry_with_a_batch_count_is_a_batch_even_with_one_message() -> None:
    assert not batch.is_batch(MessageMetadata())
    assert batch.is_batch(MessageMetadata(num_messages_in_batch=1))


@pytest.mark.parametrize("compression", CompressionType.keys())
def test_a_built_batch_can_be_split_again(compression: str) -> None:
    entry = parse_entry(batch.build_batch(metadata_of(compression), messages(5)))
    payload = batch.plain_payload(entry.metadata, entry.payload)
    assert batch.split_batch(payload, entry.metadata.num_messages_in_batch) == messages_with_sizes(5)


def messages_with_sizes(count: int) -> list[BatchMessage]:
    found = messages(count)
    for message in found:
        message.metadata.payload_size = len(message.payload)
    return found


@pytest.mark.parametrize("compression", CompressionType.keys())
def test_a_compacted_batch_keeps_its_slots(compression: str) -> None:
    original = parse_entry(batch.build_batch(metadata_of(compression), messages(5)))
    entry = parse_entry(batch.compact_batch(original.metadata, messages_with_sizes(5), [3, 1]))
    slots = batch.split_batch(batch.plain_payload(entry.metadata, entry.payload), 5)
    assert [slot.metadata.compacted_out for slot in slots] == [True, False, True, False, True]
    assert [slot.payload for slot in slots] == [b"", b"payload 1", b"", b"payload 3", b""]
    assert entry.metadata.num_messages_in_batch == 5
    assert entry.metadata.compression == original.metadata.compression
    assert list(entry.metadata.compacted_batch_indexes) == [1, 3]


def test_compacting_does_not_change_its_input_metadata() -> None:
    metadata = metadata_of("LZ4")
    metadata.uncompressed_size = 12345
    batch.compact_batch(metadata, messages(3), [0])
    assert metadata.uncompressed_size == 12345
    assert not metadata.compacted_batch_indexes


def test_an_encrypted_payload_is_not_changed() -> None:
    metadata = metadata_of("LZ4")
    metadata.encryption_keys.add(key="k", value=b"v")
    assert batch.is_encrypted(metadata)
    assert batch.plain_payload(metadata, b"opaque") == b"opaque"


def test_one_chunk_of_a_compressed_message_is_not_changed() -> None:
    metadata = metadata_of("LZ4")
    metadata.num_chunks_from_msg = 3
    assert batch.plain_payload(metadata, b"a third") == b"a third"
