"""Rules that find the problems of topics. Pure.

Stuck subscriptions and replicators, holes, compaction behind, no retention, no quota.
"""

from collections.abc import Iterable, Iterator, Sequence

from pulsarctl.diagnosis import delivery, publishing, replication
from pulsarctl.diagnosis.evidence import SubscriptionEvidence, TopicEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.words import age, command, listed, plural, short
from pulsarctl.values.names import COMPACTION_CURSOR, namespace_of
from pulsarctl.values.quantities import human_size

RETENTION = "retention"
COMPACTION_THRESHOLD = "compactionThreshold"
READ = (RETENTION, publishing.BACKLOG_QUOTAS, COMPACTION_THRESHOLD)  # the policies that the rules use
ON_PURPOSE = ("terminated", "migrated")  # its owner has done that
BEHIND = 2  # times the threshold


def topic(evidence: TopicEvidence) -> Iterator[Finding]:
    """The problems of publishing, replication, compaction, and retention."""
    for finding in publishing.explain(evidence):
        if finding.severity is Severity.PROBLEM and finding.code not in ON_PURPOSE:
            yield finding
    yield from replication.explain(evidence)
    yield from _compaction(evidence)
    yield from _nothing_kept(evidence)


def subscription(evidence: SubscriptionEvidence) -> Iterator[Finding]:
    """The problems that stop its delivery, and holes. The other findings of `explain` are not a reason to act."""
    for finding in delivery.explain(evidence):
        if finding.severity is Severity.PROBLEM or finding.code == "ack-hole":
            yield finding


def namespaces(topics: Sequence[TopicEvidence]) -> Iterator[Finding]:
    """One finding for each namespace whose topics have no quota, or no retention."""
    yield from _each_namespace(
        "no-quota",
        (evidence for evidence in topics if _has_no_quota(evidence)),
        "no backlog quota: a subscription that is not consumed can fill the disk",
        "set-backlog-quota",
        ("-l", "10G", "-p", "producer_request_hold"),
    )
    yield from _each_namespace(
        "no-retention",
        (evidence for evidence in topics if _has_no_retention(evidence)),
        "no retention: acknowledged messages are deleted and cannot be read again",
        "set-retention",
        ("-t", "1d", "-s", "20G"),
    )


def checked(topics: Sequence[TopicEvidence], scalable: int) -> Finding:
    """`scalable` is the number of scalable topics, which no rule is about."""
    subscriptions = sum(len(evidence.stats.get("subscriptions") or {}) for evidence in topics)
    sentence = (
        f"{plural(len(topics), 'topic')} with {plural(subscriptions, 'subscription')} "
        f"{'was' if len(topics) == 1 else 'were'} checked."
    )
    if scalable:
        sentence += f" {plural(scalable, 'scalable topic')} {'was' if scalable == 1 else 'were'} not."
    return Finding("topics", Severity.OK, sentence)


def not_checked(reason: str, step: str) -> Finding:
    return Finding("topics-not-checked", Severity.WARNING, f"Topics were not checked: {reason}.", step)


def _compaction(evidence: TopicEvidence) -> Iterator[Finding]:
    state = evidence.stats.get("compaction") or {}
    failed, succeeded = (int(state.get(f"lastCompaction{word}Timestamp") or 0) for word in ("Failed", "Succeed"))
    status = command("topics", "compaction-status", short(evidence.topic))
    if failed > succeeded:
        yield evidence.finding(
            "compaction-failed",
            Severity.PROBLEM,
            f"The last compaction failed {age(evidence.now_ms - failed)} ago.",
            status,
        )
    threshold = int(evidence.policies.get(COMPACTION_THRESHOLD) or 0)
    size = _not_compacted(evidence)
    if 0 < threshold * BEHIND <= size:
        yield evidence.finding(
            "compaction-behind",
            Severity.WARNING,
            f"{human_size(size)} are not compacted, and compaction should start at {human_size(threshold)}.",
            status,
        )


def _not_compacted(evidence: TopicEvidence) -> int:
    """The bytes that are not compacted. A topic that was never compacted has no subscription of the compactor."""
    compactor = (evidence.stats.get("subscriptions") or {}).get(COMPACTION_CURSOR)
    return int(evidence.stats.get("storageSize") or 0) if compactor is None else int(compactor.get("backlogSize") or 0)


def _nothing_kept(evidence: TopicEvidence) -> Iterator[Finding]:
    if evidence.stats.get("publishers") and not _subscriptions(evidence) and _has_no_retention(evidence):
        yield evidence.finding(
            "nothing-kept",
            Severity.WARNING,
            "The topic has producers, but neither a subscription nor retention: its messages are deleted.",
            command("topics", "set-retention", short(evidence.topic), "-t", "1d", "-s", "20G"),
        )


def _subscriptions(evidence: TopicEvidence) -> list[str]:
    return [name for name in evidence.stats.get("subscriptions") or {} if name != COMPACTION_CURSOR]


def _has_no_retention(evidence: TopicEvidence) -> bool:
    """False if the policy cannot be read."""
    retention = evidence.policies.get(RETENTION)
    return isinstance(retention, dict) and 0 in (
        retention.get("retentionTimeInMinutes"),
        retention.get("retentionSizeInMB"),
    )


def _has_no_quota(evidence: TopicEvidence) -> bool:
    """False if the policy cannot be read, or nothing can have a backlog."""
    quotas = evidence.policies.get(publishing.BACKLOG_QUOTAS)
    if not isinstance(quotas, dict) or not _subscriptions(evidence):
        return False
    limits = [int(quota.get(field) or -1) for quota in quotas.values() for field in ("limitSize", "limitTime")]
    return all(limit < 0 for limit in limits)


def _each_namespace(
    code: str, topics: Iterable[TopicEvidence], lack: str, verb: str, example: tuple[str, ...]
) -> Iterator[Finding]:
    by_namespace: dict[str, list[str]] = {}
    for evidence in topics:
        by_namespace.setdefault(namespace_of(evidence.topic), []).append(evidence.topic.rpartition("/")[2])
    for namespace, names in sorted(by_namespace.items()):
        verb_form = "has" if len(names) == 1 else "have"
        yield Finding(
            code,
            Severity.WARNING,
            f"{plural(len(names), 'topic')} of {namespace} ({listed(sorted(names))}) {verb_form} {lack}.",
            command("namespaces", verb, namespace, *example),
        )
