"""`pulsarctl migrate`: the target has the same state, messages, and backlogs, whatever happened on the way."""

import contextlib
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest
from pulsar.schema import JsonSchema, Record, String

from broker_core.testing import EmbeddedBroker
from tests.cli.migration.clusters import Cluster, messages, unread
from tests.support.official_client import connect
from tests.support.runner import Cli

NAMESPACE = "shop/orders"
TOPICS = [f"persistent://{NAMESPACE}/{name}" for name in ("plain", "parted-partition-0", "parted-partition-1")]
KILLS = 4


class Order(Record):  # type: ignore[misc]  # the client has no types
    name = String()


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """A source with a bit of everything, and an empty target; the contexts are `old` and `new`."""
    with EmbeddedBroker() as old, EmbeddedBroker() as new:
        source, target = Cluster(old, tmp_path, "old"), Cluster(new, tmp_path, "new")
        for each in (source, target):
            each.save_context()
        fill(source)
        yield source, target


def fill(source: Cluster) -> None:
    for words in (
        "tenants create shop --admin-roles boss",
        f"namespaces create {NAMESPACE}",
        f"namespaces set-message-ttl {NAMESPACE} -ttl 1h",
        f"namespaces grant-permission {NAMESPACE} --role app --actions produce,consume",
        f"topics create-partitioned-topic {NAMESPACE}/parted -p 2",
        f"topics create {NAMESPACE}/plain",
        f"topics set-max-producers {NAMESPACE}/plain -p 7",
        f"topics create-subscription {NAMESPACE}/parted -s all",
    ):
        source.run(words)
    client = connect(source.service_url)
    holes = client.subscribe(TOPICS[0], "holes", consumer_type=pulsar.ConsumerType.Shared)
    for topic, schema in ((f"{NAMESPACE}/parted", None), (TOPICS[0], JsonSchema(Order))):
        producer = client.create_producer(
            topic, schema=schema or pulsar.schema.BytesSchema(), batching_enabled=False, block_if_queue_full=True
        )
        for number in range(3000):
            producer.send_async(Order(name=str(number)) if schema else b"%d" % number, None, partition_key=str(number))
        producer.flush()
    for number in range(900):
        message = holes.receive(5000)
        if number % 100:
            holes.acknowledge(message)
    client.close()


@pytest.mark.parametrize("words", ["migrate old again --topic empty --yes", "topics copy empty --to again"])
def test_one_cluster_under_two_addresses_is_refused(clusters: tuple[Cluster, Cluster], words: str) -> None:
    source, _ = clusters
    admin_url, url = (url.replace("localhost", "127.0.0.1") for url in (source.http_url, source.service_url))
    assert admin_url != source.http_url
    source.run(f"--admin-url {admin_url} --url {url} context set again")
    source.run("topics create empty")
    outcome = source.cli(*words.split())
    assert outcome.exit_code == 2
    assert "to itself" in outcome.stderr and "are the same cluster" in outcome.stderr
    assert "pulsarctl-copy" not in source.run("topics subscriptions empty")


@pytest.mark.parametrize(
    ("option", "name", "what"),
    [
        ("--tenant", "mistyped", "tenant mistyped"),
        ("--namespace", "shop/mistyped", "namespace shop/mistyped"),
        ("--topic", f"{NAMESPACE}/mistyped", f"topic persistent://{NAMESPACE}/mistyped"),
    ],
)
def test_a_name_that_the_source_does_not_have_changes_nothing(
    clusters: tuple[Cluster, Cluster], option: str, name: str, what: str
) -> None:
    _, target = clusters
    outcome = target.cli("migrate", "old", "new", option, name, "--yes")
    assert outcome.exit_code == 3
    assert f"cannot migrate {what}: old does not have it" in outcome.stderr
    assert "shop" not in target.cli("tenants", "list").stdout


def test_everything_is_on_the_other_side(clusters: tuple[Cluster, Cluster]) -> None:
    source, target = clusters
    expected = source.run("export -n shop")
    kept = [messages(source.service_url, topic) for topic in TOPICS]
    left = unread(source.service_url, TOPICS[0], "holes")
    assert "shop/orders" in source.run("--dry-run migrate old new --tenant shop")
    assert target.cli("tenants", "get", "shop").exit_code == 3
    program = [sys.executable, "-m", "pulsarctl", "migrate", "old", "new", "--tenant", "shop", "--switch", "--yes"]
    chosen = random.Random(3)
    for _ in range(KILLS):
        with subprocess.Popen(program, env=source.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(1.0 + chosen.random() * 2)
            one.kill()
    for _ in range(2):  # the second finds everything finished
        source.run("migrate old new --tenant shop --switch --yes")
    assert target.run("export -n shop") == expected
    assert [messages(target.service_url, topic) for topic in TOPICS] == kept
    assert unread(target.service_url, TOPICS[0], "holes") == left
    assert len(unread(target.service_url, TOPICS[1], "all")) == len(kept[1])
    client = connect(source.service_url)
    client.create_producer(TOPICS[0], schema=JsonSchema(Order)).send(Order(name="later"))
    client.close()
    assert len(messages(target.service_url, TOPICS[0])) == len(kept[0]) + 1


def test_one_topic_is_migrated_alone(clusters: tuple[Cluster, Cluster]) -> None:
    source, target = clusters
    source.run(f"migrate old new --topic {NAMESPACE}/plain --yes")
    assert target.run("topics list shop/orders").split() == [TOPICS[0]]
    assert "pulsarctl-migration" in target.run(f"namespaces get-properties {NAMESPACE}")
    source.run(f"migrate old new --topic {NAMESPACE}/plain --yes --switch")
    again = source.run(f"--dry-run migrate old new --topic {NAMESPACE}/plain")
    assert again == "No changes. The target has these tenants, namespaces, and topics.\n"
    assert len(messages(target.service_url, TOPICS[0])) == 3000
    assert "3600" in target.run(f"namespaces get-message-ttl {NAMESPACE} -o json")
    assert "pulsarctl-migration" not in target.run(f"namespaces get-properties {NAMESPACE}")


def test_a_created_namespace_lets_clients_in_before_the_switch(clusters: tuple[Cluster, Cluster]) -> None:
    source, target = clusters
    source.run(f"namespaces set-property {NAMESPACE} -k team -v blue")
    source.run(f"namespaces set-compaction-threshold {NAMESPACE} -t 10M")
    source.run(f"migrate old new --topic {NAMESPACE}/plain --yes")
    (actions,) = json.loads(target.run(f"namespaces permissions {NAMESPACE} -o json")).values()
    assert sorted(actions) == ["consume", "produce"]
    assert "blue" in target.run(f"namespaces get-properties {NAMESPACE}")
    assert "10485760" in target.run(f"namespaces get-compaction-threshold {NAMESPACE} -o json")
    assert "3600" not in target.run(f"namespaces get-message-ttl {NAMESPACE} -o json")


def test_clients_are_let_into_their_topics_also_if_another_topic_fails(clusters: tuple[Cluster, Cluster]) -> None:
    source, target = clusters
    source.run(f"topics grant-permission {NAMESPACE}/plain --role guest --actions produce")
    source.run("migrate old new --tenant shop --yes")
    target.run(f"namespaces revoke-permission {NAMESPACE} --role app")
    client = connect(target.service_url)
    client.subscribe(f"{NAMESPACE}/parted", "all")  # which stops the copy of these positions
    assert source.cli("migrate", "old", "new", "--tenant", "shop", "--switch", "--yes").exit_code != 0
    client.close()
    assert "guest" in target.run(f"topics permissions {NAMESPACE}/plain -o json")
    assert "app" in target.run(f"namespaces permissions {NAMESPACE} -o json")
    assert "7" not in target.run(f"topics get-max-producers {NAMESPACE}/plain -o json")


def test_the_notice_counts_topics_and_entries(clusters: tuple[Cluster, Cluster]) -> None:
    source, _ = clusters
    notice = source.cli("--dry-run", "migrate", "old", "new", "--topic", f"{NAMESPACE}/plain").stderr
    assert "\n1 topic with 3,000 entries, " in notice


def test_a_cluster_is_not_migrated_to_itself(clusters: tuple[Cluster, Cluster]) -> None:
    refused = clusters[0].cli("migrate", "old", "old")
    assert refused.exit_code == 2
    assert "cannot migrate from old to old: both are at" in refused.stderr


@pytest.mark.parametrize(
    ("urls", "problem"),
    [
        (
            ("https://new:8443",),
            "cannot send clients to 'https://new:8443': it is not a pulsar:// or pulsar+ssl:// URL",
        ),
        (("new:6650",), "'new:6650' is not a service URL"),
        (("pulsar://a:6650", "pulsar://b:6650"), "cannot send clients to both pulsar://a:6650 and pulsar://b:6650"),
    ],
)
def test_an_address_for_clients_that_they_cannot_use_is_refused_before_the_copy(
    tmp_path: Path, urls: tuple[str, ...], problem: str
) -> None:
    cli = Cli(tmp_path)
    for number, name in enumerate(("old", "new"), 1):  # ports without a service
        cli(
            "--admin-url", f"http://localhost:{number}", "--url", f"pulsar://localhost:{number}", "context", "set", name
        )
    words = [word for url in urls for word in ("--client-url", url)]
    refused = cli("migrate", "old", "new", "--switch", "--yes", *words)
    assert refused.exit_code == 2
    assert problem in refused.stderr
