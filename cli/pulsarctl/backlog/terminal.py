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
    found = report.subscriptions
    messages, size = sum(each.tally.messages for each in found), sum(each.tally.bytes for each in found)
    yield f"Backlog of {report.target} on {utc(report.moment.now_ms)[:19]}Z"
    yield f"{_plural(len(found), 'subscription')}, {_plural(messages, 'message')}, {human_size(size)}"
    topic = None
    for each in found:
        if each.topic != topic:
            topic = each.topic
            yield from ("", topic.removeprefix("persistent://"), _HEADING)
        yield from _row(report, each)
    if details:
        for each in found:
            if each.tally.messages:
                yield from ("", *_details(report, each))


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


def _row(report: Report, of: SubscriptionBacklog) -> Iterator[str]:
    """A name that is too long has a line of its own."""
    name = of.subscription
    if len(name) >= NAME_WIDTH:
        yield f"  {name}"
        name = ""
    tally = of.tally
    oldest = None if tally.oldest_ms is None else (report.moment.now_ms - tally.oldest_ms) / 1000
    empty_in = "-" if tally.messages == 0 else age(of.seconds_to_empty)
    yield (
        f"  {name:<{NAME_WIDTH}}{tally.messages:>11,}{human_size(tally.bytes):>10}{age(oldest):>7}{empty_in:>10}"
        f"  {of.verdict.word}"
    )


def _details(report: Report, of: SubscriptionBacklog) -> Iterator[str]:
    yield f"{of.topic.removeprefix('persistent://')}, subscription {of.subscription}"
    yield _fact("verdict", f"{of.verdict.word}: {of.verdict.reason}")
    yield _fact("consumers", _consumers(of))
    yield _fact("stored in", f"{_plural(of.tally.entries, 'entry', 'entries')}, {human_size(of.tally.bytes)}")
    yield from _trend(report, of)
    yield from _holes(of)
    yield from _ages(of)
    yield from _partitions(of)
    yield from _names("keys", of.tally.keys, of.tally.keyed_messages)
    yield from _names("producers", of.tally.producers, of.tally.messages)
    yield from _names("schemas", of.tally.schema_versions, of.tally.messages, prefix="version ")
    yield from _largest(of)
    yield from _what_if(report, of)


def _consumers(of: SubscriptionBacklog) -> str:
    live = of.live
    rates = f"{live.rate_in:.1f}/s in, {live.rate_out:.1f}/s out"
    kind = f" ({live.type})" if live.type else ""
    return f"{live.consumers}{kind}; {rates}; {live.unacked:,} delivered, not acknowledged"


def _trend(report: Report, of: SubscriptionBacklog) -> Iterator[str]:
    trend = report.trend(of)
    if trend is not None:
        since = age((report.moment.now_ms - trend.since_ms) / 1000)
        size = f"{'-' if trend.bytes < 0 else '+'}{human_size(abs(trend.bytes))}"
        yield _fact("trend", f"{trend.messages:+,} messages, {size} in {since}")


def _holes(of: SubscriptionBacklog) -> Iterator[str]:
    facts, tally = of.cursor, of.tally
    if tally.delayed_messages:
        yield _fact("delayed", f"{_plural(tally.delayed_messages, 'message')}, {human_size(tally.delayed_bytes)}")
    if facts.holes:
        largest = _plural(facts.largest_hole, "entry", "entries")
        yield _fact("ack holes", f"{facts.holes:,}, the largest of {largest}; {facts.acked_above:,} acknowledged after")
    if facts.kept_ledgers:
        ledgers = _plural(facts.kept_ledgers, "ledger")
        yield _fact("kept for it", f"{ledgers}, {human_size(facts.kept_bytes)} that no other one needs")


def _ages(of: SubscriptionBacklog) -> Iterator[str]:
    largest = max(of.tally.ages)
    for index, (name, number) in enumerate(zip(AGE_NAMES, of.tally.ages, strict=True)):
        if number:
            label = name if index == len(AGE_LIMITS_SECONDS) else f"under {name}"
            yield _fact("age", f"{label:<10}{number:>13,}  {_bar(number, largest)}")


def _partitions(of: SubscriptionBacklog) -> Iterator[str]:
    if len(of.partitions) < 2:
        return
    largest = max(each.tally.messages for each in of.partitions)
    for each in sorted(of.partitions, key=lambda each: -each.tally.messages)[:TOP_KEYS]:
        number, index = each.tally.messages, each.topic.rpartition("-")[2]
        yield _fact("partition", f"{index:<10}{number:>13,}  {_bar(number, largest)}")


def _names(label: str, found: HeavyHitters, whole: int, *, prefix: str = "") -> Iterator[str]:
    top = [f"{prefix}{name} {share(number, whole):.0%}" for name, number in found.top(5)]
    while len(", ".join(top)) > _LIST_WIDTH and len(top) > 1:
        top.pop()
    if top:
        yield _fact(label, _short(", ".join(top), _LIST_WIDTH))


def _largest(of: SubscriptionBacklog) -> Iterator[str]:
    for each in of.tally.largest[:3]:
        index = f":{each.batch_index}" if each.batch_index >= 0 else ""
        text = f"{human_size(each.size)} at {each.ledger_id}:{each.entry_id}{index} from {each.producer}"
        yield _fact("largest", _short(text, _LIST_WIDTH))


def _what_if(report: Report, of: SubscriptionBacklog) -> Iterator[str]:
    tally = of.tally
    if report.moment.ttl_seconds is not None:
        removed = f"{_plural(tally.expired_messages, 'message')}, {human_size(tally.expired_bytes)}"
        yield _fact("TTL", f"{age(report.moment.ttl_seconds)} removes {removed}")
    if report.quota_bytes is not None:
        messages, size = of.quota(report.quota_bytes)
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


def _plural(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
