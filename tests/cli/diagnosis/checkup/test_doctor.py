"""`pulsarctl doctor`: a real broker is brought into each state, and a finding says so."""

import json
import os
from pathlib import Path
from typing import Any

import pulsar
import pytest
from pulsar import ConsumerType

from broker_core.testing import EmbeddedBroker
from tests.cli.diagnosis.findings import eventually
from tests.cli.publishing import publish
from tests.support.http_stub import HttpStub, Reply
from tests.support.runner import Cli

QUIET = ("--skip", "no-retention", "--skip", "no-quota")


@pytest.fixture
def namespace(cli: Cli, request: pytest.FixtureRequest) -> str:
    """A namespace for this test, because the tests share a broker."""
    name = f"public/{request.node.name[:60]}"
    assert cli("namespaces", "create", name).exit_code == 0
    return name


@pytest.fixture
def topic(namespace: str) -> str:
    return f"{namespace}/orders"


def found(cli: Cli, namespace: str, *words: str) -> dict[str, dict[str, Any]]:
    return {one["code"]: one for one in json.loads(cli("doctor", "-n", namespace, *words, "-o", "json").stdout)}


def test_a_healthy_broker_has_nothing_to_do(cli: Cli, namespace: str) -> None:
    outcome = cli("doctor", "-n", namespace, *QUIET, "--skip", "disk-full")  # the disk of this machine may be
    assert outcome.exit_code == 0, outcome.stdout
    assert outcome.stdout.endswith("0 problems, 0 warnings\n")


def test_the_scalable_topics_that_are_not_checked_are_counted(cli: Cli, namespace: str) -> None:
    assert cli("scalable-topics", "create", f"topic://{namespace}/orders").exit_code == 0
    assert found(cli, namespace)["topics"]["finding"] == (
        "0 topics with 0 subscriptions were checked. 1 scalable topic was not."
    )


def test_each_finding_has_an_area_a_sentence_and_where_addresses_come_from(
    cli: Cli, namespace: str, pulsar_broker: EmbeddedBroker
) -> None:
    one = found(cli, namespace)["addresses"]
    assert (one["area"], one["severity"], one["command"]) == ("client", "ok", "pulsarctl context show --resolved")
    assert one["finding"] == (
        f"The admin API is {pulsar_broker.http_url} (from PULSARCTL_ADMIN_URL), and the broker is "
        f"{pulsar_broker.service_url} (from PULSARCTL_SERVICE_URL)."
    )


def test_addresses_of_two_clusters_are_a_problem(cli: Cli, pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "other") as other:
        one = found(cli, "public/default", "--url", other.service_url)["other-cluster"]
        assert (one["area"], one["severity"], one["certainty"]) == ("broker", "problem", "likely")
        assert one["finding"] == (
            "The admin API and the broker belong to two clusters: for the owner of a topic, the admin API names "
            f"{pulsar_broker.service_url.removeprefix('pulsar://')}, and the broker names "
            f"{other.service_url.removeprefix('pulsar://')}."
        )


def test_what_the_broker_reports_of_itself(cli: Cli, namespace: str) -> None:
    codes = {code for code, one in found(cli, namespace).items() if one["area"] == "broker"}
    assert codes - {"disk", "disk-full"} == {
        "admin-API-answers",
        "broker-answers",
        "one-cluster",
        "healthy",
        "versions",
        "clock",
    }
    assert len(codes & {"disk", "disk-full"}) == 1


def test_a_subscription_without_a_consumer_is_a_problem(
    cli: Cli, client: pulsar.Client, namespace: str, topic: str
) -> None:
    client.subscribe(topic, "billing").close()
    publish(client, topic, "a")
    outcome = cli("doctor", "-n", namespace, *QUIET)
    assert outcome.exit_code == 12
    assert f"{topic}, subscription billing\n  problem  No consumer is connected" in outcome.stdout


def test_a_hole_in_the_acknowledgments_is_a_warning(
    cli: Cli, client: pulsar.Client, namespace: str, topic: str
) -> None:
    consumer = client.subscribe(topic, "billing", ConsumerType.Shared)
    publish(client, topic, "a", "b")
    consumer.receive(5000)
    consumer.acknowledge(consumer.receive(5000))
    one = eventually(cli, "ack-hole", "doctor", "-n", namespace)
    assert (one["topic"], one["subscription"]) == (f"persistent://{topic}", "billing")
    assert cli("doctor", "-n", namespace, *QUIET).exit_code == 11


def test_topics_without_quota_and_retention_are_named_once_for_a_namespace(
    cli: Cli, client: pulsar.Client, namespace: str
) -> None:
    for name in ("a", "b"):
        client.subscribe(f"{namespace}/{name}", "billing").close()
    codes = found(cli, namespace)
    assert codes["no-quota"]["finding"] == (
        f"2 topics of {namespace} ('a' and 'b') have no backlog quota: a subscription that is not consumed can fill "
        "the disk."
    )
    assert codes["no-retention"]["command"] == f"pulsarctl namespaces set-retention {namespace} -t 1d -s 20G"


def test_following_the_commands_makes_the_warnings_go_away(
    cli: Cli, client: pulsar.Client, namespace: str, topic: str
) -> None:
    client.subscribe(topic, "billing").close()
    for code in ("no-quota", "no-retention"):
        command = found(cli, namespace)[code]["command"]
        assert cli(*command.split()[1:]).exit_code == 0, command
    assert not {"no-quota", "no-retention"} & set(found(cli, namespace))


def test_producers_whose_messages_are_deleted(cli: Cli, client: pulsar.Client, namespace: str, topic: str) -> None:
    producer = client.create_producer(topic)
    assert found(cli, namespace)["nothing-kept"]["topic"].endswith(topic)
    producer.close()


def test_compaction_that_does_not_keep_up(cli: Cli, client: pulsar.Client, namespace: str, topic: str) -> None:
    assert cli("topics", "create", topic).exit_code == 0
    assert cli("topics", "set-compaction-threshold", topic, "-t", "1K").exit_code == 0
    publish(client, topic, "x" * 5000)  # the broker looks at thresholds once a minute
    assert found(cli, namespace)["compaction-behind"]["finding"].endswith("compaction should start at 1.0 KiB.")


def test_more_topics_than_the_limit_are_left_out_and_said_to_be(
    cli: Cli, client: pulsar.Client, namespace: str
) -> None:
    for name in ("a", "b"):
        publish(client, f"{namespace}/{name}", "a")
    one = found(cli, namespace, "--max-topics", "1")["topics-not-checked"]
    assert one["finding"] == "Topics were not checked: 1 of 2 are left out."


def test_a_broker_that_does_not_answer_is_a_problem_and_no_failure(cli_alone: Cli) -> None:
    outcome = cli_alone("doctor", "--admin-url", "http://127.0.0.1:1", "--url", "pulsar://127.0.0.1:1", "-o", "json")
    codes = [one["code"] for one in json.loads(outcome.stdout)]
    assert outcome.exit_code == 12
    assert {"admin-API-unreachable", "broker-unreachable", "topics-not-checked"} <= set(codes)


def test_addresses_from_two_sources_with_two_hosts(cli_alone: Cli) -> None:
    outcome = cli_alone("doctor", "--admin-url", "http://127.0.0.1:1", "--timeout", "1s", "-o", "json")
    assert "two-clusters" in [one["code"] for one in json.loads(outcome.stdout)]


@pytest.mark.skipif(os.name != "posix", reason="other systems have no permissions for groups")
def test_a_token_file_that_others_can_read(cli: Cli, namespace: str, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("abc")
    secret.chmod(0o644)
    one = found(cli, namespace, "--token-file", str(secret))["exposed-secret"]
    assert one["command"] == f"chmod 600 {secret}"
    secret.chmod(0o600)
    assert "exposed-secret" not in found(cli, namespace, "--token-file", str(secret))


def test_a_clock_that_is_wrong(cli_alone: Cli) -> None:
    with HttpStub(lambda request: Reply(200, "4.0.7", {"Date": "Thu, 01 Jan 2026 00:00:00 GMT"})) as stub:
        outcome = cli_alone("doctor", "--admin-url", stub.url, "--url", "pulsar://127.0.0.1:1", "-o", "json")
    one = next(one for one in json.loads(outcome.stdout) if one["code"] == "clock-skew")
    assert one["severity"] == "problem"
    assert "behind this machine's" in one["finding"]


def test_a_broker_of_apache_pulsar_is_not_taken_for_ours(cli_alone: Cli) -> None:
    """It takes `/brokers/damage` for the brokers of a cluster."""
    with HttpStub(lambda request: Reply(200, ["localhost:8080"] if "damage" in request.path else "4.0.7")) as stub:
        outcome = cli_alone("doctor", "--admin-url", stub.url, "--url", "pulsar://127.0.0.1:1", "-o", "json")
        damage = cli_alone("brokers", "damage", "--admin-url", stub.url)
    sentence = next(one["finding"] for one in json.loads(outcome.stdout) if one["code"] == "versions")
    assert sentence.endswith("the broker is Apache Pulsar 4.0.7.")
    assert damage.exit_code == 3
