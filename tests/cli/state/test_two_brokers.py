"""`export` from one broker is applied to another, and back: equal states."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.testing import EmbeddedBroker
from tests.cli.state.conftest import Write
from tests.support.official_client import connect
from tests.support.runner import Cli, Outcome

STATE = """
tenants:
  shop: {adminRoles: [alice, bob]}
namespaces:
  shop/sales:
    bundles: 8
    policies: {message-ttl: 1h, backlog-quota: {message_age: {limitTime: 1h, policy: producer_exception}}}
    permissions: {app: [consume]}
  shop/empty:
topics:
  shop/sales/orders:
    partitions: 3
    policies: {max-producers: 3}
    schema: {type: JSON, schema: {type: record, name: A, fields: [{name: a, type: int}]}}
    subscriptions: {billing: {properties: {a: b}}}
  shop/sales/plain: {permissions: {app: [produce]}, properties: {owner: me}}
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """The command line on a broker whose cluster has another name."""
    config = BrokerConfig(server=ServerConfig(broker_port=0, web_port=0, cluster_name="elsewhere"))
    with EmbeddedBroker(config=config) as broker:
        yield Cli(tmp_path_factory.mktemp("other"), broker.http_url, broker.service_url)


def test_a_state_moves_to_a_cluster_with_another_name_and_back(
    run: Cli, other: Cli, write: Write, tmp_path: Path
) -> None:
    assert run("apply", "-f", write(STATE)).exit_code == 0
    exported = run("export").stdout
    assert other("apply", "-f", write(exported), "--prune", "--yes").exit_code == 0
    assert other("export").stdout == exported
    assert run("diff", "-f", write(other("export").stdout), "--prune").exit_code == 0


def test_json_is_applied_as_well(run: Cli, other: Cli, write: Write) -> None:
    run("apply", "-f", write(STATE))
    assert other("apply", "-f", write(run("export", "-o", "json").stdout, "state.json"), "--yes").exit_code == 0
    assert run("diff", "-f", write(other("export", "-o", "json").stdout, "state.json")).exit_code == 0


def test_a_non_persistent_topic_in_use_is_no_part_of_the_state(
    run: Cli, write: Write, pulsar_broker: EmbeddedBroker
) -> None:
    run("apply", "-f", write(STATE))
    before = run("export").stdout
    client = connect(pulsar_broker.service_url)
    client.subscribe("non-persistent://shop/sales/fleeting", "s")
    assert run("export") == Outcome(0, before, "")
    client.close()


def test_an_export_names_what_the_file_leaves_out(run: Cli, write: Write) -> None:
    run("apply", "-f", write(STATE))
    run("clusters", "update-cluster-migration", "standalone", "--broker-url", "pulsar://elsewhere:6650")
    assert run("namespaces", "update-migration-state", "shop/empty", "--migrated").exit_code == 0
    assert run("export", "-n", "shop/empty").stderr == "notice: the file leaves out migrated of namespace shop/empty\n"


@pytest.mark.parametrize(("name", "what"), [("mistyped", "tenant"), ("public/mistyped", "namespace")])
def test_a_name_that_the_broker_does_not_have_is_not_exported(run: Cli, name: str, what: str) -> None:
    outcome = run("export", "-n", name)
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert f"cannot export {what} {name}: the broker does not have it" in outcome.stderr
