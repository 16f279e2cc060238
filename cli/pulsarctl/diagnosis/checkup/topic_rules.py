"""What is wrong with topics. Pure.

Stuck subscriptions and replicators, holes, compaction behind, no retention, no quota.
"""

from collections.abc import Iterable, Iterator, Sequence

from pulsarctl.diagnosis import delivery, publishing, replication
from pulsarctl.diagnosis.evidence import SubscriptionEvidence, TopicEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.words import age, command, listed, plural, short
from pulsarctl.values.names import namespace_of
from pulsarctl.values.quantities import human_size

RETENTION = "retention"
COMPACTION_THRESHOLD = "compactionThreshold"
COMPACTOR = "__compaction"
READ = (RETENTION, publishing.BACKLOG_QUOTAS, COMPACTION_THRESHOLD)  # the policies that the rules use
ON_PURPOSE = ("terminated",)  # a topic is terminated by its owner
BEHIND = 2  # times the threshold


def topic(one: TopicEvidence) -> Iterator[Finding]:
    """The problems of publishing and replication, and what only a whole topic shows."""
    for each in publishing.explain(one):
        if each.severity is Severity.PROBLEM and each.code not in ON_PURPOSE:
            yield each
    yield from replication.explain(one)
    yield from _compaction(one)
    yield from _nothing_kept(one)


def subscription(one: SubscriptionEvidence) -> Iterator[Finding]:
    """What keeps it from delivering, and holes. What `explain` says besides is no reason to act."""
    for each in delivery.explain(one):
        if each.severity is Severity.PROBLEM or each.code == "ack-hole":
            yield each


def namespaces(topics: Sequence[TopicEvidence]) -> Iterator[Finding]:
    """One finding for each namespace whose topics have no quota, or no retention."""
    yield from _each_namespace(
        "no-quota",
        (one for one in topics if _has_no_quota(one)),
        "no backlog quota: a subscription that is not consumed can fill the disk",
        "set-backlog-quota",
        ("-l", "10G", "-p", "producer_request_hold"),
    )
    yield from _each_namespace(
        "no-retention",
        (one for one in topics if _has_no_retention(one)),
        "no retention: acknowledged messages are deleted and cannot be read again",
        "set-retention",
        ("-t", "1d", "-s", "20G"),
    )


def checked(topics: Sequence[TopicEvidence]) -> Finding:
    subscriptions = sum(len(one.stats.get("subscriptions") or {}) for one in topics)
    return Finding(
        "topics",
        Severity.OK,
        f"{plural(len(topics), 'topic')} with {plural(subscriptions, 'subscription')} "
        f"{'was' if len(topics) == 1 else 'were'} checked.",
    )


def not_checked(reason: str, step: str) -> Finding:
    return Finding("topics-not-checked", Severity.WARNING, f"Topics were not checked: {reason}.", step)


def _compaction(one: TopicEvidence) -> Iterator[Finding]:
    state = one.stats.get("compaction") or {}
    failed, succeeded = (int(state.get(f"lastCompaction{word}Timestamp") or 0) for word in ("Failed", "Succeed"))
    status = command("topics", "compaction-status", short(one.topic))
    if failed > succeeded:
        yield one.found(
            "compaction-failed", Severity.PROBLEM, f"The last compaction failed {age(one.now_ms - failed)} ago.", status
        )
    threshold = int(one.policies.get(COMPACTION_THRESHOLD) or 0)
    size = _not_compacted(one)
    if 0 < threshold * BEHIND <= size:
        yield one.found(
            "compaction-behind",
            Severity.WARNING,
            f"{human_size(size)} are not compacted, and compaction should start at {human_size(threshold)}.",
            status,
        )


def _not_compacted(one: TopicEvidence) -> int:
    """In bytes. A topic that was never compacted has no subscription of the compactor."""
    compactor = (one.stats.get("subscriptions") or {}).get(COMPACTOR)
    return int(one.stats.get("storageSize") or 0) if compactor is None else int(compactor.get("backlogSize") or 0)


def _nothing_kept(one: TopicEvidence) -> Iterator[Finding]:
    if one.stats.get("publishers") and not _subscriptions(one) and _has_no_retention(one):
        yield one.found(
            "nothing-kept",
            Severity.WARNING,
            "The topic has producers, but neither a subscription nor retention: its messages are deleted.",
            command("topics", "set-retention", short(one.topic), "-t", "1d", "-s", "20G"),
        )


def _subscriptions(one: TopicEvidence) -> list[str]:
    return [name for name in one.stats.get("subscriptions") or {} if name != COMPACTOR]


def _has_no_retention(one: TopicEvidence) -> bool:
    """False if the policy cannot be read."""
    found = one.policies.get(RETENTION)
    return isinstance(found, dict) and 0 in (found.get("retentionTimeInMinutes"), found.get("retentionSizeInMB"))


def _has_no_quota(one: TopicEvidence) -> bool:
    """False if the policy cannot be read, or nothing can have a backlog."""
    found = one.policies.get(publishing.BACKLOG_QUOTAS)
    if not isinstance(found, dict) or not _subscriptions(one):
        return False
    limits = [int(quota.get(field) or -1) for quota in found.values() for field in ("limitSize", "limitTime")]
    return all(limit < 0 for limit in limits)


def _each_namespace(
    code: str, topics: Iterable[TopicEvidence], lack: str, verb: str, example: tuple[str, ...]
) -> Iterator[Finding]:
    found: dict[str, list[str]] = {}
    for one in topics:
        found.setdefault(namespace_of(one.topic), []).append(one.topic.rpartition("/")[2])
    for namespace, names in sorted(found.items()):
        verb_form = "has" if len(names) == 1 else "have"
        yield Finding(
            code,
            Severity.WARNING,
            f"{plural(len(names), 'topic')} of {namespace} ({listed(sorted(names))}) {verb_form} {lack}.",
            command("namespaces", verb, namespace, *example),
        )
