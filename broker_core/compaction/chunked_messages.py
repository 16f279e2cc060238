"""Finds the entries that are chunks of one message, so that compaction keeps or drops them together. No I/O.

A chunked message (PIP-37) counts as published with its last chunk. Chunks of several messages may alternate, and a
client that reconnects sends the chunks of a message from the first one on again. Compaction must not decide about a
message that is not finished yet: its other chunks may follow, so those that are there are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_core.compaction.survivors import MessagePosition
    from broker_core.wire.pulsar_api_pb2 import MessageMetadata

UNFINISHED_MAX = 100  # messages; producers that went away leave some, and the oldest are dropped


class _Message(NamedTuple):
    positions: list[MessagePosition]
    numbers: set[int]


class ChunkedMessages:
    def __init__(self) -> None:
        self._unfinished: OrderedDict[tuple[str, str], _Message] = OrderedDict()  # by producer name and uuid
        self._ends: dict[MessagePosition, MessagePosition] = {}  # chunk -> last chunk of its message

    def note(self, metadata: MessageMetadata, position: MessagePosition) -> bool:
        """First pass: whether this chunk finishes its message. Chunks without the first ones never do."""
        name = (metadata.producer_name, metadata.uuid)
        message = self._unfinished.setdefault(name, _Message([], set()))
        message.positions.append(position)
        message.numbers.add(metadata.chunk_id)
        if metadata.chunk_id < metadata.num_chunks_from_msg - 1:
            if len(self._unfinished) > UNFINISHED_MAX:
                self._unfinished.popitem(last=False)
            return False
        del self._unfinished[name]
        if len(message.numbers) < metadata.num_chunks_from_msg:
            return False
        self._ends.update(dict.fromkeys(message.positions, position))
        return True

    def end(self, position: MessagePosition) -> MessagePosition:
        """The position at which the message of this chunk ends; `position` itself for any other message."""
        return self._ends.get(position, position)

    def unfinished(self) -> set[MessagePosition]:
        """After the first pass: the chunks whose messages may still be finished."""
        return {position for message in self._unfinished.values() for position in message.positions}
