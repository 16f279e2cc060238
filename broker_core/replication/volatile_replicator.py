"""The replicator of a non-persistent topic: it sends what arrives while the other cluster takes it, and drops all else.

At most `replicationProducerQueueSize` entries wait to be sent, of as many bytes as one read. What is on its way
when the connection ends is lost, as it would be for any consumer of such a topic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.rates.rate import Rate
from broker_core.replication.replicator import Replicator, ReplicatorState
from broker_core.storage.records.block import EMPTY

if TYPE_CHECKING:
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.topic_context import TopicContext


class VolatileReplicator(Replicator):
    def __init__(
        self,
        context: TopicContext,
        services: ReplicationServices,
        cluster: str,
        cursor: ManagedCursor,
        moved: Callable[[], None],
    ) -> None:
        super().__init__(context, services, cluster, cursor, moved)
        self.dropped: Rate = Rate(context.clock)
        self._waiting: deque[Block] = deque()
        self._entries = self._bytes = 0  # entries that wait, and their bytes

    def rates(self) -> tuple[Rate, ...]:
        return *super().rates(), self.dropped

    def offer(self, block: Block) -> None:
        """Take what the topic has received now."""
        if self.state is ReplicatorState.STARTED and self._has_room(block):
            self._waiting.append(block)
            self._entries += len(block)
            self._bytes += block.size
            self.wake()
        else:
            self._drop(block)

    def _has_room(self, block: Block) -> bool:
        config = self._services.config
        fits = self._entries + len(block) <= config.queue_size and self._bytes + block.size <= config.read_bytes
        return fits or not self._waiting

    def _existed(self) -> bool:
        """Such a topic comes and goes with its clients, so that a missing one was not deleted."""
        return False

    def _has_more(self) -> bool:
        return bool(self._waiting)

    async def _replicate(self) -> None:
        self._drop_waiting()
        self.cursor.expire_to(self._log.last_confirmed)  # what was on its way is lost
        try:
            await super()._replicate()
        finally:
            self._drop_waiting()

    async def _read(self, room: int) -> Block:
        if not self._waiting:
            return EMPTY
        block = self._waiting.popleft()
        if len(block) > room:
            self._waiting.appendleft(block.slice(room, len(block)))
            block = block.slice(0, room)
        self._entries -= len(block)
        self._bytes -= block.size
        return block

    def _drop_waiting(self) -> None:
        while self._waiting:
            self._drop(self._waiting.popleft())
        self._entries = self._bytes = 0

    def _drop(self, block: Block) -> None:
        self.dropped.add(sum(block.counts), 0)
        self.cursor.acknowledge(block.ledger_id, range(block.first_entry_id, block.first_entry_id + len(block)))
