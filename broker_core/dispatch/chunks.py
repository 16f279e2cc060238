"""Routes of chunks on Shared: the consumer that got the first chunk of a message gets all, as only it can join them.

A route lasts from the first chunk that is sent to the last one (Pulsar does the same since 2.11). Chunks
whose consumer can take nothing now are held for it. When it leaves, any consumer may get them.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from broker_core.wire.batch_and_chunk import batch_and_chunk
from broker_core.wire.message import SIZE

if TYPE_CHECKING:
    from broker_core.dispatch.consumer import Consumer
    from broker_core.dispatch.redelivery import EntryId
    from broker_core.storage.records.block import Block

ROUTES_MAX = 10_000  # incomplete messages; above it the oldest count as abandoned
HELD_MAX = 1000  # chunks held for other consumers before the broker stops reading
METADATA = 10  # offset in an entry, after magic, checksum, and size


class ChunkRoutes:
    def __init__(self) -> None:
        self._routes: OrderedDict[str, Consumer] = OrderedDict()  # by the message's uuid
        self._held: dict[Consumer, list[EntryId]] = {}

    def consumer_of(self, block: Block, index: int, in_turn: Consumer) -> tuple[Consumer, str | None]:
        """The consumer that gets entry `index`: the one in turn, unless the entry is a chunk of another's message.

        For the last chunk of a message, also returns the uuid, to `end` the route when it was sent.
        """
        start = block.starts[index]
        (size,) = SIZE.unpack_from(block.data, start + METADATA - SIZE.size)
        metadata = batch_and_chunk(block.data[start + METADATA : start + METADATA + size])
        if metadata is None or not metadata.num_chunks_from_msg:
            return in_turn, None
        consumer = self._routes.get(metadata.uuid)
        if consumer is None:
            consumer = self._routes[metadata.uuid] = in_turn
            if len(self._routes) > ROUTES_MAX:
                self._routes.popitem(last=False)
        return consumer, metadata.uuid if metadata.chunk_id == metadata.num_chunks_from_msg - 1 else None

    def end(self, uuid: str) -> None:
        self._routes.pop(uuid, None)

    def hold(self, consumer: Consumer, entry: EntryId) -> None:
        self._held.setdefault(consumer, []).append(entry)

    @property
    def waiting(self) -> int:
        """Chunks that are held."""
        return sum(map(len, self._held.values())) if self._held else 0

    @property
    def waited_for(self) -> list[Consumer]:
        return list(self._held)

    def release(self, consumer: Consumer) -> list[EntryId]:
        """Returns the chunks held for a consumer, which can have them now."""
        return self._held.pop(consumer, [])

    def left(self, consumer: Consumer) -> list[EntryId]:
        """Forgets a consumer that is gone; returns the chunks held for it."""
        for uuid in [uuid for uuid, its in self._routes.items() if its is consumer]:
            del self._routes[uuid]
        return self.release(consumer)

    def clear(self) -> None:
        self._routes.clear()
        self._held.clear()
