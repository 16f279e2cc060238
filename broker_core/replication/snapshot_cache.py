"""The snapshots that a replicated subscription has read and not passed yet (PIP-33). Pure.

A slow subscription reads more snapshots than it may keep. It drops those whose neighbors are closest in time, so that
what it keeps stays spread over its backlog, and it always has one that it will pass soon.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from broker_core.storage.records.position import EARLIEST, LATEST, Position

if TYPE_CHECKING:
    from broker_core.wire.markers import Positions


class Kept(NamedTuple):
    position: Position
    written_ms: int
    elsewhere: Positions


class SnapshotCache:
    """Snapshots by rising position, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[Kept] = []
        self._passed = EARLIEST  # a snapshot at or below it was passed, and may be read again after a redelivery
        self.first = LATEST
        """The lowest position of a snapshot; `LATEST` without one."""

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, position: Position, written_ms: int, elsewhere: Positions) -> None:
        index = bisect_left(self._kept, position, key=_position)
        known = index < len(self._kept) and self._kept[index].position == position
        if known or position <= self._passed:
            return
        self._kept.insert(index, Kept(position, written_ms, elsewhere))
        if len(self._kept) > self._most:
            del self._kept[self._closest()]
        self.first = self._kept[0].position

    def pass_to(self, mark_delete: Position) -> Positions | None:
        """Forgets the snapshots at or below the position; returns where the last of them was elsewhere."""
        stop = bisect_right(self._kept, mark_delete, key=_position)
        if not stop:
            return None
        last = self._kept[stop - 1]
        del self._kept[:stop]
        self._passed = last.position
        self.first = self._kept[0].position if self._kept else LATEST
        return last.elsewhere

    def _closest(self) -> int:
        """The one whose neighbors are closest; the first and the last one stay if there are others."""
        between = range(1, len(self._kept) - 1)
        return min(between, key=lambda i: self._kept[i + 1].written_ms - self._kept[i - 1].written_ms, default=0)


def _position(kept: Kept) -> Position:
    return kept.position
