"""Answers about transactions as a terminal shows them: with ages, times, and durations. Pure, except for the clock."""

from collections.abc import Mapping
from typing import Any

from pulsarctl.diagnosis.open_transactions import OpenTransaction
from pulsarctl.diagnosis.words import age
from pulsarctl.values.clock import now_ms
from pulsarctl.values.times import utc

Document = dict[str, Any]
TIMES = frozenset({"openTimestamp", "recoverStartTime", "recoverEndTime", "lastSnapshotTimestamps"})
DURATIONS = frozenset({"timeoutAt"})  # in spite of its name


def oldest_first(by_id: Mapping[str, Document] | None) -> Document:
    """Transactions in the order in which they began."""
    return dict(sorted((by_id or {}).items(), key=lambda item: int(item[1].get("openTimestamp") or 0)))


def transactions(by_id: Mapping[str, Document]) -> list[Document] | str:
    """One row for each."""
    return [_row(OpenTransaction.of(metadata)) for metadata in by_id.values()] or "no transactions"


def _row(one: OpenTransaction) -> Document:
    acknowledged = [f"{topic} {name}" for topic, names in one.acknowledged.items() for name in names]
    return {
        "id": one.id,
        "state": one.state,
        "open for": age(one.age_ms(now_ms())),
        "time-out": age(one.timeout_ms),
        "owner": one.owner or None,
        "publishes to": list(one.published),
        "acknowledges": acknowledged,
    }


def coordinators(stats: Document) -> list[Document] | Document:
    """One row for each coordinator, or the stats of the only one that was asked for."""
    if "state" in stats:
        return dict(with_times(stats))
    return [
        {
            "coordinator": number,
            "state": one.get("state"),
            "open": one.get("ongoingTxnSize"),
            "last id": one.get("leastSigBits"),
            "low-water mark": one.get("lowWaterMark"),
            "ready since": _moment(int(one.get("recoverEndTime") or 0)),
        }
        for number, one in stats.items()
    ]


def with_times(value: Any) -> Any:
    """The document with times and durations that people read."""
    if not isinstance(value, dict):
        return value
    return {name: _readable(name, member) for name, member in value.items()}


def _readable(name: str, member: Any) -> Any:
    if name in TIMES and isinstance(member, int):
        return _moment(member)
    return age(member) if name in DURATIONS and isinstance(member, int) else member


def _moment(time_ms: int) -> str | None:
    return f"{utc(time_ms)[:19]}Z, {age(now_ms() - time_ms)} ago" if time_ms > 0 else None
