"""The facts before an entry is read: ledgers, cursors, consumers, and rates of each partition. Pure."""

from dataclasses import dataclass

from pulsarctl.backlog.cursor_facts import CursorFacts
from pulsarctl.tables.ledger_ranges import LedgerRange, split

ENTRIES_PER_PART = 50_000


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """Facts from `stats`. Rates are messages per second over the broker's window."""

    type: str = ""
    consumers: int = 0
    rate_in: float = 0.0
    rate_out: float = 0.0
    unacked: int = 0
    is_blocked: bool = False


@dataclass(frozen=True, slots=True)
class SubscriptionSurvey:
    """One subscription of one partition."""

    name: str
    live: LiveFacts
    cursor: CursorFacts


@dataclass(frozen=True, slots=True)
class PartitionSurvey:
    """`topic` is the full name of a partition, or of a topic without partitions."""

    topic: str
    subscriptions: tuple[SubscriptionSurvey, ...]
    ranges: tuple[LedgerRange, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """The ledger ranges of all partitions, and the facts about their subscriptions."""

    partitions: tuple[PartitionSurvey, ...]

    @property
    def entries(self) -> int:
        """The number of entries to read."""
        return sum(part.entries for partition in self.partitions for part in partition.ranges)

    @property
    def bytes(self) -> int:
        """The approximate number of bytes to read."""
        return sum(part.size for partition in self.partitions for part in partition.ranges)

    def parts(self, tasks_min: int) -> list[LedgerRange]:
        """The plan: at least `tasks_min` parts, if there is enough to read."""
        ranges = [part for partition in self.partitions for part in partition.ranges]
        return split(ranges, tasks_min=tasks_min, entries_max=ENTRIES_PER_PART)
