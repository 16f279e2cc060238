"""PRODUCER, SEND, and CLOSE_PRODUCER for a `RawClient`, with IDs and sequence IDs that the test chooses."""

from typing import Any

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand

PUBLISH_TIME = 1_700_000_000_000


def producer(topic: str, producer_id: int = 1, request_id: int = 1, **fields: Any) -> BaseCommand:
    """A PRODUCER; `fields` are CommandProducer's."""
    command = BaseCommand(type=BaseCommand.PRODUCER)
    command.producer.CopyFrom(pb.CommandProducer(topic=topic, producer_id=producer_id, request_id=request_id, **fields))
    return command


def send(
    sequence_id: int,
    payload: bytes = b"x",
    *,
    producer_id: int = 1,
    name: str = "p",
    metadata: dict[str, Any] | None = None,
    **fields: Any,
) -> bytes:
    """The frame of a SEND; `metadata` are fields of MessageMetadata, the others CommandSend's."""
    described = pb.MessageMetadata(
        producer_name=name, sequence_id=sequence_id, publish_time=PUBLISH_TIME, **(metadata or {})
    )
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=producer_id, sequence_id=sequence_id, **fields))
    return frame(command, build_entry(described, payload))


def send_batch(lowest: int, highest: int, *, name: str = "p") -> bytes:
    """The frame of a batch with the sequence IDs `lowest` to `highest`; its payload is not a valid batch."""
    count = highest - lowest + 1
    described = {"highest_sequence_id": highest, "num_messages_in_batch": count}
    return send(lowest, b"batch", name=name, metadata=described, highest_sequence_id=highest, num_messages=count)


def send_chunk(sequence_id: int, chunk: int, chunks: int, *, name: str = "p", payload: bytes = b"c") -> bytes:
    described = {
        "uuid": f"{name}-{sequence_id}",
        "chunk_id": chunk,
        "num_chunks_from_msg": chunks,
        "total_chunk_msg_size": chunks,
    }
    return send(sequence_id, payload, name=name, metadata=described, is_chunk=True)


def close_producer(producer_id: int = 1, request_id: int = 9) -> bytes:
    command = BaseCommand(type=BaseCommand.CLOSE_PRODUCER)
    command.close_producer.producer_id, command.close_producer.request_id = producer_id, request_id
    return frame(command)
