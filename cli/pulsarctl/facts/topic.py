"""Gathers what a broker reports of a topic, for the rules of `diagnosis`. Changes nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pulsarctl.admin.parts import part_names
from pulsarctl.diagnosis import delivery, publishing, replication, transactions
from pulsarctl.diagnosis.evidence import OldestMessage, SubscriptionEvidence, TopicEvidence
from pulsarctl.diagnosis.finding import Finding, worst_first
from pulsarctl.diagnosis.words import command
from pulsarctl.errors import CliError, NotFound
from pulsarctl.facts.transactions import OpenTransactions
from pulsarctl.peek.peeking import MARKER
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms, pause
from pulsarctl.values.names import COMPACTION_CURSOR, full_topic, migrated_name, namespace_of
from pulsarctl.values.times import parse_time_ms

BETWEEN_SECONDS = 1.0  # from one look at the counters of rate limits to the next
SCHEMA_UPDATES = publishing.SCHEMA_UPDATES
THROTTLED = "dispatchThrottled"
MARKERS_MAX = 20  # an idle topic has fewer
HASH_SLOTS = 65536
Document = dict[str, Any]


def explain(
    call: Call, topic: str, subscription: str | None, open_now: OpenTransactions | None = None
) -> list[Finding]:
    """The findings for a topic with its subscriptions, or for one subscription. Raises `NotFound`."""
    findings: list[Finding] = []
    known, ours = False, is_ours(call)
    open_now = open_now or OpenTransactions(call)
    for part in _parts(call, topic):
        part_evidence = open_now.with_hold(topic_evidence(call, part, ours))
        findings += (
            [*publishing.explain(part_evidence), *replication.explain(part_evidence)] if subscription is None else []
        )
        findings += transactions.explain(part_evidence)
        for evidence in subscriptions(call, part_evidence, subscription):
            known = True
            findings += worst_first(delivery.explain(open_now.with_held_acks(evidence)))
    if subscription is not None and not known:
        raise NotFound(
            f"there is no subscription '{subscription}' on {topic}", hint=f"pulsarctl topics subscriptions {topic}"
        )
    return on_same_cluster(call, findings)


def _parts(call: Call, topic: str) -> list[str]:
    """Raises `NotFound`, which names the scalable topic if there is one: a migrated topic is deleted in the end."""
    try:
        return call.admin.topics.parts(topic)
    except NotFound:
        if not _segments(call, topic):
            raise
        name = migrated_name(topic)
        raise NotFound(
            f"there is no topic {full_topic(topic)}, but a scalable topic {name}",
            hint=call.on_same_cluster(command("scalable-topics", "describe", name)),
        ) from None


def on_same_cluster(call: Call, findings: Iterable[Finding]) -> list[Finding]:
    """The findings with commands that reach the cluster of this call."""
    return [replace(finding, command=call.on_same_cluster(finding.command)) for finding in findings]


def topic_evidence(
    call: Call, topic: str, ours: bool, policies: Sequence[str] = (*publishing.READ, SCHEMA_UPDATES)
) -> TopicEvidence:
    """The evidence of one partition, or of a topic without partitions. `policies`: those to read."""
    internal = call.admin.topics.internal_stats(topic) if topic.startswith("persistent") else {}
    is_terminated = internal.get("state") == "Terminated"
    return TopicEvidence(
        topic=topic,
        stats=_stats(call, topic),
        internal=internal,
        now_ms=now_ms(),
        is_ours=ours,
        policies=_policies(call, topic, policies),
        migrated_to=migrated_name(topic) if is_terminated and topic in _segments(call, topic) else "",
    )


def _segments(call: Call, topic: str) -> list[str]:
    """Topics of the segments of the scalable topic with this name. Empty if that topic does not exist."""
    with suppress(CliError):
        return part_names(call.admin, migrated_name(topic))
    return []


def is_ours(call: Call) -> bool:
    """Whether the broker is pulsarctl's, the only one that lists the damage of its data."""
    try:
        call.admin.brokers.damage()
    except CliError:
        return False
    return True


def subscriptions(call: Call, topic: TopicEvidence, only: str | None) -> Iterator[SubscriptionEvidence]:
    before = topic.stats.get("subscriptions") or {}
    chosen = {
        name: stats for name, stats in before.items() if only == name or (only is None and name != COMPACTION_CURSOR)
    }
    increased = _increases(call, topic.topic, chosen)
    for name in sorted(chosen):
        yield subscription_evidence(call, topic, name, increased.get(name, {}))


def subscription_evidence(
    call: Call, topic: TopicEvidence, name: str, throttled_now: Mapping[str, int]
) -> SubscriptionEvidence:
    stats = topic.stats["subscriptions"][name]
    backlog = int(stats.get("msgBacklog") or 0)
    oldest = _oldest(call, topic.topic, name) if backlog else None
    only_markers = oldest is not None and oldest.is_marker and _only_markers(call, topic.topic, name, backlog)
    return SubscriptionEvidence(topic, name, stats, oldest, throttled_now, only_markers=only_markers)


def _stats(call: Call, topic: str) -> Document:
    return call.admin.topics.stats(topic, subscriptionBacklogSize=True, getEarliestTimeInBacklog=True)


def _increases(call: Call, topic: str, before: Document) -> dict[str, dict[str, int]]:
    """Looks twice at the counters of dispatch rates, but only if some were ever limited."""
    limited = {name: stats for name, stats in before.items() if any(_throttled(stats).values())}
    if not limited:
        return {}
    pause(BETWEEN_SECONDS)
    after = _stats(call, topic).get("subscriptions") or {}
    return {
        name: {key: count - _throttled(stats)[key] for key, count in _throttled(after.get(name) or stats).items()}
        for name, stats in limited.items()
    }


def _throttled(subscription: Document) -> dict[str, int]:
    return {name: int(count or 0) for name, count in subscription.items() if name.startswith(THROTTLED)}


def _oldest(call: Call, topic: str, subscription: str) -> OldestMessage | None:
    """The headers of the oldest unacknowledged entry; None if it cannot be read."""
    try:
        _payload, headers = call.admin.topics.peek(topic, subscription, 1)
    except CliError:
        return None
    key = headers.get("X-Pulsar-partition-key", "")
    return OldestMessage(
        message_id=headers.get("X-Pulsar-Message-ID", ""),
        published_ms=_time(headers.get("X-Pulsar-publish-time")),
        deliver_at_ms=_time(headers.get("X-Pulsar-deliver-at-time")),
        key=key,
        key_hashes=sticky_hashes(key) if key else (),
        is_marker=MARKER in headers,
    )


def _only_markers(call: Call, topic: str, subscription: str, backlog: int) -> bool:
    """Whether all entries of a small backlog after the oldest one are markers."""
    if backlog > MARKERS_MAX:
        return False
    try:
        return all(MARKER in call.admin.topics.peek(topic, subscription, number)[1] for number in range(2, backlog + 1))
    except NotFound:  # acknowledged in the meantime
        return True
    except CliError:
        return False


def sticky_hashes(key: str) -> tuple[int, ...]:
    """The hashes of a key in Key_Shared, with ranges and with consistent hashing. 0 means none (PIP-379)."""
    from mmh3 import hash as murmur3_32

    hash_code = int(murmur3_32(key.encode(), 0, False) & 0x7FFFFFFF)
    return (hash_code % HASH_SLOTS or 1, hash_code % (HASH_SLOTS - 1) + 1)


def _time(text: str | None) -> int:
    return parse_time_ms(text, 0) if text else 0


def _policies(call: Call, topic: str, names: Sequence[str]) -> Document:
    """The policies in effect on the topic, without those that the broker does not have or refuses to show."""
    policies: Document = {}
    for name in names:
        with suppress(CliError):
            policies[name] = _schema_updates(call, topic) if name == SCHEMA_UPDATES else _applied(call, topic, name)
    return policies


def _applied(call: Call, topic: str, name: str) -> Any:
    return call.admin.topics.policy(topic, name, applied=True)


def _schema_updates(call: Call, topic: str) -> Any:
    """Only namespaces have this policy."""
    return call.admin.namespaces.policies(namespace_of(topic)).get(SCHEMA_UPDATES)
