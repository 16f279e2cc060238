"""When a replicated subscription passes snapshots: its dispatcher reads them, its mark-delete position passes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.publishing.replication import MARKER_MESSAGES
from broker_core.replication.snapshot_cache import SnapshotCache
from broker_core.storage.records.position import Position
from broker_core.wire.markers import SnapshotMarker, parse_marker

if TYPE_CHECKING:
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.wire.markers import Positions


class PassedSnapshots:
    """`passed` gets the positions in other clusters that the subscription has reached."""

    def __init__(self, cursor: ManagedCursor, most: int, passed: Callable[[Positions], None]) -> None:
        self._cursor = cursor
        self._cache = SnapshotCache(most)
        self._passed = passed

    def read(self, block: Block) -> None:
        """The dispatcher read these entries, markers among them. Acknowledged ones count: a restart reads them."""
        for row, count in enumerate(block.counts):
            if count == MARKER_MESSAGES and isinstance(marker := parse_marker(block.entry(row)), SnapshotMarker):
                self._cache.add(Position(*marker.position), block.publish_times[row], marker.elsewhere)
        self.moved()

    def moved(self) -> None:
        """The mark-delete position may have passed some. Hot path: called once per acknowledgment."""
        if self._cache.first <= self._cursor.mark_delete:
            elsewhere = self._cache.pass_to(self._cursor.mark_delete)
            if elsewhere is not None:
                self._passed(elsewhere)

    def followed(self) -> None:
        """Another cluster moved the subscription, so the others know already."""
        self._cache.pass_to(self._cursor.mark_delete)
