"""`pulsarctl clusters`, `brokers`, and `version`."""

import json
from pathlib import Path

from broker_core.testing import EmbeddedBroker
from pulsarctl import __version__
from tests.support.runner import Cli, Outcome


def test_the_cluster_of_the_broker_is_listed(cli: Cli) -> None:
    assert cli("clusters", "list") == Outcome(0, "standalone\n", "")


def test_the_cluster_names_its_addresses(cli: Cli, pulsar_broker: EmbeddedBroker) -> None:
    shown = json.loads(cli("clusters", "get", "standalone", "-o", "json").stdout)
    assert (shown["serviceUrl"], shown["brokerServiceUrl"]) == (pulsar_broker.http_url, pulsar_broker.service_url)


def test_an_unknown_cluster_exits_with_3(cli: Cli) -> None:
    outcome = cli("clusters", "get", "nix")
    assert outcome.exit_code == 3
    assert outcome.stderr.startswith("error: Cluster does not exist (404")


def test_a_healthy_broker_says_ok(cli: Cli) -> None:
    assert cli("brokers", "healthcheck") == Outcome(0, "ok\n", "")


def test_a_degraded_broker_fails_its_check_until_the_loss_is_accepted(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "data") as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        assert cli("produce", "t", "-m", "x").exit_code == 0
    for ledger in (tmp_path / "data").rglob("*.ledger"):
        ledger.unlink()
    with EmbeddedBroker(tmp_path / "data") as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        cli("topics", "stats", "t")
        outcome = cli("brokers", "healthcheck")
        assert outcome.exit_code == 1
        assert "the broker is degraded: 1 damaged place" in outcome.stderr
        assert "ledger file is missing" in cli("brokers", "damage").stdout
        assert cli("brokers", "accept-loss").stdout.count("ledger file is missing") == 1
        assert cli("brokers", "healthcheck") == Outcome(0, "ok\n", "")


def test_brokers_are_listed_by_their_web_address(cli: Cli, pulsar_broker: EmbeddedBroker) -> None:
    assert cli("brokers", "list") == Outcome(0, pulsar_broker.http_url.removeprefix("http://") + "\n", "")


def test_version_shows_the_versions_of_pulsarctl_and_the_broker(cli: Cli) -> None:
    lines = cli("version").stdout.splitlines()
    assert lines[0] == f"pulsarctl    {__version__}"
    assert [line.partition(" ")[0] for line in lines] == ["pulsarctl", "python", "broker"]


def test_version_works_without_a_broker(cli_alone: Cli) -> None:
    outcome = cli_alone("version", "--admin-url", "http://127.0.0.1:1")
    assert outcome.exit_code == 0
    assert outcome.stderr.startswith(
        "cannot get the version of the broker: cannot reach the broker at http://127.0.0.1:1"
    )
