"""Receipts and messages match protobuf byte for byte."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.wire import commands
from broker_core.wire.encode import MessageEncoder, ReceiptEncoder
from broker_core.wire.frame import Command, FrameDecoder, MessageFrame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from broker_core.wire.send import SendRun, receipt_key
from tests.support.send_frames import entry, send, send_frame

LIMIT = 1 << 20
ENTRY_IDS = st.one_of(
    st.integers(0, 300), st.integers(16_300, 16_500), st.integers(2_097_000, 2_097_300), st.integers(0, 1 << 60)
)
LEDGER_IDS = st.integers(0, 1 << 60)
PARTITIONS = st.sampled_from([-1, 0, 1, 127, 128, 9999])


def run_of(sequence_ids: list[int], producer_id: int = 5) -> SendRun:
    (run,) = FrameDecoder(LIMIT).feed(b"".join(send(producer_id, number) for number in sequence_ids))
    assert isinstance(run, SendRun)
    return run


def message_by_protobuf(
    consumer_id: int, ledger_id: int, entry_id: int, partition: int, entry_bytes: bytes, count: int = 0
) -> bytes:
    command = BaseCommand(type=BaseCommand.MESSAGE)
    command.message.consumer_id = consumer_id
    command.message.message_id.CopyFrom(commands.message_id(ledger_id, entry_id, partition))
    if count:
        command.message.redelivery_count = count
    return commands.frame(command, entry_bytes)


@given(
    st.lists(st.one_of(st.integers(0, 300), st.integers(0, (1 << 63) - 1)), min_size=1, max_size=20),
    st.integers(0, (1 << 64) - 1),
    LEDGER_IDS,
    ENTRY_IDS,
    PARTITIONS,
)
def test_receipts_match_protobuf(
    sequence_ids: list[int], producer_id: int, ledger_id: int, first: int, partition: int
) -> None:
    receipts = ReceiptEncoder(partition).receipts(run_of(sequence_ids, producer_id), ledger_id, first)
    assert receipts == b"".join(
        commands.send_receipt(producer_id, sequence_id, ledger_id, first + row, partition=partition)
        for row, sequence_id in enumerate(sequence_ids)
    )


def test_a_long_run_gets_one_receipt_each_in_order() -> None:
    run = run_of(list(range(1000)))
    items = FrameDecoder(LIMIT).feed(ReceiptEncoder(-1).receipts(run, 9, 16_000))
    receipts = [item.message for item in items if isinstance(item, Command)]
    assert [receipt.sequence_id for receipt in receipts] == list(range(1000))
    assert [receipt.message_id.entryId for receipt in receipts] == list(range(16_000, 17_000))


def test_the_receipt_of_a_batch_repeats_the_highest_sequence_id() -> None:
    frames = send(1, 1) + send_frame(1, 2, entry(b"", sequence_id=2), num_messages=9, highest_sequence_id=10)
    (run,) = FrameDecoder(LIMIT).feed(frames)
    assert isinstance(run, SendRun)
    _, receipt = FrameDecoder(LIMIT).feed(ReceiptEncoder(-1).receipts(run, 1, 1))
    assert isinstance(receipt, Command)
    assert receipt.message.sequence_id == 2
    assert receipt.message.highest_sequence_id == 10
    assert receipt.message.message_id.entryId == 2
    assert not receipt.message.message_id.HasField("partition")


@given(
    st.integers(0, (1 << 64) - 1),
    LEDGER_IDS,
    ENTRY_IDS,
    PARTITIONS,
    st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 300)), max_size=20),
    st.booleans(),
)
def test_messages_match_protobuf(
    consumer_id: int,
    ledger_id: int,
    first: int,
    partition: int,
    entries: list[tuple[bytes, int]],
    redelivered: bool,
) -> None:
    data = b"".join(entry_bytes for entry_bytes, _ in entries)
    borders = [0]
    for entry_bytes, _ in entries:
        borders.append(borders[-1] + len(entry_bytes))
    counts = [count if redelivered else 0 for _, count in entries]
    encoder = MessageEncoder(consumer_id, partition)
    for given_counts in (counts, None if not redelivered else counts):
        encoded = encoder.encode(ledger_id, first, data, borders[:-1], borders[1:], given_counts)
        assert encoded == b"".join(
            message_by_protobuf(consumer_id, ledger_id, first + row, partition, data[start:end], counts[row])
            for row, (start, end) in enumerate(pairwise(borders))
        )


def test_an_encoder_serves_one_ledger_after_another() -> None:
    encoder = MessageEncoder(1, -1)
    for ledger_id in (1, 300, 1):
        assert encoder.encode(ledger_id, 5, b"ab", [0], [2]) == message_by_protobuf(1, ledger_id, 5, -1, b"ab")


def test_an_encoder_assumes_nothing_of_the_first_ledger() -> None:
    encoder = MessageEncoder(0, -1)
    assert encoder.encode(-1, 0, b"x", [0], [1]) == encoder.encode_one(-1 & (1 << 64) - 1, 0, b"x")


def test_the_header_cache_is_bounded() -> None:
    data = bytes(10_000)
    encoder = MessageEncoder(1, -1)
    for size in range(10_000):
        encoder.encode(1, 1, data, [0], [size])
    assert len(encoder._headers) < 5000


@pytest.mark.parametrize(("first", "counts"), [(0, None), (127, None), (120, [0, 3, 0] * 4)])
def test_every_message_carries_the_epoch_of_its_consumer(first: int, counts: list[int] | None) -> None:
    encoder = MessageEncoder(3, 2)
    encoder.encode(1, first, b"entry", [0], [5])
    encoder.use_epoch(300)
    rows = 12
    encoded = encoder.encode(1, first, b"entry" * rows, range(0, 60, 5), range(5, 65, 5), counts)
    encoded += encoder.encode(1, first, b"entry", [0], [5])
    frames = [frame for frame in FrameDecoder(LIMIT).feed(encoded) if isinstance(frame, MessageFrame)]
    assert [frame.message.consumer_epoch for frame in frames] == [300] * (rows + 1)
    assert [frame.message.message_id.entryId for frame in frames] == [*range(first, first + rows), first]
    assert all(frame.entry == b"entry" for frame in frames)


@pytest.mark.parametrize("ack_set", [[], [6], [-2], [0, 1]])
def test_a_partly_acknowledged_batch_carries_its_open_messages(ack_set: list[int]) -> None:
    encoder = MessageEncoder(3, 2)
    encoder.use_epoch(7)
    encoded = encoder.encode_one(1, 2, b"entry", redelivery_count=4, ack_set=ack_set)
    (frame,) = FrameDecoder(LIMIT).feed(encoded)
    assert isinstance(frame, MessageFrame)
    assert list(frame.message.ack_set) == ack_set
    assert (frame.message.redelivery_count, frame.message.consumer_epoch) == (4, 7)
    assert frame.entry == b"entry"


def test_one_plain_message_is_encoded_as_in_a_run() -> None:
    encoder = MessageEncoder(3, -1)
    assert encoder.encode_one(1, 2, b"entry") == encoder.encode(1, 2, b"entry", [0], [5])


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_a_key_made_for_a_single_send_gives_the_same_receipt(producer_id: int, sequence_id: int, highest: int) -> None:
    run = SendRun(producer_id, b"", [0], [0], [receipt_key(producer_id, sequence_id, highest)], [1], [0])
    (receipt,) = FrameDecoder(LIMIT).feed(ReceiptEncoder(-1).receipts(run, 1, 2))
    assert isinstance(receipt, Command)
    ids = (receipt.message.producer_id, receipt.message.sequence_id, receipt.message.highest_sequence_id)
    assert ids == (producer_id, sequence_id, highest)
