"""SEND frames as clients write them, for tests and benches."""

import struct
from typing import Any

from broker_core.wire.commands import frame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageMetadata

NOW_MS = 1_700_000_000_000


def entry(
    payload: bytes,
    *,
    sequence_id: int = 0,
    publish_time: int = NOW_MS,
    producer_name: str = "standalone-0-1",
    **more: Any,
) -> bytes:
    """`more`: further fields of MessageMetadata."""
    metadata = MessageMetadata(producer_name=producer_name, sequence_id=sequence_id, publish_time=publish_time, **more)
    return build_entry(metadata, payload)


def send_frame(producer_id: int, sequence_id: int, entry_bytes: bytes, **more: Any) -> bytes:
    """`more`: further fields of CommandSend."""
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.producer_id = producer_id
    command.send.sequence_id = sequence_id
    for name, value in more.items():
        setattr(command.send, name, value)
    return frame(command, entry_bytes)


def send(producer_id: int, sequence_id: int, payload: bytes = b"hello", publish_time: int = NOW_MS) -> bytes:
    """A plain unbatched SEND; each producer has its own name."""
    name = f"standalone-0-{producer_id}"
    return send_frame(
        producer_id,
        sequence_id,
        entry(payload, sequence_id=sequence_id, publish_time=publish_time, producer_name=name),
    )


def with_broken_checksum(frame_bytes: bytes) -> bytes:
    """The frame with its last byte changed."""
    return frame_bytes[:-1] + bytes((frame_bytes[-1] ^ 1,))


def size_prefix(size: int) -> bytes:
    return struct.pack(">I", size)
