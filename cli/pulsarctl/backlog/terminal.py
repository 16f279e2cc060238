"""A report as text for a terminal of 80 columns. Pure."""

from collections.abc import Iterator

from pulsarctl.backlog.documents import TOP_KEYS
from pulsarctl.backlog.heavy_hitters import HeavyHitters
from pulsarctl.backlog.report import Report, SubscriptionBacklog, share
from pulsarctl.backlog.tally import AGE_LIMITS_SECONDS, AGE_NAMES
from pulsarctl.values.quantities import human_size
from pulsarctl.values.times import utc

WIDTH = 80
NAME_WIDTH = 20
BAR_WIDTH = 30
_LIST_WIDTH = 58
_HEADING = f"  {'SUBSCRIPTION':<{NAME_WIDTH}}{'MESSAGES':>11}{'SIZE':>10}{'OLDEST':>7}{'EMPTY IN':>10}  VERDICT"


def lines(report: Report, *, details: bool) -> Iterator[str]:
    """One block for each topic, and with `details` a section for each subscription that has a backlog."""
    backlogs = report.subscriptions
    messages, size = (
        sum(backlog.tally.messages for backlog in backlogs),
        sum(backlog.tally.bytes for backlog in backlogs),
    )
    yield f"Backlog of {report.target} on {utc(report.moment.now_ms)[:19]}Z"
    yield f"{_plural(len(backlogs), 'subscription')}, {_plural(messages, 'message')}, {human_size(size)}"
    topic = None
    for backlog in backlogs:
        if backlog.topic != topic:
            topic = backlog.topic
            yield from ("", topic.removeprefix("persistent://"), _HEADING)
        yield from _row(report, backlog)
    if details:
        for backlog in backlogs:
            if backlog.tally.messages:
                yield from ("", *_details(report, backlog))


def age(seconds: float | None) -> str:
    """`3d4h`, in the two largest units."""
    if seconds is None:
        return "-"
    left = int(max(seconds, 0))
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if left >= length or (unit == "s" and not parts):
            parts.append(f"{left // length}{unit}")
        left %= length
    return "".join(parts[:2])


def _row(report: Report, backlog: SubscriptionBacklog) -> Iterator[str]:
    """A name that is too long has a line of its own."""
    name = backlog.subscription
    if len(name) >= NAME_WIDTH:
        yield f"  {name}"
        name = ""
    tally = backlog.tally
    oldest = None if tally.oldest_ms is None else (report.moment.now_ms - tally.oldest_ms) / 1000
    empty_in = "-" if tally.messages == 0 else age(backlog.seconds_to_empty)
    yield (
        f"  {name:<{NAME_WIDTH}}{tally.messages:>11,}{human_size(tally.bytes):>10}{age(oldest):>7}{empty_in:>10}"
        f"  {backlog.verdict.word}"
    )


def _details(report: Report, backlog: SubscriptionBacklog) -> Iterator[str]:
    yield f"{backlog.topic.removeprefix('persistent://')}, subscription {backlog.subscription}"
    yield _fact("verdict", f"{backlog.verdict.word}: {backlog.verdict.reason}")
    yield _fact("consumers", _consumers(backlog))
    yield _fact("stored in", f"{_plural(backlog.tally.entries, 'entry', 'entries')}, {human_size(backlog.tally.bytes)}")
    yield from _trend(report, backlog)
    yield from _holes(backlog)
    yield from _ages(backlog)
    yield from _partitions(backlog)
    yield from _names("keys", backlog.tally.keys, backlog.tally.keyed_messages)
    yield from _names("producers", backlog.tally.producers, backlog.tally.messages)
    yield from _names("schemas", backlog.tally.schema_versions, backlog.tally.messages, prefix="version ")
    yield from _largest(backlog)
    yield from _what_if(report, backlog)


def _consumers(backlog: SubscriptionBacklog) -> str:
    live = backlog.live
    rates = f"{live.rate_in:.1f}/s in, {live.rate_out:.1f}/s out"
    kind = f" ({live.type})" if live.type else ""
    return f"{live.consumers}{kind}; {rates}; {live.unacked:,} delivered, not acknowledged"


def _trend(report: Report, backlog: SubscriptionBacklog) -> Iterator[str]:
    trend = report.trend(backlog)
    if trend is not None:
        since = age((report.moment.now_ms - trend.since_ms) / 1000)
        size = f"{'-' if trend.bytes < 0 else '+'}{human_size(abs(trend.bytes))}"
        yield _fact("trend", f"{trend.messages:+,} messages, {size} in {since}")


def _holes(backlog: SubscriptionBacklog) -> Iterator[str]:
    facts, tally = backlog.cursor, backlog.tally
    if tally.delayed_messages:
        yield _fact("delayed", f"{_plural(tally.delayed_messages, 'message')}, {human_size(tally.delayed_bytes)}")
    if facts.holes:
        largest = _plural(facts.largest_hole, "entry", "entries")
        yield _fact("ack holes", f"{facts.holes:,}, the largest of {largest}; {facts.acked_above:,} acknowledged after")
    if facts.kept_ledgers:
        ledgers = _plural(facts.kept_ledgers, "ledger")
        yield _fact("kept for it", f"{ledgers}, {human_size(facts.kept_bytes)} that no other one needs")


def _ages(backlog: SubscriptionBacklog) -> Iterator[str]:
    largest = max(backlog.tally.ages)
    for index, (name, number) in enumerate(zip(AGE_NAMES, backlog.tally.ages, strict=True)):
        if number:
            label = name if index == len(AGE_LIMITS_SECONDS) else f"under {name}"
            yield _fact("age", f"{label:<10}{number:>13,}  {_bar(number, largest)}")


def _partitions(backlog: SubscriptionBacklog) -> Iterator[str]:
    if len(backlog.partitions) < 2:
        return
    largest = max(partition.tally.messages for partition in backlog.partitions)
    for partition in sorted(backlog.partitions, key=lambda partition: -partition.tally.messages)[:TOP_KEYS]:
        number, index = partition.tally.messages, partition.topic.rpartition("-")[2]
        yield _fact("partition", f"{index:<10}{number:>13,}  {_bar(number, largest)}")


def _names(label: str, hitters: HeavyHitters, total: int, *, prefix: str = "") -> Iterator[str]:
    top = [f"{prefix}{name} {share(number, total):.0%}" for name, number in hitters.top(5)]
    while len(", ".join(top)) > _LIST_WIDTH and len(top) > 1:
        top.pop()
    if top:
        yield _fact(label, _short(", ".join(top), _LIST_WIDTH))


def _largest(backlog: SubscriptionBacklog) -> Iterator[str]:
    for message in backlog.tally.largest[:3]:
        index = f":{message.batch_index}" if message.batch_index >= 0 else ""
        text = f"{human_size(message.size)} at {message.ledger_id}:{message.entry_id}{index} from {message.producer}"
        yield _fact("largest", _short(text, _LIST_WIDTH))


def _what_if(report: Report, backlog: SubscriptionBacklog) -> Iterator[str]:
    tally = backlog.tally
    if report.moment.ttl_seconds is not None:
        removed = f"{_plural(tally.expired_messages, 'message')}, {human_size(tally.expired_bytes)}"
        yield _fact("TTL", f"{age(report.moment.ttl_seconds)} removes {removed}")
    if report.quota_bytes is not None:
        messages, size = backlog.quota(report.quota_bytes)
        removed = f"{_plural(messages, 'message')}, {human_size(size)}"
        yield _fact("quota", f"{human_size(report.quota_bytes)} for each partition evicts {removed}")
    if tally.keyed_messages:
        about = "" if tally.distinct_keys.is_exact else "about "
        yield _fact(
            "compaction",
            f"leaves {about}{_plural(tally.distinct_keys.estimate(), 'key')} "
            f"of {_plural(tally.keyed_messages, 'message')}",
        )


def _fact(label: str, text: str) -> str:
    return f"  {label:<12} {text}".rstrip()


def _bar(number: int, largest: int) -> str:
    return "█" * max(round(BAR_WIDTH * number / largest), 1) if number else ""


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _plural(number: int, singular: str, many: str | None = None) -> str:
    return f"{number:,} {singular if number == 1 else many or singular + 's'}"
