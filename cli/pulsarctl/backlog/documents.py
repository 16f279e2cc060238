"""A report as JSON documents. Pure. The names are an interface; docs/how-to/backlog.md lists them."""

from collections.abc import Sequence
from typing import Any

from pulsarctl.backlog.cursor_facts import CursorFacts
from pulsarctl.backlog.heavy_hitters import HeavyHitters
from pulsarctl.backlog.report import PartitionBacklog, Report, SubscriptionBacklog, share
from pulsarctl.backlog.tally import AGE_LIMITS_SECONDS, AGE_NAMES, LargeMessage, Tally

TOP_KEYS = 10
Document = dict[str, Any]


def header(report: Report) -> Document:
    return {
        "takenAt": report.moment.now_ms,
        "exactPer": report.exact_per,
        "target": report.target,
        "cluster": report.cluster,
        "engine": report.engine,
        "tasks": report.tasks,
        "entriesRead": report.entries,
    }


def summary(report: Report, backlog: SubscriptionBacklog) -> Document:
    """The facts that a decision about the backlog needs."""
    tally, live = backlog.tally, backlog.live
    chosen = _chosen_limits(report, backlog)
    return {
        "topic": backlog.topic,
        "subscription": backlog.subscription,
        "verdict": backlog.verdict.word,
        "reason": backlog.verdict.reason,
        "messages": tally.messages,
        "entries": tally.entries,
        "bytes": tally.bytes,
        "oldestPublishTime": tally.oldest_ms,
        "type": live.type or None,
        "consumers": live.consumers,
        "unackedMessages": live.unacked,
        "rates": {"in": live.rate_in, "out": live.rate_out},
        "secondsToEmpty": backlog.seconds_to_empty,
        "trend": _trend(report, backlog),
        **({"whatIf": chosen} if chosen else {}),
    }


def subscription(report: Report, backlog: SubscriptionBacklog) -> Document:
    """All facts about the backlog."""
    tally = backlog.tally
    return summary(report, backlog) | {
        "newestPublishTime": tally.newest_ms,
        "messagesByAge": dict(zip(AGE_NAMES, tally.ages, strict=True)),
        "bytesByAge": dict(zip(AGE_NAMES, tally.age_bytes, strict=True)),
        "delayed": {"messages": tally.delayed_messages, "bytes": tally.delayed_bytes},
        "blockedOnUnacked": backlog.live.is_blocked,
        "ackHoles": _holes(backlog.cursor),
        "keys": _keys(tally),
        "producers": _names(tally.producers, tally.messages, "producer"),
        "schemaVersions": _names(tally.schema_versions, tally.messages, "version"),
        "sizes": _sizes(tally),
        "largest": [_large(message) for message in tally.largest],
        "timeline": _timeline(tally),
        "whatIf": what_if(report, backlog),
        "keptOnlyForThis": _kept(backlog.cursor),
        "partitions": [_partition(message) for message in backlog.partitions] if len(backlog.partitions) > 1 else [],
        "partitionSkew": round(backlog.skew, 3),
    }


def what_if(report: Report, backlog: SubscriptionBacklog) -> Document:
    """The messages that a TTL, a quota, and compaction would remove from this backlog."""
    tally = backlog.tally
    removed = max(tally.keyed_messages - tally.distinct_keys.estimate(), 0)
    return {
        "ttl": [
            {"seconds": limit, "messages": sum(tally.ages[index + 1 :]), "bytes": sum(tally.age_bytes[index + 1 :])}
            for index, limit in enumerate(AGE_LIMITS_SECONDS)
        ],
        "compaction": {
            "removes": removed,
            "keys": tally.distinct_keys.estimate(),
            "withoutKey": tally.messages - tally.keyed_messages - tally.opaque_messages,
        },
        **_chosen_limits(report, backlog),
    }


def _chosen_limits(report: Report, backlog: SubscriptionBacklog) -> Document:
    """The messages that the TTL and the quota of the command line would remove."""
    tally, limits = backlog.tally, Document()
    if report.moment.ttl_seconds is not None:
        chosen = {"seconds": report.moment.ttl_seconds, "messages": tally.expired_messages}
        limits["chosenTtl"] = chosen | {"bytes": tally.expired_bytes}
    if report.quota_bytes is not None:
        messages, size = backlog.quota(report.quota_bytes)
        limits["quota"] = {"limit": report.quota_bytes, "messages": messages, "bytes": size}
    return limits


def _trend(report: Report, backlog: SubscriptionBacklog) -> Document | None:
    trend = report.trend(backlog)
    return None if trend is None else {"since": trend.since_ms, "messages": trend.messages, "bytes": trend.bytes}


def _holes(facts: CursorFacts) -> Document:
    return {
        "count": facts.holes,
        "largest": facts.largest_hole,
        "acknowledgedEntries": facts.acked_above,
        "map": [
            {"ledgerId": ledger.ledger_id, "entries": ledger.entries, "acknowledged": list(ledger.acked)}
            for ledger in facts.map
        ],
    }


def _kept(facts: CursorFacts) -> Document:
    return {"ledgers": facts.kept_ledgers, "entries": facts.kept_entries, "bytes": facts.kept_bytes}


def _keys(tally: Tally) -> Document:
    return {
        "keyedMessages": tally.keyed_messages,
        "distinct": tally.distinct_keys.estimate(),
        "distinctIsExact": tally.distinct_keys.is_exact,
        "unreadable": tally.opaque_messages,
        "error": tally.keys.error,
        "top": _names(tally.keys, tally.keyed_messages, "key"),
    }


def _names(hitters: HeavyHitters, total: int, label: str) -> list[Document]:
    return [{label: name, "messages": n, "share": share(n, total)} for name, n in hitters.top(TOP_KEYS)]


def _sizes(tally: Tally) -> list[Document]:
    """Only buckets that hold something; `below` is excluded."""
    return [{"below": 1 << bits, "messages": number} for bits, number in enumerate(tally.sizes) if number]


def _large(message: LargeMessage) -> Document:
    return {
        "messageId": f"{message.ledger_id}:{message.entry_id}",
        "batchIndex": message.batch_index,
        "topic": message.partition,
        "size": message.size,
        "producer": message.producer,
        "publishTime": message.publish_time_ms,
    }


def _timeline(tally: Tally) -> Document:
    line = tally.timeline
    first = min(line.counts, default=0)
    counts: Sequence[int] = [line.counts.get(index, 0) for index in range(first, max(line.counts, default=-1) + 1)]
    return {"start": first * line.width_ms, "bucketMs": line.width_ms, "messages": list(counts)}


def _partition(backlog: PartitionBacklog) -> Document:
    return {
        "topic": backlog.topic,
        "messages": backlog.tally.messages,
        "entries": backlog.tally.entries,
        "bytes": backlog.tally.bytes,
        "oldestPublishTime": backlog.tally.oldest_ms,
        "consumers": backlog.live.consumers,
        "unackedMessages": backlog.live.unacked,
        "rates": {"in": backlog.live.rate_in, "out": backlog.live.rate_out},
        "ackHoles": _holes(backlog.cursor),
        "keptOnlyForThis": _kept(backlog.cursor),
    }
