"""The decoder accepts exactly the metadata that protobuf can parse, wherever a frame is read."""

import struct

import pytest

from broker_core.wire.frame import FrameDecoder
from broker_core.wire.message import add_checksum, messages_in_batch
from broker_core.wire.send import SendRun, SingleSend
from tests.support.malformed_metadata import first_fields, parsed, tails
from tests.support.send_frames import send_frame

LIMIT = 1 << 20


def entry_of(metadata: bytes) -> bytes:
    return add_checksum(struct.pack(">I", len(metadata)) + metadata + b"payload")


def frame_of(sequence_id: int, tail: bytes) -> bytes:
    return send_frame(1, sequence_id, entry_of(first_fields(sequence_id) + tail))


@pytest.mark.parametrize("foreseen", [False, True])
def test_a_run_holds_only_metadata_that_every_reader_can_parse(foreseen: bool) -> None:
    wrong = []
    for name, tail in tails():
        decoder = FrameDecoder(LIMIT)
        if foreseen:
            decoder.feed(frame_of(1, b"") + frame_of(2, b""))
        (item,) = decoder.feed(frame_of(3, tail))
        expected = parsed(first_fields(3) + tail)
        plain = expected is not None and not expected.HasField("deliver_at_time")
        if isinstance(item, SendRun) != plain:
            wrong.append(name)
        if isinstance(item, SingleSend) and (item.metadata is None) != (expected is None):
            wrong.append(f"{name}, alone")
    assert wrong == []


def test_a_valid_tail_does_not_vouch_for_the_next_one() -> None:
    key = b"\x32\x03key"
    items = FrameDecoder(LIMIT).feed(frame_of(1, key) + frame_of(2, key) + frame_of(3, key[:-1]) + frame_of(4, key))
    assert [len(item) if isinstance(item, SendRun) else "alone" for item in items] == [2, "alone", 1]


def test_the_size_of_a_batch_can_be_read_from_any_stored_entry() -> None:
    sizes = {name: messages_in_batch(entry_of(first_fields(1) + tail)) for name, tail in tails()}
    assert (sizes["num_messages_in_batch: varint"], sizes["partition_key: text"]) == (5, 0)
    assert sizes["num_messages_in_batch: varint without its end"] == 0
    assert min(sizes.values()) == 0
