"""The rows of `top`: topics, subscriptions, and consumers with their rates, from two snapshots of statistics. Pure.

The rates are those of the counters between two snapshots. For what the earlier snapshot lacks, they are the broker's,
which Apache Pulsar averages over a minute.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulsarctl.diagnosis.backlog import Backlog
from pulsarctl.diagnosis.finding import Severity
from pulsarctl.diagnosis.words import plural, short
from pulsarctl.errors import UsageProblem
from pulsarctl.values.names import COMPACTION_CURSOR
from pulsarctl.values.quantities import human_size

Document = Mapping[str, Any]
Key = tuple[str, ...]
SAMPLES = 10  # of a sparkline
BARS = "▁▂▃▄▅▆▇█"
ORDER = (Severity.OK, Severity.WARNING, Severity.PROBLEM)


@dataclass(frozen=True, slots=True)
class TopicsSnapshot:
    """The statistics of each topic and partition at a time. `total`: how many topics there are, shown or not."""

    time_ms: int
    topics: Mapping[str, Document]
    total: int


@dataclass(frozen=True, slots=True)
class Column:
    """`field` of a row; `shown` makes its text. The largest values come first, or the first texts.

    Names may be long, so that a narrow screen shows them in several lines.
    """

    title: str
    field: str
    shown: Callable[[Any], str] = str
    is_number: bool = True
    is_name: bool = False


Row = dict[str, Any]  # by the field of a column; "key" identifies it in the next snapshot


@dataclass(frozen=True, slots=True)
class View:
    """`title` is what it lists; `rows` are made of the statistics of a topic and its name."""

    title: str
    columns: tuple[Column, ...]
    rows: Callable[[str, Document], Iterable[Row]]
    counters: Mapping[str, str]  # field of a rate -> the counter that it comes from

    def column(self, name: str) -> Column:
        """The column with this field or title. Raises `UsageProblem`."""
        for column in self.columns:
            if name.lower() in (column.field, column.title.lower()):
                return column
        known = ", ".join(column.field for column in self.columns)
        raise UsageProblem(f"cannot sort {self.title} by '{name}'", hint=f"use one of {known}")


@dataclass
class History:
    """The last rates of each row."""

    samples: dict[Key, list[float]] = field(default_factory=dict)

    def add(self, rows: Iterable[Row], rate: str) -> None:
        """Forgets rows that are gone."""
        self.samples = {row["key"]: [*self.samples.get(row["key"], []), float(row[rate])][-SAMPLES:] for row in rows}

    def line(self, key: Key) -> str:
        return sparkline(self.samples.get(key, []))


def sparkline(values: Sequence[float]) -> str:
    """One character for each value, the largest as high as the line."""
    largest = max(values, default=0.0)
    if largest <= 0:
        return BARS[0] * len(values)
    return "".join(BARS[min(len(BARS) - 1, round(value / largest * (len(BARS) - 1)))] for value in values)


def rows(view: View, before: TopicsSnapshot | None, now: TopicsSnapshot) -> list[Row]:
    """Every row of the view, with its rates."""
    earlier = {} if before is None else {row["key"]: row for row in _rows(view, before)}
    seconds = 0.0 if before is None else (now.time_ms - before.time_ms) / 1000
    current = list(_rows(view, now))
    for row in current:
        last = earlier.get(row["key"])
        if last is not None and seconds > 0:
            for rate, counter in view.counters.items():
                if row[counter] >= last[counter]:  # a counter starts over when the broker loads the topic again
                    row[rate] = (row[counter] - last[counter]) / seconds
    return current


def ordered(unordered: Iterable[Row], column: Column, *, reverse: bool = False) -> list[Row]:
    """The largest number first, or the first name. `reverse`: the other way around."""
    by_name = sorted(unordered, key=lambda row: row["key"])
    return sorted(by_name, key=lambda row: row[column.field], reverse=column.is_number != reverse)


def documents(view: View, shown: Iterable[Row]) -> list[dict[str, Any]]:
    """The columns of each row, and `backlog_unit`, `messages` or `entries`, beside a backlog."""
    return [_document([column.field for column in view.columns], row) for row in shown]


def texts(view: View, shown: Iterable[Row]) -> list[tuple[str, ...]]:
    return [tuple(column.shown(row[column.field]) for column in view.columns) for row in shown]


def summary(now: TopicsSnapshot, shown: Sequence[Row], view: View) -> list[str]:
    """`12 topics`, `in 1,200 msg/s`, `out 3,400 msg/s`, `backlog 56 messages`."""
    backlog = Backlog.total(subscription for stats in now.topics.values() for _, subscription in _subscriptions(stats))
    parts = [
        plural(now.total, "topic")
        if len(now.topics) == now.total
        else f"{len(now.topics):,} of {plural(now.total, 'topic')}"
    ]
    for rate, name in (("in", "in"), ("out", "out")):
        if any(column.field == rate for column in view.columns):
            parts.append(f"{name} {sum(row[rate] for row in shown):,.1f} msg/s")
    return [*parts, f"backlog {backlog.words}"]


def _rows(view: View, snapshot: TopicsSnapshot) -> Iterable[Row]:
    for topic, stats in snapshot.topics.items():
        yield from view.rows(topic, stats)


def _of_topic(topic: str, stats: Document) -> Iterable[Row]:
    subscriptions = [subscription for name, subscription in _subscriptions(stats)]
    yield {
        "key": (topic,),
        "topic": short(topic),
        "health": max(map(_health, subscriptions), key=ORDER.index, default=Severity.OK),
        "in": _number(stats, "msgRateIn"),
        "out": _number(stats, "msgRateOut"),
        "bytes_in": _number(stats, "msgThroughputIn"),
        "backlog": Backlog.total(subscriptions),
        "subscriptions": len(subscriptions),
        "producers": len(stats.get("publishers") or []),
        "storage": int(stats.get("storageSize") or 0),
        "in_counter": _number(stats, "msgInCounter"),
        "out_counter": _number(stats, "msgOutCounter"),
        "bytes_in_counter": _number(stats, "bytesInCounter"),
    }


def _of_subscriptions(topic: str, stats: Document) -> Iterable[Row]:
    for name, subscription in _subscriptions(stats):
        yield {
            "key": (topic, name),
            "topic": short(topic),
            "subscription": name,
            "type": str(subscription.get("type") or "None"),
            "health": _health(subscription),
            "consumers": len(subscription.get("consumers") or []),
            "backlog": Backlog.of(subscription),
            "out": _number(subscription, "msgRateOut"),
            "unacked": int(subscription.get("unackedMessages") or 0),
            "delayed": int(subscription.get("msgDelayed") or 0),
            "out_counter": _number(subscription, "msgOutCounter"),
        }


def _of_consumers(topic: str, stats: Document) -> Iterable[Row]:
    for name, subscription in _subscriptions(stats):
        for index, consumer in enumerate(subscription.get("consumers") or []):
            consumer_name = str(consumer.get("consumerName") or index)
            yield {
                "key": (topic, name, consumer_name, str(consumer.get("address"))),
                "topic": short(topic),
                "subscription": name,
                "consumer": consumer_name,
                "address": str(consumer.get("address") or "").lstrip("/"),
                "health": _severity(bool(consumer.get("blockedConsumerOnUnackedMsgs"))),
                "out": _number(consumer, "msgRateOut"),
                "permits": int(consumer.get("availablePermits") or 0),
                "unacked": int(consumer.get("unackedMessages") or 0),
                "out_counter": _number(consumer, "msgOutCounter"),
            }


def _health(subscription: Document) -> Severity:
    """A problem if messages wait without a consumer, or too many are unacknowledged."""
    is_left = Backlog.of(subscription).count > 0 and not subscription.get("consumers")
    return _severity(is_left or bool(subscription.get("blockedSubscriptionOnUnackedMsgs")))


def _severity(is_problem: bool) -> Severity:
    return Severity.PROBLEM if is_problem else Severity.OK


def _subscriptions(stats: Document) -> list[tuple[str, Document]]:
    return [
        (name, subscription)
        for name, subscription in (stats.get("subscriptions") or {}).items()
        if name != COMPACTION_CURSOR
    ]


def _document(fields: Iterable[str], row: Row) -> dict[str, Any]:
    document = {name: _rounded(row[name]) for name in fields}
    backlog = document.get("backlog")
    return document | {"backlog": backlog.count, "backlog_unit": backlog.unit} if backlog else document


def _number(stats: Document, name: str) -> float:
    return float(stats.get(name) or 0)


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def _rate(value: float) -> str:
    return f"{value:,.1f}"


def _count(value: int) -> str:
    return f"{value:,}"


def _backlog(value: Backlog) -> str:
    return value.cell


def _bytes(value: float) -> str:
    return human_size(int(value))


_TOPIC = Column("TOPIC", "topic", is_number=False, is_name=True)
_SUBSCRIPTION = Column("SUBSCRIPTION", "subscription", is_number=False, is_name=True)
HEALTH = Column("HEALTH", "health", is_number=False)
_OUT = Column("OUT/S", "out", _rate)
_BACKLOG = Column("BACKLOG", "backlog", _backlog)
_UNACKED = Column("UNACKED", "unacked", _count)

TOPICS = View(
    "topics",
    (
        _TOPIC,
        HEALTH,
        Column("IN/S", "in", _rate),
        _OUT,
        Column("BYTES IN/S", "bytes_in", _bytes),
        _BACKLOG,
        Column("SUBS", "subscriptions", _count),
        Column("PRODUCERS", "producers", _count),
        Column("STORAGE", "storage", _bytes),
    ),
    _of_topic,
    {"in": "in_counter", "out": "out_counter", "bytes_in": "bytes_in_counter"},
)
SUBSCRIPTIONS = View(
    "subscriptions",
    (
        _TOPIC,
        _SUBSCRIPTION,
        HEALTH,
        Column("TYPE", "type", is_number=False),
        Column("CONSUMERS", "consumers", _count),
        _BACKLOG,
        _OUT,
        _UNACKED,
        Column("DELAYED", "delayed", _count),
    ),
    _of_subscriptions,
    {"out": "out_counter"},
)
CONSUMERS = View(
    "consumers",
    (
        _TOPIC,
        _SUBSCRIPTION,
        Column("CONSUMER", "consumer", is_number=False, is_name=True),
        HEALTH,
        Column("ADDRESS", "address", is_number=False, is_name=True),
        _OUT,
        Column("PERMITS", "permits", _count),
        _UNACKED,
    ),
    _of_consumers,
    {"out": "out_counter"},
)
VIEWS = (TOPICS, SUBSCRIPTIONS, CONSUMERS)
RATE = {"topics": "in", "subscriptions": "out", "consumers": "out"}  # what the sparkline shows
SORT = {"topics": "in", "subscriptions": "backlog", "consumers": "unacked"}
