"""What `explain`, `doctor`, and `topics delete` say of replicated topics."""

import json

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.cli.diagnosis.findings import findings
from tests.support.clusters import new_namespace, register, replication_stats
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish, send
from tests.support.runner import Cli

SNAPSHOT = 12
QUIET = ("--skip", "no-retention", "--skip", "no-quota")


@pytest.fixture(scope="module")
def away(pulsar_broker: EmbeddedBroker) -> str:
    """A topic with 3 messages for a cluster that no address reaches."""
    register(pulsar_broker, "away", "pulsar://127.0.0.1:1")
    topic = f"persistent://{new_namespace((pulsar_broker,), 'away', ['standalone', 'away'])}/t"
    with RawClient(pulsar_broker.service_url) as client:
        client.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        publish(client, 3)
    wait_until(lambda: replication_stats(pulsar_broker, topic, "away")["lastError"], 30)
    return topic


def with_markers(broker: EmbeddedBroker, topic: str, *payloads: bytes) -> None:
    """What a replicator copies: markers, and messages where the payload is not b"marker"."""
    name = "pulsar.repl.east-->standalone"
    with RawClient(broker.service_url) as client:
        asked = producer(topic, producer_name=name, user_provided_producer_name=True)
        client.ask(asked, BaseCommand.PRODUCER_SUCCESS)
        for number, payload in enumerate(payloads):
            fields = {"marker_type": SNAPSHOT} if payload == b"marker" else {}
            metadata = {"replicated_from": "east", **fields}
            client.send(send(number, payload, name="p", metadata=metadata, marker=bool(fields)))
            client.expect(BaseCommand.SEND_RECEIPT)


def test_a_cluster_that_cannot_be_reached_is_a_problem(cli: Cli, away: str) -> None:
    found = findings(cli, "explain", away)["not-replicated"]
    assert found["finding"] == (
        "Nothing is replicated to cluster away, and 3 entries wait: cannot connect to away at 127.0.0.1:1: "
        "Connection refused."
    )
    assert (found["severity"], found["certainty"]) == ("problem", "exact")
    assert found["command"] == "pulsarctl clusters get away"


def test_doctor_reports_a_topic_that_is_not_replicated(cli: Cli, away: str) -> None:
    ended = cli("doctor", "-n", "public/away", *QUIET, "-o", "json")
    assert ended.exit_code == 12
    assert "not-replicated" in {one["code"] for one in json.loads(ended.stdout)}


def test_deleting_a_replicated_topic_needs_force_and_the_hint_says_so(cli: Cli, away: str) -> None:
    ended = cli("topics", "delete", away)
    assert ended.exit_code == 1
    assert ended.stderr.splitlines()[-1] == "hint: delete it in this cluster only with --force"


def test_a_backlog_of_markers_is_not_a_problem(cli: Cli, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    assert cli("topics", "create-subscription", topic, "-s", "billing").exit_code == 0
    with_markers(pulsar_broker, f"persistent://public/default/{topic}", b"marker", b"marker", b"marker")
    found = findings(cli, "explain", topic, "-s", "billing")
    assert list(found) == ["no-backlog"]
    assert found["no-backlog"]["finding"] == (
        "Every message is acknowledged; 3 markers of replicated subscriptions remain."
    )


def test_a_message_among_markers_is_a_problem(cli: Cli, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    assert cli("topics", "create-subscription", topic, "-s", "billing").exit_code == 0
    with_markers(pulsar_broker, f"persistent://public/default/{topic}", b"marker", b"message", b"marker")
    assert "no-consumer" in findings(cli, "explain", topic, "-s", "billing")
