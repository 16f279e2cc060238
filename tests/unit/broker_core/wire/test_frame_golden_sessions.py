"""Our codec reads sessions of official clients and a real broker."""

import pytest

from broker_core.wire import batch
from broker_core.wire.encode import MessageEncoder, ReceiptEncoder
from broker_core.wire.frame import Command, FrameDecoder, Item, MessageFrame
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSendReceipt, CompressionType, MessageMetadata
from broker_core.wire.send import SendRun, SingleSend
from tests.unit.broker_core.wire.protobuf_decoder import by_producer, decode, rows
from tests.unit.broker_core.wire.scenarios import CHUNKED, CODECS, TEXTS
from tests.unit.broker_core.wire.sessions import TO_BROKER, TO_CLIENT, session_names, stream

LIMIT = 30_000
U64_MAX = (1 << 64) - 1
SESSIONS = [(name, side) for name in session_names() for side in (TO_BROKER, TO_CLIENT)]


def items_of(name: str, side: bytes) -> list[Item]:
    return FrameDecoder(LIMIT).feed(stream(name, side))


def sent_entries(name: str) -> list[bytes]:
    runs = [item for item in items_of(name, TO_BROKER) if isinstance(item, SendRun)]
    return [run.entry(index) for run in runs for index in range(len(run))]


def delivered(name: str) -> list[MessageFrame]:
    return [item for item in items_of(name, TO_CLIENT) if isinstance(item, MessageFrame)]


def payloads(entry: bytes) -> list[bytes]:
    metadata, payload, _ = parse_entry(entry)
    payload = batch.plain_payload(metadata, payload)
    if not batch.is_batch(metadata):
        return [payload]
    return [message.payload for message in batch.split_batch(payload, metadata.num_messages_in_batch)]


def test_a_session_is_read_to_its_last_byte() -> None:
    for name, side in SESSIONS:
        decoder = FrameDecoder(LIMIT)
        items = decoder.feed(stream(name, side))
        assert decoder.buffered == 0, name
        assert by_producer(rows(items)) == by_producer(decode(stream(name, side), LIMIT).rows), name


def test_a_session_in_small_pieces_is_read_the_same() -> None:
    for name, side in SESSIONS:
        data = stream(name, side)
        expected = by_producer(rows(FrameDecoder(LIMIT).feed(data)))
        for size in (1, 7, 100, 1000) if name != "chunked" else ():
            decoder = FrameDecoder(LIMIT)
            items = [item for at in range(0, len(data), size) for item in decoder.feed(data[at : at + size])]
            assert by_producer(rows(items)) == expected, (name, size)


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_every_codec_contain_the_sent_messages(codec: str) -> None:
    (entry,) = sent_entries(f"batched_{codec}")
    assert CompressionType.Name(parse_entry(entry).metadata.compression).lower() == codec
    assert payloads(entry) == TEXTS


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_single_messages_of_every_codec_contain_the_sent_payload(codec: str) -> None:
    assert [body for entry in sent_entries(f"unbatched_{codec}") for body in payloads(entry)] == TEXTS


@pytest.mark.parametrize("name", ["java_batched", "java_unbatched", "go_batched", "go_unbatched"])
def test_messages_of_other_clients_are_read(name: str) -> None:
    bodies = {body for entry in sent_entries(name) for body in payloads(entry)}
    expected = [b"one", b"two", b"three"] if name.startswith("java") else [b"go message %d" % n for n in range(10)]
    assert bodies == set(expected)


def test_properties_and_keys_of_a_batch_are_found_in_it() -> None:
    (entry,) = sent_entries("batched_zstd")
    metadata, payload, _ = parse_entry(entry)
    message = batch.split_batch(batch.plain_payload(metadata, payload), metadata.num_messages_in_batch)[4]
    assert message.metadata.partition_key == "key-1"
    assert {pair.key: pair.value for pair in message.metadata.properties} == {"station": "Zürich", "n": "4"}
    assert message.metadata.event_time == 1_700_000_000_004


def test_an_encrypted_batch_is_neither_decrypted_nor_split() -> None:
    (entry,) = sent_entries("encrypted")
    metadata, payload, _ = parse_entry(entry)
    assert batch.is_encrypted(metadata)
    assert metadata.num_messages_in_batch == len(TEXTS)
    assert batch.plain_payload(metadata, payload) is payload


def test_the_chunks_of_a_message_arrive_one_by_one() -> None:
    chunks = [item for item in items_of("chunked", TO_BROKER) if isinstance(item, SingleSend)]
    assert all(chunk.send.is_chunk and chunk.checksum_ok for chunk in chunks)
    assert b"".join(parse_entry(chunk.headers_and_payload).payload for chunk in chunks) == CHUNKED


def test_redeliveries_are_counted() -> None:
    counts = [message.message.redelivery_count for message in delivered("redelivered")]
    assert counts == [0] * len(TEXTS) + [1] * len(TEXTS)


def test_our_metadata_and_checksum_equal_the_clients() -> None:
    for entry in (entry for name in session_names() for entry in sent_entries(name)):
        metadata, payload, _ = parse_entry(entry)
        assert MessageMetadata.FromString(metadata.SerializeToString()) == metadata
        assert parse_entry(build_entry(metadata, payload)).payload == payload


def test_our_messages_equal_those_of_a_real_broker() -> None:
    """Compares fields, since a real broker writes some defaults that we omit."""
    for frame in (frame for name in session_names() for frame in delivered(name)):
        sent_id = frame.message.message_id
        encoded = MessageEncoder(frame.message.consumer_id, sent_id.partition).encode(
            sent_id.ledgerId,
            sent_id.entryId,
            frame.entry,
            [0],
            [len(frame.entry)],
            [frame.message.redelivery_count],
        )
        (ours,) = FrameDecoder(LIMIT).feed(encoded)
        assert isinstance(ours, MessageFrame)
        assert ours.entry == frame.entry
        assert (ours.message.consumer_id, ours.message.redelivery_count) == (
            frame.message.consumer_id,
            frame.message.redelivery_count,
        )
        assert ours.message.message_id.partition == sent_id.partition


def test_our_receipts_equal_those_of_a_real_broker() -> None:
    for name in session_names():
        if name not in ("chunked", "partitioned"):
            compare_receipts(name)


def compare_receipts(name: str) -> None:
    theirs = receipts(FrameDecoder(LIMIT).feed(stream(name, TO_CLIENT)))
    runs = [item for item in items_of(name, TO_BROKER) if isinstance(item, SendRun)]
    ours: list[CommandSendReceipt] = []
    for run in runs:
        for row in range(len(run)):
            ledger = theirs[len(ours)].message_id
            encoded = ReceiptEncoder(-1).receipts(run.slice(row, row + 1), ledger.ledgerId, ledger.entryId)
            ours += receipts(FrameDecoder(LIMIT).feed(encoded))
    # None of these SENDs has a highest sequence ID; the real broker then sends either 0 or -1.
    assert {one.highest_sequence_id for one in theirs} <= {0, U64_MAX}
    assert [one.sequence_id for one in ours] == [one.sequence_id for one in theirs]
    assert not any(one.HasField("highest_sequence_id") for one in ours)


def receipts(items: list[Item]) -> list[CommandSendReceipt]:
    found = [item for item in items if isinstance(item, Command)]
    return [command.message for command in found if command.type == BaseCommand.SEND_RECEIPT]
