"""What the admin API says before an entry is read: ledgers, cursors, consumers, and rates of each partition."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pulsarctl.backlog.counting import Part
from pulsarctl.backlog.cursor_facts import CursorFacts, cursor_facts, open_batches
from pulsarctl.tables.ledger_ranges import LedgerRange, ranges_of_topic, split

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

ENTRIES_PER_PART = 50_000


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """From `stats`. Rates are messages per second over the broker's window."""

    type: str = ""
    consumers: int = 0
    rate_in: float = 0.0
    rate_out: float = 0.0
    unacked: int = 0
    is_blocked: bool = False


@dataclass(frozen=True, slots=True)
class SubscriptionSurvey:
    """One subscription of one partition. `open_batches` is by ledger and entry."""

    name: str
    live: LiveFacts
    cursor: CursorFacts
    open_batches: Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class PartitionSurvey:
    """`topic` is the full name of a partition, or of a topic without partitions."""

    topic: str
    subscriptions: tuple[SubscriptionSurvey, ...]
    ranges: tuple[LedgerRange, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    partitions: tuple[PartitionSurvey, ...]

    @property
    def entries(self) -> int:
        """How many entries are read."""
        return sum(each.entries for partition in self.partitions for each in partition.ranges)

    @property
    def bytes(self) -> int:
        """About how many bytes they have."""
        return sum(each.size for partition in self.partitions for each in partition.ranges)

    def parts(self, tasks_min: int) -> list[Part]:
        """The plan: at least so many parts, if there is enough to read."""
        ranges = [each for partition in self.partitions for each in partition.ranges]
        batches = {partition.topic: partition.subscriptions for partition in self.partitions}
        cut = split(ranges, tasks_min=tasks_min, entries_max=ENTRIES_PER_PART)
        return [Part(each, dict(_open_within(each, batches[each.topic]))) for each in cut]


def survey(admin: "AdminClient", topics: Sequence[str], subscriptions: Sequence[str]) -> Survey:
    """`subscriptions` empty: all durable ones. Raises what the admin client raises."""
    return Survey(tuple(_partition(admin, topic, subscriptions) for topic in topics))


def _partition(admin: "AdminClient", topic: str, wanted: Sequence[str]) -> PartitionSurvey:
    stats = admin.topics.stats(topic)
    internal = admin.topics.internal_stats(topic)
    names = [
        name
        for name, each in sorted(stats.get("subscriptions", {}).items())
        if (not wanted or name in wanted) and each.get("durable", True) and name in internal["cursors"]
    ]
    facts = cursor_facts(internal, names)
    names = [name for name in names if name in facts]
    found = tuple(
        SubscriptionSurvey(name, _live(stats, name), facts[name], open_batches(internal, name)) for name in names
    )
    return PartitionSurvey(topic, found, tuple(ranges_of_topic(topic, internal, subscriptions=names)))


def _live(stats: Mapping[str, Any], name: str) -> LiveFacts:
    own = stats["subscriptions"][name]
    return LiveFacts(
        type=own.get("type") or "",
        consumers=len(own.get("consumers", ())),
        rate_in=float(stats.get("msgRateIn", 0.0)),
        rate_out=float(own.get("messageAckRate") or own.get("msgRateOut") or 0.0),
        unacked=int(own.get("unackedMessages", 0)),
        is_blocked=bool(own.get("blockedSubscriptionOnUnackedMsgs", False)),
    )


def _open_within(entries: LedgerRange, known: Sequence[SubscriptionSurvey]) -> Iterator[tuple[str, dict[int, int]]]:
    for each in known:
        inside = {
            entry_id: bits
            for (ledger_id, entry_id), bits in each.open_batches.items()
            if ledger_id == entries.ledger_id and entries.first <= entry_id <= entries.last
        }
        if inside:
            yield each.name, inside
