"""A reference decoder: slow, protobuf only, one frame at a time.

`decode` turns a stream into comparable rows; `rows` does the same for the items of `FrameDecoder`.
"""

import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

from crc32c import crc32c
from google.protobuf.message import DecodeError

from broker_core.wire.frame import Command, Item, MessageFrame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSend, MessageMetadata
from broker_core.wire.send import SendRun, SingleSend

Row = tuple[Any, ...]


class Decoded(NamedTuple):
    """Rows of the complete frames, whether the stream is then invalid, and bytes of the unfinished frame."""

    rows: list[Row]
    broken: bool
    left: int


def decode(stream: bytes, frame_size_max: int) -> Decoded:
    found: list[Row] = []
    position = 0
    while len(stream) - position >= 4:
        (size,) = struct.unpack_from(">I", stream, position)
        if not 4 <= size <= frame_size_max:
            return Decoded(found, True, 0)
        if len(stream) - position < 8:
            break
        (command_size,) = struct.unpack_from(">I", stream, position + 4)
        if command_size > size - 4:
            return Decoded(found, True, 0)
        body = stream[position + 4 : position + 4 + size]
        if len(body) < size:
            break
        row = _frame_row(body[4 : 4 + command_size], body[4 + command_size :])
        if row is None:
            return Decoded(found, True, 0)
        found.append(row)
        position += 4 + size
    return Decoded(found, False, len(stream) - position)


def rows(items: Iterable[Item]) -> list[Row]:
    """Runs of different producers may be interleaved in the stream: compare with `by_producer`."""
    found: list[Row] = []
    for item in items:
        if isinstance(item, SendRun):
            for index in range(len(item)):
                found.append(
                    (
                        "send",
                        item.producer_id,
                        item.sequence_ids[index],
                        item.highest_sequence_ids[index],
                        item.counts[index],
                        item.publish_times[index],
                        item.entry(index),
                    )
                )
        elif isinstance(item, SingleSend):
            found.append(_single_row(item.send, item.headers_and_payload, item.checksum_ok))
        elif isinstance(item, MessageFrame):
            found.append(("message", item.message.SerializeToString(), item.entry))
        else:
            assert isinstance(item, Command)
            found.append(("command", item.type, item.message.SerializeToString()))
    return found


def by_producer(found: list[Row]) -> list[Row]:
    """Sorts each sequence of plain sends by producer, since only the order per producer counts."""
    ordered: list[Row] = []
    stretch: list[Row] = []
    for row in found:
        if row[0] == "send":
            stretch.append(row)
            continue
        ordered += sorted(stretch, key=_producer_id)
        ordered.append(row)
        stretch = []
    return ordered + sorted(stretch, key=_producer_id)


def _producer_id(row: Row) -> int:
    return int(row[1])


def _frame_row(encoded: bytes, entry: bytes) -> Row | None:
    try:
        command = BaseCommand.FromString(encoded)
    except DecodeError:
        return None
    name = BaseCommand.DESCRIPTOR.fields_by_number[command.type].name
    if not command.IsInitialized() or not command.HasField(name):  # type: ignore[arg-type] # any field's name
        return None
    if command.type == BaseCommand.SEND:
        return _send_row(command.send, entry)
    if command.type == BaseCommand.MESSAGE:
        return ("message", command.message.SerializeToString(), entry)
    return ("command", command.type, getattr(command, name).SerializeToString())


def _send_row(send: CommandSend, entry: bytes) -> Row:
    special = (
        send.txnid_least_bits or send.txnid_most_bits or send.is_chunk or send.marker or send.HasField("message_id")
    )
    with_checksum = entry.startswith(b"\x0e\x01") and len(entry) >= 10
    checksum_ok = not with_checksum or crc32c(entry[6:]) == struct.unpack_from(">I", entry, 2)[0]
    metadata = _metadata(entry[6:]) if with_checksum else None
    too_large = max(send.sequence_id, send.highest_sequence_id) >= 1 << 63
    unordered = 0 < send.highest_sequence_id < send.sequence_id
    if special or too_large or unordered or send.num_messages < 1 or not checksum_ok or metadata is None:
        return _single_row(send, entry, checksum_ok)
    if metadata.HasField("deliver_at_time"):
        return _single_row(send, entry, checksum_ok)
    highest = send.highest_sequence_id or send.sequence_id
    ids = (send.producer_id, send.sequence_id, highest, send.num_messages)
    return ("send", *ids, min(metadata.publish_time, (1 << 63) - 1), entry)


def _single_row(send: CommandSend, entry: bytes, checksum_ok: bool) -> Row:
    return ("single", send.SerializeToString(), entry, checksum_ok)


def _metadata(sized: bytes) -> MessageMetadata | None:
    (size,) = struct.unpack_from(">I", sized)
    if size > len(sized) - 4:
        return None
    try:
        metadata = MessageMetadata.FromString(sized[4 : 4 + size])
    except DecodeError:
        return None
    return metadata if metadata.IsInitialized() else None
