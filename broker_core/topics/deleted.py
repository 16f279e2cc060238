"""Replicated topics that were deleted here: the replicators of other clusters must not bring them back.

They would, because their producers create a missing topic. A record ends when a client or a tool creates the topic
again. Only the last `KEPT` records are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import TopicNotFound

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.names import TopicName
    from broker_core.storage.catalog.metadata import Metadata

DELETED_TOPIC = "deleted-topic"  # kind of the documents
KEPT = 10_000


class DeletedTopics:
    def __init__(self, metadata: Metadata, clock: Clock) -> None:
        self._metadata = metadata
        self._clock = clock

    async def remember(self, name: TopicName) -> None:
        """Records the deletion; durable on return."""
        known = list(self._metadata.keys(DELETED_TOPIC))
        if len(known) >= KEPT:
            await self._metadata.delete(DELETED_TOPIC, min(known, key=self._deleted_ms))
        await self._metadata.put(DELETED_TOPIC, str(name), {"deleted_ms": self._clock.wall_ms()})

    def _deleted_ms(self, key: str) -> int:
        deleted_ms = (self._metadata.get(DELETED_TOPIC, key) or {}).get("deleted_ms")
        return deleted_ms if isinstance(deleted_ms, int) else 0

    async def forget(self, name: TopicName) -> None:
        """Drops the record of a topic that is created again."""
        if self._metadata.get(DELETED_TOPIC, str(name)) is not None:
            await self._metadata.delete(DELETED_TOPIC, str(name))

    def check(self, name: TopicName) -> None:
        """Raises `TopicNotFound` if a replicator must not create the topic."""
        if self._metadata.get(DELETED_TOPIC, str(name)) is not None:
            raise TopicNotFound(f"Topic {name} was deleted in this cluster; create it here to get its messages again")
