"""Chooses among the entries of a block: which are copied, which stay, and at which one a replicator has to stop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.publishing.replication import MARKER_MESSAGES
from broker_core.replication.copies import Copy, copy_of, is_marker, stays_here
from broker_core.replication.errors import CannotReplicate
from broker_core.storage.records.position import Position
from broker_core.wire.client_protocol import FRAME_PADDING_BYTES
from broker_core.wire.errors import MalformedEntry
from broker_core.wire.message import parse_metadata

if TYPE_CHECKING:
    from broker_core.rates.rate import Rate
    from broker_core.replication.link import Link
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.records.block import Block
    from broker_core.topic_context import TopicContext


@dataclass(slots=True)
class SelectedEntries:
    """`passed`: entries that stay here. `end`: the first one that was not looked at. `blocked`: why, if it stopped."""

    end: int
    copies: list[Copy] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    blocked: CannotReplicate | None = None


class Outgoing:
    """`expired` counts the messages that stay here because of their age."""

    def __init__(self, context: TopicContext, services: ReplicationServices, cluster: str, expired: Rate) -> None:
        self._context = context
        self._services = services
        self._cluster = cluster
        self._expired = expired

    async def choose(self, block: Block, ranges: Iterable[tuple[int, int]], link: Link) -> SelectedEntries:
        """Looks at the entries in the ranges of indexes, up to one that cannot be sent."""
        chosen = SelectedEntries(block.first_entry_id + len(block))
        for index in (index for first, stop in ranges for index in range(first, stop)):
            entry_id = block.first_entry_id + index
            try:
                copy = await self._copy(block, index, link)
            except CannotReplicate as error:
                chosen.end, chosen.blocked = entry_id, error
                break
            if copy is None:
                chosen.passed.append(entry_id)
            else:
                chosen.copies.append(copy)
        return chosen

    async def _copy(self, block: Block, index: int, link: Link) -> Copy | None:
        """Return the copy, or None if the entry stays here. Raises `CannotReplicate` if it cannot be sent."""
        entry = block.entry(index)
        try:
            metadata = parse_metadata(entry)
        except MalformedEntry:
            return None  # no client could read it, either
        if stays_here(metadata, self._cluster):
            return None
        if block.counts[index] == MARKER_MESSAGES and not is_marker(metadata):
            return None  # its transaction was aborted
        if block.counts[index] != MARKER_MESSAGES and self._is_expired(block.publish_times[index]):
            self._expired.add(block.counts[index], 0)
            return None
        copy = copy_of(
            entry,
            metadata,
            Position(block.ledger_id, block.first_entry_id + index),
            source=self._services.cluster,
            producer_id=link.producer.producer_id,
            names_position=link.producer.names_positions,
            schema_version=await link.schema_version(metadata.schema_version) if metadata.schema_version else None,
        )
        _check_size(copy, link)
        return copy

    def _is_expired(self, publish_time_ms: int) -> bool:
        ttl_ms = self._context.policies.ttl_seconds * 1000
        return ttl_ms > 0 and publish_time_ms + ttl_ms < self._context.expiry.now_ms()


def _check_size(copy: Copy, link: Link) -> None:
    """Brokers take frames that are a little longer than the largest message: that leaves space for what a copy adds."""
    most = link.connection.max_message_size
    if len(copy.frame) > most + FRAME_PADDING_BYTES:
        where = f"{copy.position.ledger_id}:{copy.position.entry_id}"
        raise CannotReplicate(
            f"the entry at {where} has {copy.size} bytes, and {link.connection.url} takes at most {most};"
            " raise its maxMessageSize"
        )
