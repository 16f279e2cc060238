"""All areas of `doctor`, one after the other."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from pulsarctl.diagnosis.checkup import broker_rules, client_rules, topic_rules
from pulsarctl.diagnosis.checkup.area import Area
from pulsarctl.diagnosis.finding import Finding
from pulsarctl.errors import CliError
from pulsarctl.facts import broker as broker_facts
from pulsarctl.facts import client as client_facts
from pulsarctl.facts import topic_checks as topic_facts
from pulsarctl.facts.topic import on_same_cluster
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms

NAMESPACE = "public/default"  # which most clusters have


@dataclass(frozen=True, slots=True)
class Scope:
    """`namespaces`: those to look at; none: all."""

    namespaces: tuple[str, ...] = ()
    topics_max: int = 500
    timeout_seconds: float = 10.0


def areas(call: Call, scope: Scope) -> list[Area]:
    """Return the areas, without those that need a broker if it does not answer."""
    call.wait_at_most(scope.timeout_seconds)
    ports = broker_facts.ports(call, scope.timeout_seconds)
    is_up = not ports[0].failure
    broker = [broker_rules.port(port) for port in ports] + (list(_broker(call)) if is_up else [])
    if not any(port.failure for port in ports):
        broker += _cluster(call, scope)
    topics = topic_facts.findings(call, scope.namespaces, scope.topics_max) if is_up else [_no_admin_api()]
    by_area = {"client": _client(call, scope), "broker": broker, "topics": topics}
    return [Area(name, tuple(on_same_cluster(call, findings))) for name, findings in by_area.items()]


def _client(call: Call, scope: Scope) -> Iterator[Finding]:
    settings = call.settings
    yield from client_rules.configuration(client_facts.configuration(settings, os.environ))
    yield from client_rules.runtimes(client_facts.runtimes(os.environ))
    certificates = client_facts.seen_certificates(settings, scope.timeout_seconds)
    for certificate in certificates:
        yield client_rules.certificate(certificate, now_ms())
    if not certificates:
        yield client_rules.no_certificates([settings.web_url, settings.service_url])


def _broker(call: Call) -> Iterator[Finding]:
    yield broker_rules.health(broker_facts.health(call))
    yield from broker_rules.versions(broker_facts.versions(call))
    try:
        yield broker_rules.clock(broker_facts.clock_skew_ms(call))
        yield broker_rules.disk(broker_facts.disk(call))
    except CliError as error:
        yield broker_rules.unanswered(error.message)


def _cluster(call: Call, scope: Scope) -> list[Finding]:
    namespace = scope.namespaces[0] if scope.namespaces else NAMESPACE
    names = broker_facts.owners(call.settings, namespace, scope.timeout_seconds)
    return [] if names is None else [broker_rules.cluster(*names)]


def _no_admin_api() -> Finding:
    return topic_rules.not_checked("the admin API does not answer", "pulsarctl brokers healthcheck")
