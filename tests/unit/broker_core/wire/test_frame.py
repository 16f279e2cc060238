import struct
from collections.abc import Sequence

import pytest

from broker_core.wire import commands
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, FrameDecoder, Item, MessageFrame
from broker_core.wire.message import add_checksum
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageIdData
from broker_core.wire.send import SendRun, SingleSend
from tests.support.send_frames import NOW_MS, entry, send, send_frame, with_broken_checksum
from tests.unit.broker_core.wire.protobuf_decoder import by_producer, decode, rows

LIMIT = 5 * 1024 * 1024 + 10 * 1024
PING = bytes.fromhex("00000009000000050812920100")
GOLDEN_SEND = bytes.fromhex("000000200000000808063204080010010e01f9c299ee000000080a0170100118e8076869")


def decoded(data: bytes, limit: int = LIMIT) -> list[Item]:
    return FrameDecoder(limit).feed(data)


def only_run(data: bytes) -> SendRun:
    (run,) = decoded(data)
    assert isinstance(run, SendRun)
    return run


def only_single(data: bytes) -> SingleSend:
    (single,) = decoded(data)
    assert isinstance(single, SingleSend)
    return single


def kinds(items: Sequence[Item]) -> list[str]:
    return [type(item).__name__ for item in items]


def test_the_golden_ping_is_a_ping() -> None:
    (ping,) = decoded(PING)
    assert isinstance(ping, Command)
    assert ping.type == BaseCommand.PING


def test_the_golden_send_is_a_run_of_one() -> None:
    run = only_run(GOLDEN_SEND)
    assert (run.producer_id, run.sequence_ids, run.counts, run.publish_times) == (0, [1], [1], [1000])
    assert run.keys == [b"\x08\x00\x10\x01"]
    assert run.entry(0) == GOLDEN_SEND[16:]


def test_sends_of_one_producer_are_one_run_over_the_bytes_as_received() -> None:
    data = b"".join(send(7, number, b"x" * number) for number in range(300))
    run = only_run(data)
    assert run.data is data
    assert run.sequence_ids == list(range(300))
    assert run.counts == [1] * 300
    assert run.publish_times == [NOW_MS] * 300


def test_a_publish_time_is_read_per_message() -> None:
    times = [NOW_MS, NOW_MS, NOW_MS + 1, NOW_MS + 200, NOW_MS - 5, 0, 1, (1 << 63) - 1, NOW_MS]
    run = only_run(b"".join(send(1, number, publish_time=time) for number, time in enumerate(times)))
    assert run.publish_times == times


def test_a_publish_time_over_63_bits_counts_as_the_largest() -> None:
    assert only_run(send(1, 1, publish_time=(1 << 64) - 1)).publish_times == [(1 << 63) - 1]


@pytest.mark.parametrize("first", [0, 120, 16_380, 2_097_150, (1 << 35) - 5, (1 << 63) - 10])
def test_sequence_ids_are_correct_where_their_varint_grows(first: int) -> None:
    ids = list(range(first, first + 10))
    assert only_run(b"".join(send(3, number) for number in ids)).sequence_ids == ids


def test_a_sequence_id_over_63_bits_is_not_part_of_a_run() -> None:
    first, *rest = decoded(b"".join(send(3, number) for number in range((1 << 63) - 2, (1 << 63) + 2)))
    assert isinstance(first, SendRun)
    assert first.sequence_ids == [(1 << 63) - 2, (1 << 63) - 1]
    assert [type(item).__name__ for item in rest] == ["SingleSend", "SingleSend"]


def test_interleaved_producers_get_a_run_each() -> None:
    data = b"".join(send(number % 3, number // 3) for number in range(30))
    runs = decoded(data)
    assert [(run.producer_id, run.sequence_ids) for run in runs if isinstance(run, SendRun)] == [
        (0, list(range(10))),
        (1, list(range(10))),
        (2, list(range(10))),
    ]


def test_producers_with_ids_and_names_of_any_size_are_separate() -> None:
    ids = [0, 127, 128, 300, 70_000, 1 << 40]
    data = b"".join(send(ids[number % 6], number // 6) for number in range(60))
    assert by_producer(rows(decoded(data))) == by_producer(decode(data, LIMIT).rows)


def test_more_producers_than_cached_layouts_get_their_runs() -> None:
    decoder = FrameDecoder(LIMIT)
    for round_number in range(3):
        items = decoder.feed(b"".join(send(number, round_number) for number in range(1500)))
        assert len(items) == 1500


def test_another_command_ends_the_runs() -> None:
    items = decoded(send(1, 1) + send(1, 2) + PING + send(1, 3))
    assert kinds(items) == ["SendRun", "Command", "SendRun"]


def test_a_batch_counts_its_messages_and_may_be_among_single_ones() -> None:
    batch = send_frame(1, 5, entry(b"batch", sequence_id=5), num_messages=20, highest_sequence_id=24)
    run = only_run(send(1, 3) + send(1, 4) + batch + send(1, 25))
    assert run.counts == [1, 1, 20, 1]
    assert run.sequence_ids == [3, 4, 5, 25]
    assert run.highest_sequence_ids == [3, 4, 24, 25]
    assert run.last_sequence_id == 25
    assert run.messages == 23


def test_a_slice_of_a_run_is_a_run_on_the_same_bytes() -> None:
    run = only_run(b"".join(send(1, number) for number in range(10)))
    part = run.slice(3, 6)
    assert part.data is run.data
    assert part.sequence_ids == [3, 4, 5]
    assert len(part) == 3
    assert part.size == sum(len(part.entry(index)) for index in range(3))


def test_default_fields_leave_a_send_plain() -> None:
    frame = send_frame(1, 2, entry(b""), txnid_least_bits=0, txnid_most_bits=0, is_chunk=False, marker=False)
    assert only_run(frame).keys == [b"\x08\x01\x10\x02"]


def test_encryption_leaves_a_send_plain() -> None:
    encrypted = entry(b"secret", encryption_keys=[{"key": "k", "value": b"v"}], encryption_algo="AES")
    assert len(only_run(send_frame(1, 2, encrypted))) == 1


def test_metadata_in_an_unusual_order_is_read_by_protobuf() -> None:
    metadata = b"\x10\x05\x18\x07\x0a\x01p"
    assert only_run(send_frame(1, 5, raw_entry(metadata))).publish_times == [7]


def raw_entry(metadata: bytes, payload: bytes = b"") -> bytes:

    return add_checksum(struct.pack(">I", len(metadata)) + metadata + payload)


@pytest.mark.parametrize(
    "field",
    [{"txnid_least_bits": 1}, {"txnid_most_bits": 1}, {"is_chunk": True}, {"marker": True}, {"num_messages": 0}],
    ids=str,
)
def test_a_send_with_special_fields_is_returned_alone(field: dict[str, int]) -> None:
    single = only_single(send_frame(1, 5, entry(b"x"), **field))
    assert single.checksum_ok
    assert single.metadata is not None
    assert single.send.sequence_id == 5


def test_a_highest_sequence_id_below_the_first_is_returned_alone() -> None:
    assert only_single(send_frame(1, 5, entry(b"x"), highest_sequence_id=4)).send.highest_sequence_id == 4


def test_a_wrong_checksum_is_returned_alone_and_splits_the_run() -> None:
    items = decoded(send(1, 1) + with_broken_checksum(send(1, 2)) + send(1, 3))
    assert kinds(items) == ["SendRun", "SingleSend", "SendRun"]
    assert isinstance(items[1], SingleSend)
    assert not items[1].checksum_ok
    assert items[1].metadata is not None


def test_an_entry_without_magic_is_returned_alone_and_is_not_an_error() -> None:
    single = only_single(send_frame(1, 1, entry(b"old client")[6:]))
    assert single.checksum_ok
    assert single.metadata is not None


@pytest.mark.parametrize("damaged", [b"", b"\x0e\x01", entry(b"")[:9], raw_entry(b"\xff\xff")], ids=bytes.hex)
def test_an_entry_without_readable_metadata_is_returned_alone(damaged: bytes) -> None:
    assert only_single(send_frame(1, 1, damaged)).metadata is None


def test_a_metadata_size_beyond_the_frame_is_returned_alone() -> None:
    sized = struct.pack(">I", 1000) + b"\x0a\x01p"

    data = send(1, 1) + send_frame(1, 2, add_checksum(sized))
    assert kinds(decoded(data)) == ["SendRun", "SingleSend"]


def test_a_message_keeps_its_entry_unchanged() -> None:
    command = BaseCommand(type=BaseCommand.MESSAGE)
    command.message.consumer_id = 4
    command.message.message_id.CopyFrom(MessageIdData(ledgerId=1, entryId=2))
    (message,) = decoded(commands.frame(command, entry(b"x")))
    assert isinstance(message, MessageFrame)
    assert (message.message.consumer_id, message.entry) == (4, entry(b"x"))


STREAM = PING + send(1, 126) + send(1, 127) + send(2, 0) + send(1, 128) + PING + with_broken_checksum(send(1, 129))


def test_every_split_in_two_gives_the_same() -> None:
    whole = by_producer(decode(STREAM, LIMIT).rows)
    for cut in range(len(STREAM) + 1):
        decoder = FrameDecoder(LIMIT)
        items = decoder.feed(STREAM[:cut]) + decoder.feed(STREAM[cut:])
        assert (by_producer(rows(items)), decoder.buffered) == (whole, 0), cut


def test_one_byte_at_a_time_gives_the_same() -> None:
    decoder = FrameDecoder(LIMIT)
    items = [item for byte in STREAM for item in decoder.feed(bytes((byte,)))]
    assert rows(items) == decode(STREAM, LIMIT).rows


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_what_is_above_the_limit_of_items_waits_for_the_next_call(most: int) -> None:
    decoder = FrameDecoder(LIMIT, items_max=most)
    calls = [decoder.feed(STREAM + PING[:5])]
    while decoder.more:
        calls.append(decoder.feed(b""))
    assert by_producer(rows([item for items in calls for item in items])) == by_producer(decode(STREAM, LIMIT).rows)
    assert len(calls) > 1 or most == 100
    assert decoder.buffered == 5


@pytest.mark.parametrize("waiting", [0, 1])
def test_a_broken_size_is_found_after_what_waits(waiting: int) -> None:
    decoder = FrameDecoder(LIMIT, items_max=2)
    assert len(decoder.feed(PING * (2 + waiting) + b"\xff" * 4)) == 2
    with pytest.raises(ProtocolError) as caught:
        decoder.feed(b"")
    assert (len(caught.value.items), decoder.more) == (waiting, False)


def test_a_large_message_in_small_chunks_is_assembled_once() -> None:
    data = send(1, 1, bytes(5_000_000))
    decoder = FrameDecoder(LIMIT)
    size = 65_536
    items = [item for start in range(0, len(data), size) for item in decoder.feed(data[start : start + size])]
    (run,) = items
    assert isinstance(run, SendRun)
    assert run.entry(0) == data[-len(run.entry(0)) :]


def test_a_frame_at_the_limit_is_accepted_and_one_above_is_refused() -> None:
    frame = send(1, 1, bytes(1000))
    assert kinds(decoded(frame, limit=len(frame) - 4)) == ["SendRun"]
    with pytest.raises(ProtocolError, match="frame of"):
        decoded(frame, limit=len(frame) - 5)


def test_an_announced_frame_above_the_limit_is_refused() -> None:
    small, large = send(1, 1000, b"x"), send(1, 1001, bytes(1000))
    with pytest.raises(ProtocolError, match="frame of"):
        decoded(small + small + large, limit=500)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack(">I", 3), "frame of 3 bytes"),
        (struct.pack(">I", LIMIT + 1), "frame of"),
        (struct.pack(">II", 8, 5), "command of 5 bytes in a frame of 8"),
        (struct.pack(">II", 6, 2) + b"\xff\xff", "not a command"),
        (struct.pack(">II", 4, 0), "required field"),
        (struct.pack(">II", 6, 2) + b"\x08\x12", "without its body"),
        (struct.pack(">II", 8, 4) + b"\x08\x06\x32\x00", "required field"),
    ],
)
def test_bytes_that_are_not_a_frame_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        decoded(data)


def test_a_wrong_size_is_refused_before_the_frame_is_complete() -> None:
    decoder = FrameDecoder(LIMIT)
    assert decoder.feed(b"\x7f") == []
    with pytest.raises(ProtocolError):
        decoder.feed(b"\xff\xff\xff")


def test_an_error_carries_the_items_before_it() -> None:
    with pytest.raises(ProtocolError) as caught:
        decoded(send(1, 1) + PING + struct.pack(">I", 3))
    assert [type(item).__name__ for item in caught.value.items] == ["SendRun", "Command"]
    run = caught.value.items[0]
    assert isinstance(run, SendRun)
    assert run.counts == [1]


def test_after_an_error_nothing_more_is_read() -> None:
    decoder = FrameDecoder(LIMIT)
    with pytest.raises(ProtocolError):
        decoder.feed(struct.pack(">I", 3))
    with pytest.raises(ProtocolError):
        decoder.feed(PING)
