"""The snapshots for which a topic is waiting for the answers of other clusters (PIP-33). Pure.

With one other cluster, its answer completes a snapshot. With several ones, each is asked twice: what one of them had
received from another when it first answered may still have been on its way here, and has arrived with the second round
of answers. The positions are those of the first round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.wire.markers import EntryPosition, SnapshotResponse


@dataclass(slots=True, eq=False, repr=False)
class SnapshotRound:
    """`started`: monotonic. `messages`: how many had been published by then. `missing`: clusters that must answer."""

    snapshot_id: str
    started: float
    messages: int
    clusters: frozenset[str]
    missing: set[str]
    rounds_left: int
    elsewhere: dict[str, EntryPosition] = field(default_factory=dict)

    def answered(self, cluster: str, position: EntryPosition) -> bool:
        """Returns whether all clusters have answered in this round."""
        first = self.elsewhere.setdefault(cluster, position)
        is_repeated = self.rounds_left == 1 and len(self.clusters) > 1 and position <= first
        if not is_repeated:  # a cluster's second answer comes after its first one, so it names a later position
            self.missing.discard(cluster)
        return not self.missing


class SnapshotRounds:
    """The rounds of requests for snapshots, at most `most` at a time."""

    def __init__(self, timeout_seconds: float, most: int) -> None:
        self._timeout_seconds = timeout_seconds
        self._most = most
        self._pending: dict[str, SnapshotRound] = {}
        self._settled = 0  # messages published before the last complete snapshot started
        self._given_up = -1  # messages published before the last one that timed out
        self._completed = False

    def __len__(self) -> int:
        return len(self._pending)

    def is_due(self, messages: int) -> bool:
        """Whether messages were published since the last snapshot started, or one waits for answers."""
        return bool(self._pending) or messages not in (self._settled, self._given_up)

    def may_begin(self, messages: int) -> bool:
        """Clusters that have never answered are not asked again before they had time to."""
        asked = {round.messages for round in self._pending.values()}
        if messages in {self._settled, self._given_up, *asked} or len(asked) >= self._most:
            return False
        return self._completed or not self._pending

    def begin(self, snapshot_id: str, clusters: Iterable[str], now: float, messages: int) -> None:
        names = frozenset(clusters)
        rounds = 2 if len(names) > 1 else 1
        self._pending[snapshot_id] = SnapshotRound(snapshot_id, now, messages, names, set(names), rounds)

    def answered(self, response: SnapshotResponse) -> SnapshotRound | None:
        """The snapshot whose round is complete now; without `rounds_left`, it is complete itself."""
        round = self._pending.get(response.snapshot_id)
        if round is None:  # too late, or for an earlier life of this topic; but the cluster answers
            self._given_up = -1
            return None
        if not round.answered(response.cluster, response.position):
            return None
        round.rounds_left -= 1
        if round.rounds_left:
            round.missing = set(round.clusters)
        else:
            del self._pending[round.snapshot_id]
            self._completed, self._settled = True, max(self._settled, round.messages)
        return round

    def expire(self, now: float) -> int:
        """Gives up those that have waited too long; returns how many."""
        late = [round for round in self._pending.values() if now - round.started >= self._timeout_seconds]
        for round in late:
            del self._pending[round.snapshot_id]
            self._given_up = round.messages
            self._completed = False
        return len(late)

    def skip(self, messages: int) -> None:
        """No snapshot until more messages are published."""
        self._given_up = messages

    def clear(self) -> int:
        """Forgets all; returns how many there were."""
        dropped = len(self._pending)
        self._pending.clear()
        return dropped
