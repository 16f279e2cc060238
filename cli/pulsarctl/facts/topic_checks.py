"""The topics of a cluster, or of some namespaces, for the rules of `diagnosis.checkup.topic_rules`."""

from collections.abc import Iterator, Sequence

from pulsarctl.diagnosis.checkup import topic_rules, transaction_rules
from pulsarctl.diagnosis.evidence import TopicEvidence
from pulsarctl.diagnosis.finding import Finding
from pulsarctl.errors import CliError, NotFound
from pulsarctl.facts.topic import is_ours, subscription_evidence, topic_evidence
from pulsarctl.facts.transactions import OpenTransactions
from pulsarctl.output.render import Progress
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.values.names import COMPACTION_CURSOR


def namespaces(call: Call) -> list[str]:
    return [namespace for tenant in call.admin.tenants.list() for namespace in call.admin.namespaces.list(tenant)]


def names(call: Call, chosen: Sequence[str]) -> list[str]:
    """The topics and partitions of the chosen namespaces, or of all; without those that Pulsar makes for itself."""
    return _names_in(call, chosen or namespaces(call))


def _names_in(call: Call, searched: Sequence[str]) -> list[str]:
    return [
        topic for namespace in searched for topic in call.admin.topics.list(namespace) if not is_system_topic(topic)
    ]


def is_system_topic(topic: str) -> bool:
    return topic.rpartition("/")[2].startswith("__") or "/pulsar/system/" in topic


def findings(call: Call, chosen: Sequence[str], topics_max: int) -> list[Finding]:
    """Looks at the first `topics_max` topics by name."""
    open_now = OpenTransactions(call)
    try:
        searched = chosen or namespaces(call)
        topics = _names_in(call, searched)
        evidence = list(_evidence(call, topics[:topics_max], open_now))
        scalable = sum(len(call.admin.scalable_topics.list_any(one)) for one in searched)
    except CliError as error:
        return [topic_rules.not_checked(error.message, "pulsarctl brokers healthcheck")]
    result = [finding for topic in evidence for finding in _of_topic(call, topic)]
    result += transaction_rules.transactions(evidence, open_now.known, now_ms())
    result += topic_rules.namespaces(evidence)
    result.append(topic_rules.checked(evidence, scalable))
    if len(topics) > topics_max:
        omitted = f"{len(topics) - topics_max:,} of {len(topics):,} are left out"
        result.append(topic_rules.not_checked(omitted, f"pulsarctl doctor --max-topics {len(topics)}"))
    return result


def _evidence(call: Call, topics: Sequence[str], open_now: OpenTransactions) -> Iterator[TopicEvidence]:
    ours, progress = is_ours(call), Progress(quiet=call.settings.quiet)
    for count, topic in enumerate(topics, 1):
        progress.show(f"{count:,} of {len(topics):,} topics")
        try:
            yield open_now.with_hold(topic_evidence(call, topic, ours, topic_rules.READ))
        except NotFound:  # deleted in the meantime
            continue
    progress.clear()


def _of_topic(call: Call, evidence: TopicEvidence) -> list[Finding]:
    result = list(topic_rules.topic(evidence))
    for name in sorted(evidence.stats.get("subscriptions") or {}):
        if name != COMPACTION_CURSOR:
            result += topic_rules.subscription(subscription_evidence(call, evidence, name, {}))
    return result
