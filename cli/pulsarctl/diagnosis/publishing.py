"""Why nothing is published to a topic, or why the broker refuses it. Pure."""

from collections.abc import Callable, Iterator
from typing import Any

from pulsarctl.diagnosis.evidence import TopicEvidence
from pulsarctl.diagnosis.finding import Finding, Severity
from pulsarctl.diagnosis.words import age, command, entries, plural, short
from pulsarctl.values.quantities import human_size

Rule = Callable[[TopicEvidence], Iterator[Finding]]
REFUSING = {
    "producer_exception": "producers are refused with an exception",
    "producer_request_hold": "producers wait",
    "consumer_backlog_eviction": "the oldest messages are dropped from the backlog",
}
BACKLOG_QUOTAS = "backlogQuotaMap"
MAX_PRODUCERS = "maxProducers"
SCHEMA_VALIDATION = "schemaValidationEnforced"
SCHEMA_UPDATES = "is_allow_auto_update_schema"  # of namespaces only
READ = (BACKLOG_QUOTAS, MAX_PRODUCERS, SCHEMA_VALIDATION)  # the rules use these policies, by their REST path


def explain(topic: TopicEvidence) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(topic)]


def closed(evidence: TopicEvidence) -> Iterator[Finding]:
    state = evidence.internal.get("state")
    if evidence.migrated_to:
        yield evidence.finding(
            "migrated",
            Severity.PROBLEM,
            f"The topic was migrated to a scalable topic: use {evidence.migrated_to}, because this one accepts no "
            "messages.",
            command("scalable-topics", "describe", evidence.migrated_to),
        )
    elif state == "Terminated":
        yield evidence.finding(
            "terminated",
            Severity.PROBLEM,
            f"The topic is terminated: it accepts no messages after {evidence.internal.get('lastConfirmedEntry')}.",
            command("topics", "last-message-id", short(evidence.topic)),
        )
    elif state == "Fenced":
        yield evidence.finding(
            "fenced",
            Severity.PROBLEM,
            "The topic is fenced: it accepts no messages until it is loaded again.",
            command("topics", "unload", short(evidence.topic)),
        )


def lost(evidence: TopicEvidence) -> Iterator[Finding]:
    count = int(evidence.stats.get("lostEntries") or 0)
    if count:
        verb = "is" if count == 1 else "are"
        yield evidence.finding(
            "lost-entries",
            Severity.PROBLEM,
            f"{entries(count)} of the topic {verb} damaged on disk and cannot be read.",
            command("brokers", "damage"),
        )


def over_quota(evidence: TopicEvidence) -> Iterator[Finding]:
    """A quota that is reached; the broker checks it at an interval, so it may act a little later."""
    quotas = evidence.policies.get(BACKLOG_QUOTAS) or {}
    size, limit = int(evidence.stats.get("backlogSize") or 0), _limit(evidence, quotas, "backlogQuotaLimitSize")
    if 0 < limit <= size:
        yield _quota(evidence, quotas, "destination_storage", f"{human_size(size)} of {human_size(limit)}")
    oldest = int(evidence.stats.get("oldestBacklogMessageAgeSeconds") or -1)
    limit = _limit(evidence, quotas, "backlogQuotaLimitTime")
    if 0 < limit <= oldest:
        yield _quota(evidence, quotas, "message_age", f"{age(oldest * 1000)} of {age(limit * 1000)}")


def rate_limited(evidence: TopicEvidence) -> Iterator[Finding]:
    times = int(evidence.stats.get("publishRateLimitedTimes") or 0)
    if times:
        yield evidence.finding(
            "publish-rate-limited",
            Severity.WARNING,
            f"The publish rate has held producers back {plural(times, 'time')}.",
            command("topics", "get-publish-rate", short(evidence.topic)),
        )


def producers(evidence: TopicEvidence) -> Iterator[Finding]:
    connected = list(evidence.stats.get("publishers") or [])
    limit = int(evidence.policies.get(MAX_PRODUCERS) or 0)
    waiting = int(evidence.stats.get("waitingPublishers") or 0)
    if 0 < limit <= len(connected):
        yield evidence.finding(
            "too-many-producers",
            Severity.PROBLEM,
            f"{plural(len(connected), 'producer')} {'is' if len(connected) == 1 else 'are'} connected, which is the "
            "limit: others are refused.",
            command("topics", "get-max-producers", short(evidence.topic), "-ap"),
        )
    if waiting:
        yield evidence.finding(
            "producers-wait",
            Severity.WARNING,
            f"{plural(waiting, 'producer')} {'waits' if waiting == 1 else 'wait'} for exclusive access.",
            command("topics", "stats", short(evidence.topic)),
        )


def no_producer(evidence: TopicEvidence) -> Iterator[Finding]:
    if evidence.stats.get("publishers") or evidence.internal.get("state") in ("Terminated", "Fenced"):
        return
    published = int(evidence.stats.get("lastPublishTimeStamp") or 0)
    last = f"; the last message was published {age(evidence.now_ms - published)} ago" if published else ""
    yield evidence.finding(
        "no-producer",
        Severity.OK,
        f"No producer is connected{last}.",
        command("produce", short(evidence.topic), "-m", "hello"),
    )


def schema(evidence: TopicEvidence) -> Iterator[Finding]:
    """A broker does not report whom it refused, so this names who would be refused."""
    if evidence.policies.get(SCHEMA_VALIDATION):
        yield evidence.finding(
            "schema-enforced",
            Severity.WARNING,
            "Schemas are enforced: if the topic has a schema, producers without one are refused.",
            command("schemas", "get", short(evidence.topic)),
            exact=False,
        )
    if evidence.policies.get(SCHEMA_UPDATES) is False:
        yield evidence.finding(
            "schema-fixed",
            Severity.WARNING,
            "Producers may not upload schemas: one with a schema that the topic does not have is refused.",
            command("schemas", "get", short(evidence.topic)),
            exact=False,
        )


RULES: tuple[Rule, ...] = (closed, lost, over_quota, rate_limited, producers, schema, no_producer)


def _limit(evidence: TopicEvidence, quotas: Any, name: str) -> int:
    """The broker's own figure, or that of the policy on a broker that does not report it."""
    if name in evidence.stats:
        return int(evidence.stats[name] or -1)
    kind, field = ("destination_storage", "limitSize") if name.endswith("Size") else ("message_age", "limitTime")
    return int((quotas.get(kind) or {}).get(field) or -1)


def _quota(evidence: TopicEvidence, quotas: Any, kind: str, used: str) -> Finding:
    policy = str((quotas.get(kind) or {}).get("policy") or "")
    effect = REFUSING.get(policy, "producers wait or are refused")
    aspect = "size" if kind == "destination_storage" else "age"
    return evidence.finding(
        "over-quota",
        Severity.WARNING if policy == "consumer_backlog_eviction" else Severity.PROBLEM,
        f"The {aspect} of the backlog is over its quota ({used}): {effect}.",
        command("topics", "get-backlog-quotas", short(evidence.topic), "-ap"),
        exact=bool(policy),
    )
