"""Entries built by hand, and the messages read from them."""

import base64

import pytest

from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import (
    BrokerEntryMetadata,
    CompressionType,
    KeyValue,
    MessageMetadata,
    SingleMessageMetadata,
)
from pulsarctl.raw.entry import DamagedEntry, Entry, StoredMessage
from pulsarctl.values.message_ids import MessageId
from tests.support.broker_metadata import add_broker_metadata

TOPIC = "persistent://public/default/t"


def metadata() -> MessageMetadata:
    return MessageMetadata(producer_name="p", sequence_id=7, publish_time=1000)


def entry(data: bytes, **settings: int | list[int]) -> Entry:
    return Entry(TOPIC, 4, 9, data, **settings)  # type: ignore[arg-type] # each test names one


def batch(count: int, compression: int = CompressionType.NONE) -> bytes:
    """A batch of `count` messages with the values v0, v1, ... and the keys k0, k1, ..."""
    of = metadata()
    of.compression = compression  # type: ignore[assignment] # enum fields take plain numbers
    singles = [SingleMessageMetadata(partition_key=f"k{index}", payload_size=0) for index in range(count)]
    return build_batch(of, [BatchMessage(single, f"v{index}".encode()) for index, single in enumerate(singles)])


def only(entry: Entry) -> StoredMessage:
    (record,) = entry.messages()
    return record


def test_a_single_message_has_what_its_metadata_says() -> None:
    of = metadata()
    of.partition_key, of.ordering_key, of.event_time, of.deliver_at_time = "k", b"\x00o", 5, 2000
    of.properties.extend([KeyValue(key="a", value="1"), KeyValue(key="a", value="2")])
    record = only(entry(build_entry(of, b"hello"), partition=3, redelivery_count=2))
    assert (record.id, record.batch_size, record.sequence_id) == (MessageId(4, 9, 3), 1, 7)
    assert (record.key, record.ordering_key, record.properties) == ("k", b"\x00o", {"a": "2"})
    assert (record.publish_time_ms, record.event_time_ms, record.deliver_at_ms) == (1000, 5, 2000)
    assert (record.producer, record.redelivery_count, record.value) == ("p", 2, b"hello")


def test_fields_that_a_producer_did_not_set_are_none() -> None:
    record = only(entry(build_entry(metadata(), b"")))
    assert (record.key, record.ordering_key, record.event_time_ms, record.deliver_at_ms) == (None, None, None, None)
    assert (record.schema_version, record.chunk, record.broker_index, record.value) == (None, None, None, b"")


def test_a_binary_key_is_decoded() -> None:
    of = metadata()
    of.partition_key, of.partition_key_b64_encoded = base64.b64encode(b"\xff\x00").decode(), True
    record = only(entry(build_entry(of, b"")))
    assert (record.key, record.key_bytes) == ("/wA=", b"\xff\x00")


def test_a_key_that_is_not_base64_as_its_flag_says_is_the_key_itself() -> None:
    of = metadata()
    of.partition_key, of.partition_key_b64_encoded = "abc", True
    assert only(entry(build_entry(of, b""))).key_bytes == b"abc"


def test_a_null_value_is_none() -> None:
    of = metadata()
    of.null_value = True
    assert only(entry(build_entry(of, b""))).value is None


@pytest.mark.parametrize("compression", CompressionType.values())
def test_a_batch_is_split_into_messages(compression: int) -> None:
    records = list(entry(batch(3, compression)).messages())
    assert [(each.id.batch_index, each.key, each.value) for each in records] == [
        (0, "k0", b"v0"),
        (1, "k1", b"v1"),
        (2, "k2", b"v2"),
    ]
    assert [each.sequence_id for each in records] == [7, 8, 9]
    assert {each.batch_size for each in records} == {3}


def test_a_batch_of_one_is_a_batch() -> None:
    assert only(entry(batch(1))).id == MessageId(4, 9, -1, 0)


def test_messages_compacted_away_are_not_shown_and_keep_their_index() -> None:
    singles = [SingleMessageMetadata(payload_size=0, compacted_out=index != 1) for index in range(3)]
    data = build_batch(metadata(), [BatchMessage(single, b"") for single in singles])
    assert [record.id.batch_index for record in entry(data).messages()] == [1]


def test_set_bits_of_the_ack_set_select_messages() -> None:
    wanted = [record.id.batch_index for record in entry(batch(70), ack_set=[-2, 0b10]).messages()]
    assert wanted == [*range(1, 64), 65]


def test_a_start_inside_a_batch_skips_earlier_messages() -> None:
    assert [record.id.batch_index for record in entry(batch(4), first_index=2).messages()] == [2, 3]


def test_an_encrypted_batch_is_one_record_with_its_bytes() -> None:
    of = metadata()
    of.num_messages_in_batch = 5
    of.compression = CompressionType.ZLIB
    of.encryption_keys.add(key="k", value=b"secret")
    record = only(entry(build_entry(of, b"opaque")))
    assert (record.encrypted, record.batch_size, record.value) == (True, 5, b"opaque")


def test_a_chunk_has_its_number() -> None:
    of = metadata()
    of.uuid, of.chunk_id, of.num_chunks_from_msg = "u", 1, 3
    record = only(entry(build_entry(of, b"middle")))
    assert (record.chunk, record.value) == (("u", 1, 3), b"middle")


def test_the_brokers_index_counts_the_messages_of_a_batch() -> None:
    data = add_broker_metadata(batch(5), BrokerEntryMetadata(broker_timestamp=1700, index=14))
    records = list(entry(data).messages())
    assert [record.broker_index for record in records] == [10, 11, 12, 13, 14]
    assert records[0].broker_time_ms == 1700


def test_an_id_is_printed_as_in_pulsar() -> None:
    assert [str(MessageId(4, 9)), str(MessageId(4, 9, 2, 0))] == ["4:9:-1", "4:9:2:0"]


def test_a_flipped_bit_is_reported_with_the_id_of_the_entry() -> None:
    data = bytearray(build_entry(metadata(), b"hello"))
    data[-1] ^= 1
    with pytest.raises(DamagedEntry, match=r"entry 4:9 of persistent://public/default/t: the checksum"):
        entry(bytes(data))


def test_a_batch_with_a_wrong_message_count_is_reported() -> None:
    of = metadata()
    of.num_messages_in_batch = 2
    with pytest.raises(DamagedEntry, match="batch"):
        list(entry(build_entry(of, b"\x00\x00\x00\x01")).messages())
