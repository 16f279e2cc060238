"""`export`, `diff`, and `apply` on a real Pulsar, and between it and this broker."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from broker_core.testing import EmbeddedBroker
from tests.cli.state.samples import OF_NAMESPACES, OF_TOPICS
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.runner import Cli

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(300)]

NAMESPACE, TOPIC = "declared/all", "persistent://declared/all/one"
# With these, Pulsar refuses its own reader of policies; or the only bookie cannot store a topic.
LEFT_OUT = {"persistence", "encryption-required", "subscription-types-enabled", "auto-subscription-creation"}
NEW_OF_NAMESPACES = {"scalable-topic-auto-scale-policy", "allowed-topic-property-keys-for-metrics"}
NEW_OF_TOPICS = {"subscription-expiration-time"}
STATE = """
scope: [moved]
tenants:
  moved: {adminRoles: [boss]}
namespaces:
  moved/a: {bundles: 8, properties: {owner: me}, policies: {message-ttl: 1h}}
  moved/b:
topics:
  moved/a/one: {policies: {max-producers: 3, retention: {retentionTimeInMinutes: 1d, retentionSizeInMB: 1G}}}
  moved/a/parts:
    partitions: 3
    schema: {type: JSON, schema: {type: record, name: A, fields: [{name: a, type: int}]}}
    subscriptions: {billing: {properties: {a: b}}, audit: }
"""


@pytest.fixture
def real(java_pulsar: JavaPulsar, tmp_path: Path) -> Cli:
    return Cli(tmp_path, java_pulsar.http_url, java_pulsar.service_url)


@pytest.fixture
def ours(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> Cli:
    return Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)


def apply(cli: Cli, path: Path, text: str) -> None:
    path.write_text(text)
    done = cli("apply", "-f", str(path), "--prune", "--yes")
    assert done.exit_code == 0, done.stderr
    assert cli("diff", "-f", str(path), "--prune").exit_code == 0


def test_a_state_moves_from_ours_to_pulsar_and_back(ours: Cli, real: Cli, tmp_path: Path) -> None:
    path = tmp_path / "state.yaml"
    apply(ours, path, STATE)
    exported = ours("export", "-n", "moved").stdout
    apply(real, path, exported)
    assert yaml.safe_load(real("export", "-n", "moved").stdout) == yaml.safe_load(exported)
    apply(ours, path, real("export", "-n", "moved").stdout)
    apply(real, path, "scope: [moved]")
    assert "moved" not in real("tenants", "list").stdout.split()


@pytest.mark.parametrize("turn", range(3))
def test_policies_are_applied_exported_and_pruned_on_pulsar(real: Cli, tmp_path: Path, turn: int) -> None:
    path = tmp_path / "state.yaml"
    wanted: dict[str, Any] = {
        "tenants": {"declared": {}},
        "namespaces": {NAMESPACE: {"policies": chosen(OF_NAMESPACES, turn)}},
        "topics": {TOPIC: {"policies": chosen(OF_TOPICS, turn)}},
    }
    apply(real, path, yaml.safe_dump(wanted))
    exported = yaml.safe_load(real("export", "-n", NAMESPACE).stdout)
    assert exported["namespaces"][NAMESPACE]["policies"] == wanted["namespaces"][NAMESPACE]["policies"]
    assert exported["topics"][TOPIC]["policies"] == wanted["topics"][TOPIC]["policies"]
    apply(
        real, path, yaml.safe_dump({"namespaces": {NAMESPACE: {"policies": {}}}, "topics": {TOPIC: {"policies": {}}}})
    )
    apply(real, path, "scope: [declared]")  # other tests compare all tenants


def chosen(samples: dict[str, list[Any]], turn: int) -> dict[str, Any]:
    left_out = LEFT_OUT | NEW_OF_NAMESPACES | (NEW_OF_TOPICS if samples is OF_TOPICS else set())
    return {name: values[turn % len(values)] for name, values in samples.items() if values and name not in left_out}
