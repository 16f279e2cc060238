"""PRODUCER, SEND, and CLOSE_PRODUCER for a `RawClient`, with IDs and sequence IDs that the test chooses."""

from typing import Any

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.batch import BatchMessage, join_batch
from broker_core.wire.commands import frame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient

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
        **{"producer_name": name, "sequence_id": sequence_id, "publish_time": PUBLISH_TIME, **(metadata or {})}
    )
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=producer_id, sequence_id=sequence_id, **fields))
    return frame(command, build_entry(described, payload))


def send_batch(lowest: int, highest: int, *, name: str = "p") -> bytes:
    """The frame of a batch with the sequence IDs `lowest` to `highest`; its payload is not a valid batch."""
    count = highest - lowest + 1
    described = {"highest_sequence_id": highest, "num_messages_in_batch": count}
    return send(lowest, b"batch", name=name, metadata=described, highest_sequence_id=highest, num_messages=count)


def send_chunk(
    sequence_id: int, chunk: int, chunks: int, *, name: str = "p", payload: bytes = b"c", **metadata: str
) -> bytes:
    described = {
        "uuid": f"{name}-{sequence_id}",
        "chunk_id": chunk,
        "num_chunks_from_msg": chunks,
        "total_chunk_msg_size": chunks,
        **metadata,
    }
    return send(sequence_id, payload, name=name, metadata=described, is_chunk=True)


def close_producer(producer_id: int = 1, request_id: int = 9) -> bytes:
    command = BaseCommand(type=BaseCommand.CLOSE_PRODUCER)
    command.close_producer.producer_id, command.close_producer.request_id = producer_id, request_id
    return frame(command)


def publish(client: RawClient, count: int, first: int = 0) -> list[pb.MessageIdData]:
    """Publishes messages with consecutive sequence IDs through producer 1; returns their IDs."""
    return [_published(client, send(sequence_id)) for sequence_id in range(first, first + count)]


def publish_keys(client: RawClient, *keys: str) -> None:
    """Publishes one message for each key through producer 1; its payload is the key."""
    for key in keys:
        _published(client, send(1, key.encode(), metadata={"partition_key": key}))


def publish_batches(service_url: str, topic: str, *sizes: int) -> list[pb.MessageIdData]:
    """Publishes batches of these sizes at 1000, 1001, ...; 0 is a message without a batch. Returns their IDs."""
    with RawClient(service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        return [_published(client, _send_messages(sequence_id, size)) for sequence_id, size in enumerate(sizes)]


def _published(client: RawClient, sent: bytes) -> pb.MessageIdData:
    client.send(sent)
    message_id: pb.MessageIdData = client.expect(BaseCommand.SEND_RECEIPT).message_id
    return message_id


def _send_messages(sequence_id: int, size: int) -> bytes:
    published = {"publish_time": 1000 + sequence_id}
    if not size:
        return send(sequence_id, b"single", metadata=published)
    payload = join_batch([BatchMessage(pb.SingleMessageMetadata(), b"%d" % index) for index in range(size)])
    return send(sequence_id, payload, metadata={**published, "num_messages_in_batch": size}, num_messages=size)
