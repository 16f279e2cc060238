"""Statistics and policies of topics, subscriptions, namespaces, tenants, and brokers as pages. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pulsarctl.diagnosis.backlog import Backlog
from pulsarctl.diagnosis.finding import Finding
from pulsarctl.diagnosis.open_transactions import Hold, text
from pulsarctl.diagnosis.page import HEALTHY, Fact, Page, Section, bar, health
from pulsarctl.diagnosis.words import age, plural, short
from pulsarctl.values.quantities import human_size

Document = Mapping[str, Any]
POLICIES = "Policies"
NOT_REPORTED = "not reported"  # 0 does not mean never: Apache Pulsar forgets the times with the last consumer


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """`origin`: `topic`, `namespace`, or `broker` for its default. `text`: the value in words, where it has some.

    `failure`: why it cannot be read, so that neither its value nor its origin is known.
    """

    name: str
    value: Any
    origin: str
    text: str = ""
    failure: str = ""


def topic(
    name: str,
    partitions: int,
    stats: Document,
    findings: Sequence[Finding],
    policies: Sequence[PolicyInForce],
    now: int,
    holds: Sequence[Hold] = (),
) -> Page:
    """`stats` of the topic, or summed over its partitions; `now` in milliseconds. `holds`: those of its partitions."""
    domain = name.partition("://")[0] + (f", {plural(partitions, 'partition')}" if partitions else "")
    published = int(stats.get("lastPublishTimeStamp") or 0)
    facts: list[Fact] = [
        ("Domain", domain),
        ("Health", health(findings)),
        ("Rates", f"in {_rates(stats, 'In')}; out {_rates(stats, 'Out')}"),
        ("Storage", human_size(int(stats.get("storageSize") or 0))),
        ("Published", f"{age(now - published)} ago" if published else NOT_REPORTED),
    ]
    if holds:
        facts.append(("Transaction", _held_back(holds, now)))
    return Page(
        "Topic",
        short(name),
        facts,
        (_subscriptions(stats.get("subscriptions") or {}, now), _producers(stats), policy_section(policies)),
    )


def _held_back(holds: Sequence[Hold], now: int) -> str:
    """The hold of the oldest transaction, and in how many other partitions there is one."""
    oldest = min(holds, key=lambda hold: hold.transaction.since_ms if hold.transaction else now)
    others = len(holds) - 1
    more = f"; {plural(others, 'other partition')} {'waits' if others == 1 else 'wait'} for transactions, too"
    return text(oldest, now) + (more if others else "")


def subscription(name: str, of_topic: str, stats: Document, findings: Sequence[Finding], now: int) -> Page:
    delayed, unacked = int(stats.get("msgDelayed") or 0), int(stats.get("unackedMessages") or 0)
    size = int(stats.get("backlogSize") or 0)
    backlog = f"{Backlog.of(stats).words}, {human_size(max(0, size))}"
    acked = int(stats.get("lastAckedTimestamp") or 0)
    facts: list[Fact] = [
        ("Topic", short(of_topic)),
        ("Type", f"{stats.get('type') or 'None'}, {'durable' if stats.get('isDurable', True) else 'not durable'}"),
        ("Health", health(findings)),
        ("Rates", f"out {_rates(stats, 'Out')}; redelivered {float(stats.get('msgRateRedeliver') or 0):,.1f} msg/s"),
        ("Backlog", f"{backlog}; the oldest is {_oldest(stats, now)}" if stats.get("msgBacklog") else "empty"),
        ("Waiting", f"{plural(unacked, 'message')} unacknowledged, {delayed:,} delayed"),
        ("Acked", f"{age(now - acked)} ago" if acked else NOT_REPORTED),
    ]
    rows = [
        (
            str(consumer.get("consumerName")),
            str(consumer.get("address", "")).lstrip("/"),
            f"{float(consumer.get('msgRateOut') or 0):,.1f}/s",
            f"{int(consumer.get('availablePermits') or 0):,}",
            f"{int(consumer.get('unackedMessages') or 0):,}",
        )
        for consumer in stats.get("consumers") or []
    ]
    columns = ("NAME", "ADDRESS", "RATE", "PERMITS", "UNACKED")
    return Page("Subscription", name, facts, (Section("Consumers", columns, rows),))


def namespace(name: str, topics: Document, findings: Sequence[Finding], policies: Sequence[PolicyInForce]) -> Page:
    """`topics`: the statistics of each topic and partition."""
    backlogs = {topic: Backlog.total((stats.get("subscriptions") or {}).values()) for topic, stats in topics.items()}
    total = Backlog.total(
        subscription for stats in topics.values() for subscription in (stats.get("subscriptions") or {}).values()
    )
    incoming = sum(float(stats.get("msgRateIn") or 0) for stats in topics.values())
    outgoing = sum(float(stats.get("msgRateOut") or 0) for stats in topics.values())
    facts: list[Fact] = [
        ("Health", health(findings)),
        ("Rates", f"in {incoming:,.1f} msg/s; out {outgoing:,.1f} msg/s"),
        ("Storage", human_size(sum(int(stats.get("storageSize") or 0) for stats in topics.values()))),
        ("Backlog", total.words),
    ]
    largest = max((topic.count for topic in backlogs.values()), default=0)
    worst = sorted(topics, key=lambda topic: -backlogs[topic].count)
    rows = [
        (
            topic.rpartition("/")[2],
            str(len(topics[topic].get("subscriptions") or {})),
            backlogs[topic].cell,
            bar(backlogs[topic].count, largest),
        )
        for topic in worst
    ]
    columns = ("NAME", "SUBSCRIPTIONS", "BACKLOG", "")
    return Page("Namespace", name, facts, (Section("Topics", columns, rows), policy_section(policies)))


def tenant(name: str, document: Document, namespaces: Document) -> Page:
    """`namespaces`: the number of topics of each."""
    facts: list[Fact] = [
        ("Admins", ", ".join(document.get("adminRoles") or []) or "none"),
        ("Clusters", ", ".join(document.get("allowedClusters") or []) or "none"),
    ]
    rows = [(namespace, str(topics)) for namespace, topics in sorted(namespaces.items())]
    return Page("Tenant", name, facts, (Section("Namespaces", ("NAME", "TOPICS"), rows),))


def broker(name: str, version: str, state: str, configuration: Sequence[tuple[str, str]]) -> Page:
    """`state`: what its health check says."""
    facts: list[Fact] = [("Version", version), ("Health", HEALTHY if state == "ok" else state)]
    return Page("Broker", name, facts, (Section("Settings", ("NAME", "VALUE"), configuration),))


def policy_section(policies: Sequence[PolicyInForce]) -> Section:
    rows = [(policy.name, worded(policy), policy.origin or "unknown") for policy in policies]
    return Section(POLICIES, ("NAME", "VALUE", "SET BY"), rows)


def without_defaults(page: Page) -> Page:
    """The page without the policies that the broker's defaults set."""
    sections = [_set_by_others(section) if section.title == POLICIES else section for section in page.sections]
    return replace(page, sections=sections)


def _set_by_others(policies: Section) -> Section:
    rows = [row for row in policies.rows if row[-1] != "broker"]
    return replace(policies, rows=rows, nothing="the broker's defaults; --all shows them")


def worded(policy: PolicyInForce) -> str:
    """The value in units that people read."""
    value = policy.value
    if policy.failure:
        return "not readable"
    if policy.name == "retention" and isinstance(value, Mapping):
        return _retention(int(value["retentionTimeInMinutes"]), int(value["retentionSizeInMB"]))
    if policy.name == "backlog-quota" and isinstance(value, Mapping):
        return ", ".join(_quotas(value)) or "no limit"
    return policy.text or "none"


def _retention(minutes: int, megabytes: int) -> str:
    if not minutes and not megabytes:
        return "none"
    time = "no time limit" if minutes < 0 else age(minutes * 60_000)
    return f"{time}, {'no size limit' if megabytes < 0 else human_size(megabytes << 20)}"


def _quotas(by_kind: Document) -> Iterator[str]:
    """The quotas that limit anything."""
    for kind, quota in by_kind.items():
        size, seconds = int(quota.get("limitSize") or -1), int(quota.get("limitTime") or -1)
        if (seconds if kind == "message_age" else size) > 0:
            limit = age(seconds * 1000) if kind == "message_age" else human_size(size)
            yield f"{limit} ({quota.get('policy')})"


def _subscriptions(subscriptions: Document, now: int) -> Section:
    largest = max((Backlog.of(stats).count for stats in subscriptions.values()), default=0)
    rows = [
        (
            name,
            str(stats.get("type") or "None"),
            str(len(stats.get("consumers") or [])),
            Backlog.of(stats).cell,
            _oldest(stats, now),
            bar(Backlog.of(stats).count, largest),
        )
        for name, stats in sorted(subscriptions.items())
    ]
    return Section("Subscriptions", ("NAME", "TYPE", "CONSUMERS", "BACKLOG", "OLDEST", ""), rows)


def _producers(stats: Document) -> Section:
    rows = [
        (
            str(producer.get("producerName")),
            str(producer.get("address", "")).lstrip("/"),
            f"{float(producer.get('msgRateIn') or 0):,.1f}/s",
        )
        for producer in stats.get("publishers") or []
    ]
    return Section("Producers", ("NAME", "ADDRESS", "RATE"), rows)


def _oldest(subscription: Document, now: int) -> str:
    published = int(subscription.get("earliestMsgPublishTimeInBacklog") or 0)
    return age(now - published) if published > 0 else "-"


def _rates(stats: Document, direction: str) -> str:
    messages = float(stats.get(f"msgRate{direction}") or 0)
    return f"{messages:,.1f} msg/s, {human_size(int(stats.get(f'msgThroughput{direction}') or 0))}/s"
