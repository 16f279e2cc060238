"""The plots of one subscription: its tally -> figures. Pure."""

from collections.abc import Iterator

from pulsarctl.backlog import svg
from pulsarctl.backlog.ack_map import LEDGERS_MAX
from pulsarctl.backlog.documents import TOP_KEYS
from pulsarctl.backlog.heavy_hitters import HeavyHitters
from pulsarctl.backlog.report import SubscriptionBacklog, share
from pulsarctl.backlog.svg import Bar
from pulsarctl.backlog.tally import AGE_NAMES, Tally
from pulsarctl.backlog.timeline import Timeline
from pulsarctl.values.quantities import human_size
from pulsarctl.values.times import utc


def plots(backlog: SubscriptionBacklog) -> Iterator[str]:
    tally = backlog.tally
    yield svg.rows("Messages by age", list(_ages(tally)))
    yield svg.columns(_timeline_name(tally.timeline), list(_timeline(tally.timeline)))
    if len(backlog.partitions) > 1:
        yield svg.rows(
            f"Messages by partition, {backlog.skew:.1f} times the mean in the largest", list(_partitions(backlog))
        )
    if lines := list(_holes(backlog)):
        yield svg.cells("Unacknowledged parts of ledgers with ack holes", lines)
    if tally.keys.counts:
        yield svg.rows(_keys_name(tally), list(_names(tally.keys, tally.keyed_messages)))
    yield svg.columns("Messages by size", list(_sizes(tally)))
    yield svg.rows("Producers", list(_names(tally.producers, tally.messages)))
    yield svg.rows("Schema versions", list(_names(tally.schema_versions, tally.messages)))


def _ages(tally: Tally) -> Iterator[Bar]:
    for name, messages, size in zip(AGE_NAMES, tally.ages, tally.age_bytes, strict=True):
        label = name if name == AGE_NAMES[-1] else f"under {name}"
        yield Bar(label, messages, f"{label}: {messages:,} messages, {human_size(size)}")


def _timeline_name(line: Timeline) -> str:
    return f"Messages by publish time, in steps of {line.width_ms // 1000:,} s"


def _timeline(line: Timeline) -> Iterator[Bar]:
    for bucket in range(min(line.counts, default=0), max(line.counts, default=-1) + 1):
        label = utc(bucket * line.width_ms)[:19].replace("T", " ")
        messages = line.counts.get(bucket, 0)
        yield Bar(label, messages, f"{label}: {messages:,} messages")


def _partitions(backlog: SubscriptionBacklog) -> Iterator[Bar]:
    for partition in backlog.partitions:
        index, messages = partition.topic.rpartition("-")[2], partition.tally.messages
        yield Bar(
            f"partition {index}", messages, f"partition {index}: {messages:,}, {human_size(partition.tally.bytes)}"
        )


def _holes(backlog: SubscriptionBacklog) -> Iterator[tuple[str, list[float]]]:
    """The first ledgers of all partitions."""
    maps = [(partition.topic, ledger) for partition in backlog.partitions for ledger in partition.cursor.map]
    for topic, ledger in maps[:LEDGERS_MAX]:
        prefix = f"p{topic.rpartition('-')[2]} " if len(backlog.partitions) > 1 else ""
        yield f"{prefix}ledger {ledger.ledger_id}", [1 - share for share in ledger.acked]


def _keys_name(tally: Tally) -> str:
    about = "" if tally.distinct_keys.is_exact else "about "
    return f"Most frequent of {about}{tally.distinct_keys.estimate():,} keys"


def _names(hitters: HeavyHitters, total: int) -> Iterator[Bar]:
    """The tooltip also has the cumulative share."""
    seen = 0
    for name, messages in hitters.top(TOP_KEYS):
        seen += messages
        tip = f"{name}: {messages:,} messages, {share(messages, total):.1%}; {share(seen, total):.1%} up to here"
        yield Bar(name, messages, tip)


def _sizes(tally: Tally) -> Iterator[Bar]:
    used = [bits for bits, messages in enumerate(tally.sizes) if messages]
    for bits in range(min(used, default=0), max(used, default=-1) + 1):
        label = f"under {human_size(1 << bits)}"
        yield Bar(label, tally.sizes[bits], f"{label}: {tally.sizes[bits]:,} messages")
