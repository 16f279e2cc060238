"""Gathers what `describe` shows, for the pages of `diagnosis.describing`. Changes nothing."""

from typing import Any

from pulsarctl.commands.describe import policies_in_force
from pulsarctl.diagnosis import describing
from pulsarctl.diagnosis.finding import Finding
from pulsarctl.diagnosis.page import Page
from pulsarctl.diagnosis.words import plural
from pulsarctl.errors import CliError, NotFound
from pulsarctl.facts.topic import explain
from pulsarctl.facts.transactions import OpenTransactions
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.values.names import full_topic

SETTINGS = (
    "clusterName",
    "brokerServicePort",
    "webServicePort",
    "defaultRetentionTimeInMinutes",
    "ttlDurationDefaultInSeconds",
)
FLAGS = {"subscriptionBacklogSize": True, "getEarliestTimeInBacklog": True}
TOPICS_MAX = 200  # of a namespace: each costs a request


def topic(call: Call, name: str) -> Page:
    partitions, open_now = call.admin.topics.partitions(name), OpenTransactions(call)
    findings = explain(call, name, None, open_now)
    return describing.topic(
        full_topic(name),
        partitions,
        _stats(call, name, partitions),
        findings,
        policies_in_force.of_topic(call, name),
        now_ms(),
        list(open_now.holds.values()),
    )


def subscription(call: Call, of_topic: str, name: str) -> Page:
    findings = explain(call, of_topic, name)  # raises `NotFound`
    stats = _stats(call, of_topic, call.admin.topics.partitions(of_topic))["subscriptions"][name]
    return describing.subscription(name, full_topic(of_topic), stats, findings, now_ms())


def namespace(call: Call, name: str) -> Page:
    """Describes the first topics by name if there are many, and says so."""
    policies = policies_in_force.of_namespace(call, name)
    names = call.admin.topics.list(name)
    if len(names) > TOPICS_MAX:
        call.notice(f"showing the first {TOPICS_MAX} of {len(names):,} topics")
    if scalable := call.admin.scalable_topics.list_any(name):
        call.notice(f"{plural(len(scalable), 'scalable topic')} not shown")
    stats: dict[str, Any] = {}
    findings: list[Finding] = []
    for topic_name in names[:TOPICS_MAX]:
        try:
            stats[topic_name] = call.admin.topics.stats(topic_name, **FLAGS)
            findings += explain(call, topic_name, None) if stats[topic_name].get("subscriptions") else []
        except NotFound:  # deleted in the meantime
            stats.pop(topic_name, None)
    return describing.namespace(name, stats, findings, policies)


def tenant(call: Call, name: str) -> Page:
    document = call.admin.tenants.get(name)
    counts = {
        namespace: len(call.admin.topics.list(namespace)) + len(call.admin.scalable_topics.list_any(namespace))
        for namespace in call.admin.namespaces.list(name)
    }
    return describing.tenant(name, document, counts)


def broker(call: Call) -> Page:
    try:
        state = call.admin.brokers.healthcheck()
    except CliError as error:
        state = error.message
    runtime = call.admin.brokers.runtime_configuration()
    settings = [(key, str(runtime[key])) for key in SETTINGS if runtime.get(key) not in (None, "")]
    return describing.broker(", ".join(call.admin.brokers.list()), call.admin.brokers.version(), state, settings)


def _stats(call: Call, name: str, partitions: int) -> dict[str, Any]:
    if partitions:
        return call.admin.topics.partitioned_stats(name, perPartition=False, **FLAGS)
    return call.admin.topics.stats(name, **FLAGS)
