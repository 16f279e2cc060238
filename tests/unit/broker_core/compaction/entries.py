"""Entries and blocks for the tests of compaction."""

from broker_core.storage.records.block import Block
from broker_core.wire.batch import BatchMessage, build_batch
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata, SingleMessageMetadata

Message = tuple[str | None, bytes]


def metadata(**fields: object) -> MessageMetadata:
    return MessageMetadata(producer_name="p", sequence_id=0, publish_time=1, **fields)  # type: ignore[arg-type]  # by name


def single(key: str | None, value: bytes) -> bytes:
    return build_entry(metadata() if key is None else metadata(partition_key=key), value)


def batch(messages: list[Message]) -> bytes:
    slots = [BatchMessage(SingleMessageMetadata(partition_key=key), value) for key, value in messages]
    return build_batch(metadata(compression=CompressionType.LZ4), slots)


def block(entries: list[bytes], *, ledger_id: int = 7, first: int = 0, counts: list[int] | None = None) -> Block:
    data, starts, ends = b"".join(entries), [], []
    at = 0
    for entry in entries:
        starts.append(at)
        at += len(entry)
        ends.append(at)
    ones = [1] * len(entries)
    return Block(ledger_id, first, data, starts, ends, counts or ones, ones)
