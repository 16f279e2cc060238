"""Publishes a single entry of the broker's own making, without a producer, so deduplication does not compare it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from broker_core.wire.message import build_entry
from broker_core.wire.unnumbered import mark_unnumbered

if TYPE_CHECKING:
    from broker_core.storage.errors import StorageError
    from broker_core.storage.records.position import Position
    from broker_core.topic.topic import Topic
    from broker_core.wire.pulsar_api_pb2 import MessageMetadata


class OneEntry(NamedTuple):
    """A run of a single entry, as a topic takes it."""

    data: bytes
    starts: list[int]
    ends: list[int]
    counts: list[int]
    publish_times: list[int]
    delivery_times: tuple[int, ...] = ()

    @classmethod
    def of(cls, metadata: MessageMetadata, payload: bytes) -> OneEntry:
        """The payload must already be compressed as the metadata says."""
        mark_unnumbered(metadata)
        data = build_entry(metadata, payload)
        delivery = (metadata.deliver_at_time,) if metadata.HasField("deliver_at_time") else ()
        return cls(data, [0], [len(data)], [1], [metadata.publish_time], delivery)


def publish_one(topic: Topic, run: OneEntry) -> asyncio.Future[Position]:
    """Appends the entry now; the result is its position once it is on disk. Raises a `BrokerError` if it is refused."""
    written: asyncio.Future[Position] = asyncio.get_running_loop().create_future()

    def done(first: Position | None, error: StorageError | None) -> None:
        if written.done():
            return
        if first is None:
            written.set_exception(topic.write_failed(error))
        else:
            written.set_result(first)

    topic.publish(run, done)
    topic.last_published = topic.clock.monotonic()
    return written
