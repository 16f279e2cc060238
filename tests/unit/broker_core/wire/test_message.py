import pytest

from broker_core.wire import message
from broker_core.wire.errors import ChecksumMismatch, EntryError, MalformedEntry
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata, KeyValue, MessageMetadata
from tests.support.broker_metadata import add_broker_metadata
from tests.support.send_frames import entry

ENTRY = entry(b"payload", sequence_id=5, partition_key="key")
BROKER_METADATA = BrokerEntryMetadata(broker_timestamp=1_700_000_000_000, index=4)


def test_the_checksum_is_castagnoli() -> None:
    assert message.checksum(b"123456789") == 0xE3069283


def test_an_entry_is_split_into_its_parts() -> None:
    metadata, payload, broker_metadata = message.parse_entry(ENTRY)
    assert (metadata.sequence_id, metadata.partition_key, payload, broker_metadata) == (5, "key", b"payload", None)


def test_an_entry_built_from_its_parts_is_the_same() -> None:
    metadata, payload, _ = message.parse_entry(ENTRY)
    assert message.build_entry(metadata, payload) == ENTRY


def test_a_new_payload_gets_a_new_checksum() -> None:
    metadata, _, _ = message.parse_entry(ENTRY)
    changed = message.build_entry(metadata, b"another")
    assert message.parse_entry(changed).payload == b"another"
    assert changed[:6] != ENTRY[:6]


def test_a_changed_bit_is_detected() -> None:
    for position in range(2, len(ENTRY)):
        damaged = bytearray(ENTRY)
        damaged[position] ^= 0x10
        with pytest.raises(ChecksumMismatch):
            message.parse_entry(bytes(damaged))


def test_a_torn_entry_is_refused() -> None:
    for size in range(len(ENTRY)):
        with pytest.raises(EntryError):
            message.parse_entry(ENTRY[:size])


def test_the_metadata_can_be_read_without_verifying_the_checksum() -> None:
    damaged = ENTRY[:-1] + b"!"
    assert message.parse_metadata(damaged).sequence_id == 5
    assert message.parse_entry(damaged, verify=False).payload == b"payloa!"


def test_the_golden_broker_metadata_is_written_and_read() -> None:
    with_prefix = add_broker_metadata(ENTRY, BROKER_METADATA)
    assert with_prefix.startswith(bytes.fromhex("0e02000000090880d095ffbc311004"))
    assert message.parse_entry(with_prefix).broker_metadata == BROKER_METADATA
    assert message.parse_metadata(with_prefix).sequence_id == 5


@pytest.mark.parametrize("size", range(3, 15))
def test_torn_broker_metadata_is_refused(size: int) -> None:
    with_prefix = add_broker_metadata(ENTRY, BROKER_METADATA)
    with pytest.raises(MalformedEntry):
        message.parse_entry(with_prefix[:size])


def test_an_entry_without_a_checksum_is_read_and_gets_one() -> None:
    without = ENTRY[6:]
    assert message.parse_entry(without).payload == b"payload"
    assert message.add_checksum(without) == ENTRY


def test_checking_distinguishes_a_wrong_checksum_from_wrong_metadata() -> None:
    assert message.check_entry(ENTRY)[0]
    ok, metadata = message.check_entry(ENTRY[:-1] + b"!")
    assert not ok
    assert metadata is not None
    assert message.check_entry(b"\x00\x00\x00\x01\xff") == (True, None)
    assert message.check_entry(b"\x0e\x01\x00\x00\x00\x00\xff\xff\xff\xff") == (False, None)


def test_text_of_a_stored_message_that_is_not_utf8_is_read_as_java_reads_it() -> None:
    pair = KeyValue(key="key", value="value")
    metadata = MessageMetadata(
        producer_name="name", sequence_id=1, publish_time=2, replicate_to=["east"], properties=[pair]
    )
    encoded = metadata.SerializeToString()
    for text in (b"name", b"east", b"value"):
        encoded = encoded.replace(text, b"\xff" + text[1:])
    found = message.parse_metadata(message.add_checksum(len(encoded).to_bytes(4, "big") + encoded))
    assert (found.producer_name, list(found.replicate_to)) == ("\ufffdame", ["\ufffdast"])
    assert [(one.key, one.value) for one in found.properties] == [("key", "\ufffdalue")]
