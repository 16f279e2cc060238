"""`pulsarctl ops compact` beside `topics compact`, seen by compacted readers of the official client."""

import json
from collections.abc import Iterator
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire.last_places import LastPlaces, LedgerPlaces
from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError
from pulsarctl.settings.settings import Settings
from tests.clients.compacting import read_compacted
from tests.clients.publishing import publish_keyed
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.runner import Cli

pytest.importorskip("pyarrow")

Messages = list[tuple[str | None, bytes]]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    local = request.node.name.replace("[", "-").replace("]", "")
    return f"persistent://public/default/{local}"


def compact(cli: Cli, topic: str) -> list[dict[str, Any]]:
    outcome = cli("ops", "compact", topic, "--engine", "local", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    found: list[dict[str, Any]] = json.loads(outcome.stdout)
    return found


def keyed(first: int, count: int) -> Messages:
    """Twenty keys, a tombstone and a message without a key now and then."""
    found: Messages = []
    for n in range(first, first + count):
        found.append((f"k{n % 20}", b"" if n % 37 == 0 else str(n).encode()))
        if n % 50 == 0:
            found.append((None, b"no key"))
    return found


@pytest.mark.parametrize("batched", [False, True])
def test_the_result_is_the_same_as_that_of_the_broker(
    client: pulsar.Client, cli: Cli, topic: str, batched: bool
) -> None:
    others = f"{topic}-2"
    for first in (0, 100):  # the second compaction builds on the first
        for name in (topic, others):
            publish_keyed(client, name, keyed(first, 100), batched=batched)
        assert compact(cli, topic)[0]["messages"] == len(keyed(first, 100))
        assert cli("topics", "compact", others, "--wait").exit_code == 0
        assert read_compacted(client, topic) == read_compacted(client, others)


def test_each_partition_is_compacted(client: pulsar.Client, cli: Cli, topic: str) -> None:
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    producer = client.create_producer(topic)
    for number in range(40):
        producer.send(str(number).encode(), partition_key=f"k{number % 4}")
    producer.close()
    found = compact(cli, topic)
    assert [each["topic"] for each in found] == [f"{topic}-partition-0", f"{topic}-partition-1"]
    assert sum(each["keys"] for each in found) == 4
    assert sum(len(read_compacted(client, each["topic"])) for each in found) == 4


def test_compacting_twice_keeps_the_result(
    client: pulsar.Client, cli: Cli, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("a", b"2")])
    compact(cli, topic)
    first = loaded(pulsar_broker, topic).compaction.compacted
    again = compact(cli, topic)
    assert (again[0]["messages"], again[0]["compactedEntries"]) == (0, 1)
    assert loaded(pulsar_broker, topic).compaction.compacted is first


def test_a_topic_with_chunked_messages_is_left_to_the_broker(client: pulsar.Client, cli: Cli, topic: str) -> None:
    client.create_producer(topic, chunking_enabled=True).send(bytes(6 << 20), partition_key="large")
    outcome = cli("ops", "compact", topic, "--engine", "local")
    assert outcome.exit_code == 2
    assert "in a job: the message at" in outcome.stderr
    assert f"use: pulsarctl topics compact {topic}" in outcome.stderr


@pytest.fixture
def admin(pulsar_broker: EmbeddedBroker) -> Iterator[AdminClient]:
    found = AdminClient(Settings(web_url=pulsar_broker.http_url))
    yield found
    found.close()


def refusal(admin: AdminClient, topic: str, places: LastPlaces) -> str:
    """Why the broker did not compact with these places."""
    admin.topics.compact_places(topic, places.encode())
    wait_until(lambda: not admin.topics.compaction_status(topic).running, 30)
    return admin.topics.compaction_status(topic).error


def test_wrong_places_leave_the_last_compaction_in_place(
    client: pulsar.Client, cli: Cli, pulsar_broker: EmbeddedBroker, admin: AdminClient, topic: str
) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("b", b"1")])
    compact(cli, topic)
    ledger, entry = horizon = loaded(pulsar_broker, topic).compaction.horizon
    publish_keyed(client, topic, [("a", b"2"), ("c", b"1")])
    few = LedgerPlaces.of(ledger, 1, 1, [(entry + 2, 0)])
    assert "the log has 2, 2, and 1" in refusal(admin, topic, LastPlaces(horizon, (ledger, entry + 2), (few,)))
    assert read_compacted(client, topic) == [("a", b"1"), ("b", b"1"), ("a", b"2"), ("c", b"1")]
    compact(cli, topic)
    assert read_compacted(client, topic) == [("b", b"1"), ("a", b"2"), ("c", b"1")]


def test_places_of_another_range_are_refused(
    client: pulsar.Client, cli: Cli, pulsar_broker: EmbeddedBroker, admin: AdminClient, topic: str
) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("b", b"1")])
    compact(cli, topic)
    ledger, entry = loaded(pulsar_broker, topic).compaction.horizon
    assert "since the job started" in refusal(admin, topic, LastPlaces((-1, -1), (ledger, entry), ()))
    assert "the log ends before" in refusal(admin, topic, LastPlaces((ledger, entry), (ledger, entry + 1), ()))


def test_a_body_that_has_no_places_is_refused(admin: AdminClient, client: pulsar.Client, topic: str) -> None:
    publish_keyed(client, topic, [("a", b"1")])
    with pytest.raises(CliError, match="cannot read the places"):
        admin.topics.compact_places(topic, b"{}")


def test_a_dry_run_compacts_nothing(client: pulsar.Client, cli: Cli, topic: str) -> None:
    publish_keyed(client, topic, [("a", b"1"), ("a", b"2")])
    assert json.loads(cli("ops", "compact", topic, "--dry-run", "-o", "json").stdout)["entries"] == 2
    assert read_compacted(client, topic) == [("a", b"1"), ("a", b"2")]
