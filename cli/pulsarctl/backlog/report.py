"""The report of `ops backlog`: a survey and its tallies -> one value for each subscription of each topic. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pulsarctl.backlog.counting import Moment
from pulsarctl.backlog.cursor_facts import CursorFacts
from pulsarctl.backlog.survey import LiveFacts, PartitionSurvey, Survey
from pulsarctl.backlog.tally import Tally
from pulsarctl.backlog.verdict import Condition, Verdict, seconds_to_empty, verdict
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.values.names import without_partition


@dataclass(frozen=True, slots=True)
class PartitionBacklog:
    """One partition of a subscription; `topic` is its full name."""

    topic: str
    tally: Tally
    live: LiveFacts
    cursor: CursorFacts


@dataclass(frozen=True, slots=True)
class SubscriptionBacklog:
    """One subscription of a topic, with all partitions."""

    topic: str
    subscription: str
    partitions: tuple[PartitionBacklog, ...]
    tally: Tally

    @property
    def live(self) -> LiveFacts:
        """Sums over the partitions. A consumer of several partitions counts once for the busiest of them."""
        facts = [partition.live for partition in self.partitions]
        return LiveFacts(
            type=next((live.type for live in facts if live.type), ""),
            consumers=max((live.consumers for live in facts), default=0),
            rate_in=sum(live.rate_in for live in facts),
            rate_out=sum(live.rate_out for live in facts),
            unacked=sum(live.unacked for live in facts),
            is_blocked=any(live.is_blocked for live in facts),
        )

    @property
    def cursor(self) -> CursorFacts:
        cursors = [partition.cursor for partition in self.partitions]
        return CursorFacts(
            holes=sum(facts.holes for facts in cursors),
            largest_hole=max((facts.largest_hole for facts in cursors), default=0),
            acked_above=sum(facts.acked_above for facts in cursors),
            kept_ledgers=sum(facts.kept_ledgers for facts in cursors),
            kept_entries=sum(facts.kept_entries for facts in cursors),
            kept_bytes=sum(facts.kept_bytes for facts in cursors),
            map=cursors[0].map if len(cursors) == 1 else (),
        )

    @property
    def condition(self) -> Condition:
        live, tally = self.live, self.tally
        return Condition(
            tally.messages, tally.delayed_messages, live.consumers, live.is_blocked, live.rate_in, live.rate_out
        )

    @property
    def verdict(self) -> Verdict:
        return verdict(self.condition)

    @property
    def seconds_to_empty(self) -> float | None:
        return seconds_to_empty(self.condition)

    @property
    def skew(self) -> float:
        """The largest partition compared with the mean; 1 is even."""
        counts = [partition.tally.messages for partition in self.partitions]
        return max(counts) * len(counts) / sum(counts) if sum(counts) else 1.0

    def quota(self, limit_bytes: int) -> tuple[int, int]:
        """Messages and bytes that a backlog quota of each partition would evict, to within a block."""
        evicted = [_evicted(partition.tally, limit_bytes) for partition in self.partitions]
        return sum(messages for messages, _ in evicted), sum(size for _, size in evicted)


@dataclass(frozen=True, slots=True)
class Report:
    """`exact_per` is `message` or `entry`; `engine` is `local` or `spark`; `tasks` and `entries` were read."""

    target: str
    cluster: str
    moment: Moment
    exact_per: str
    engine: str
    tasks: int
    entries: int
    quota_bytes: int | None
    subscriptions: tuple[SubscriptionBacklog, ...]
    before: Mapping[tuple[str, str], "BacklogSnapshot"] = field(default_factory=dict)

    def trend(self, backlog: SubscriptionBacklog) -> "Trend | None":
        """The trend since the snapshot before this report; None if there is no snapshot."""
        before = self.before.get((backlog.topic, backlog.subscription))
        if before is None or before.taken_ms >= self.moment.now_ms:
            return None
        return Trend(before.taken_ms, backlog.tally.messages - before.messages, backlog.tally.bytes - before.bytes)


@dataclass(frozen=True, slots=True)
class BacklogSnapshot:
    """The facts about a subscription that are kept between two reports."""

    taken_ms: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Trend:
    """The change of a backlog since an earlier report."""

    since_ms: int
    messages: int
    bytes: int


def subscriptions(
    survey: Survey, parts: Sequence[LedgerRange], tallies: Sequence[Mapping[str, Tally]]
) -> tuple[SubscriptionBacklog, ...]:
    """Sorted by topic and subscription. One without a backlog has an empty tally."""
    by_partition: dict[tuple[str, str], Tally] = {}
    for part, counted in zip(parts, tallies, strict=True):
        for name, tally in counted.items():
            by_partition.setdefault((part.topic, name), Tally()).merge(tally)
    grouped: dict[tuple[str, str], list[PartitionBacklog]] = {}
    for partition in survey.partitions:
        for name, backlog in _of_partition(partition, by_partition):
            grouped.setdefault((without_partition(partition.topic), name), []).append(backlog)
    return tuple(
        SubscriptionBacklog(topic, name, tuple(backlogs), _total(backlogs))
        for (topic, name), backlogs in sorted(grouped.items())
    )


def _of_partition(
    partition: PartitionSurvey, tallies: Mapping[tuple[str, str], Tally]
) -> Iterator[tuple[str, PartitionBacklog]]:
    for subscription in partition.subscriptions:
        tally = tallies.get((partition.topic, subscription.name)) or Tally()
        yield subscription.name, PartitionBacklog(partition.topic, tally, subscription.live, subscription.cursor)


def _total(partitions: Sequence[PartitionBacklog]) -> Tally:
    total = Tally()
    for partition in partitions:
        total.merge(partition.tally)
    return total


def _evicted(tally: Tally, limit_bytes: int) -> tuple[int, int]:
    messages, size, left = 0, 0, tally.bytes
    for block in tally.blocks:
        if left <= limit_bytes:
            break
        messages, size, left = messages + block.messages, size + block.bytes, left - block.bytes
    return messages, size


def share(part: int, total: int) -> float:
    """Rounded, for JSON."""
    return round(part / total, 4) if total else 0.0
