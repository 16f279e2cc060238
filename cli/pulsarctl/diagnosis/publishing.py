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
READ = (BACKLOG_QUOTAS, MAX_PRODUCERS, SCHEMA_VALIDATION)  # the policies that the rules use, by their REST path


def explain(topic: TopicEvidence) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(topic)]


def closed(one: TopicEvidence) -> Iterator[Finding]:
    state = one.internal.get("state")
    if state == "Terminated":
        yield one.found(
            "terminated",
            Severity.PROBLEM,
            f"The topic is terminated: it accepts no messages after {one.internal.get('lastConfirmedEntry')}.",
            command("topics", "last-message-id", short(one.topic)),
        )
    elif state == "Fenced":
        yield one.found(
            "fenced",
            Severity.PROBLEM,
            "The topic is fenced: it accepts no messages until it is loaded again.",
            command("topics", "unload", short(one.topic)),
        )


def lost(one: TopicEvidence) -> Iterator[Finding]:
    count = int(one.stats.get("lostEntries") or 0)
    if count:
        verb = "is" if count == 1 else "are"
        yield one.found(
            "lost-entries",
            Severity.PROBLEM,
            f"{entries(count)} of the topic {verb} damaged on disk and cannot be read.",
            command("brokers", "damage"),
        )


def over_quota(one: TopicEvidence) -> Iterator[Finding]:
    """A quota that is reached; the broker checks it at an interval, so it may act a little later."""
    quotas = one.policies.get(BACKLOG_QUOTAS) or {}
    size, limit = int(one.stats.get("backlogSize") or 0), _limit(one, quotas, "backlogQuotaLimitSize")
    if 0 < limit <= size:
        yield _quota(one, quotas, "destination_storage", f"{human_size(size)} of {human_size(limit)}")
    oldest = int(one.stats.get("oldestBacklogMessageAgeSeconds") or -1)
    limit = _limit(one, quotas, "backlogQuotaLimitTime")
    if 0 < limit <= oldest:
        yield _quota(one, quotas, "message_age", f"{age(oldest * 1000)} of {age(limit * 1000)}")


def rate_limited(one: TopicEvidence) -> Iterator[Finding]:
    times = int(one.stats.get("publishRateLimitedTimes") or 0)
    if times:
        yield one.found(
            "publish-rate-limited",
            Severity.WARNING,
            f"The publish rate has held producers back {plural(times, 'time')}.",
            command("topics", "get-publish-rate", short(one.topic)),
        )


def producers(one: TopicEvidence) -> Iterator[Finding]:
    connected = list(one.stats.get("publishers") or [])
    limit = int(one.policies.get(MAX_PRODUCERS) or 0)
    waiting = int(one.stats.get("waitingPublishers") or 0)
    if 0 < limit <= len(connected):
        yield one.found(
            "too-many-producers",
            Severity.PROBLEM,
            f"{plural(len(connected), 'producer')} {'is' if len(connected) == 1 else 'are'} connected, which is the "
            "limit: others are refused.",
            command("topics", "get-max-producers", short(one.topic), "-ap"),
        )
    if waiting:
        yield one.found(
            "producers-wait",
            Severity.WARNING,
            f"{plural(waiting, 'producer')} {'waits' if waiting == 1 else 'wait'} for exclusive access.",
            command("topics", "stats", short(one.topic)),
        )


def no_producer(one: TopicEvidence) -> Iterator[Finding]:
    if one.stats.get("publishers") or one.internal.get("state") in ("Terminated", "Fenced"):
        return
    published = int(one.stats.get("lastPublishTimeStamp") or 0)
    last = f"; the last message was published {age(one.now_ms - published)} ago" if published else ""
    yield one.found(
        "no-producer",
        Severity.OK,
        f"No producer is connected{last}.",
        command("produce", short(one.topic), "-m", "hello"),
    )


def schema(one: TopicEvidence) -> Iterator[Finding]:
    """A broker does not report whom it refused, so this names who would be refused."""
    if one.policies.get(SCHEMA_VALIDATION):
        yield one.found(
            "schema-enforced",
            Severity.WARNING,
            "Schemas are enforced: if the topic has a schema, producers without one are refused.",
            command("schemas", "get", short(one.topic)),
            exact=False,
        )
    if one.policies.get(SCHEMA_UPDATES) is False:
        yield one.found(
            "schema-fixed",
            Severity.WARNING,
            "Producers may not upload schemas: one with a schema that the topic does not have is refused.",
            command("schemas", "get", short(one.topic)),
            exact=False,
        )


RULES: tuple[Rule, ...] = (closed, lost, over_quota, rate_limited, producers, schema, no_producer)


def _limit(one: TopicEvidence, quotas: Any, name: str) -> int:
    """The broker's own figure, or that of the policy on a broker that does not report it."""
    if name in one.stats:
        return int(one.stats[name] or -1)
    kind, field = ("destination_storage", "limitSize") if name.endswith("Size") else ("message_age", "limitTime")
    return int((quotas.get(kind) or {}).get(field) or -1)


def _quota(one: TopicEvidence, quotas: Any, kind: str, used: str) -> Finding:
    policy = str((quotas.get(kind) or {}).get("policy") or "")
    effect = REFUSING.get(policy, "producers wait or are refused")
    what = "size" if kind == "destination_storage" else "age"
    return one.found(
        "over-quota",
        Severity.WARNING if policy == "consumer_backlog_eviction" else Severity.PROBLEM,
        f"The {what} of the backlog is over its quota ({used}): {effect}.",
        command("topics", "get-backlog-quotas", short(one.topic), "-ap"),
        exact=bool(policy),
    )
