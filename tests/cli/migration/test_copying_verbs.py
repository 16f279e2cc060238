"""`topics copy` and `topics mirror`, from the command line."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest
from pulsar.schema import JsonSchema, Record, String

from broker_core.testing import EmbeddedBroker
from tests.support.condition import wait_until
from tests.support.official_client import connect
from tests.support.runner import Cli


class Order(Record):  # type: ignore[misc]  # the client has no types
    name = String()


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[EmbeddedBroker, EmbeddedBroker]]:
    with EmbeddedBroker() as source, EmbeddedBroker() as target:
        yield source, target


@pytest.fixture
def cli(brokers: tuple[EmbeddedBroker, EmbeddedBroker], tmp_path: Path) -> Cli:
    """For the source, with a context for the target."""
    source, target = brokers
    cli = Cli(tmp_path, source.http_url, source.service_url)
    addresses = "--admin-url", target.http_url, "--url", target.service_url
    assert cli(*addresses, "context", "set", "target").exit_code == 0
    return cli


def test_a_partitioned_topic_is_copied_with_its_schema_and_ends(
    brokers: tuple[EmbeddedBroker, EmbeddedBroker], cli: Cli, topic: str
) -> None:
    source, target = brokers
    cli("topics", "create-partitioned-topic", topic, "-p", "2", "--metadata", "team=blue")
    client = connect(source.service_url)
    client.subscribe(topic, "sub").close()
    producer = client.create_producer(topic, schema=JsonSchema(Order))
    for number in range(6):
        producer.send(Order(name=str(number)))
    client.close()
    copied = cli("topics", "copy", topic, "--to", "target", "--terminate", "-o", "json")
    assert copied.exit_code == 0, copied.stderr
    client = connect(target.service_url)
    consumer = client.subscribe(topic, "sub", schema=JsonSchema(Order))
    assert sorted(consumer.receive(5000).value().name for _ in range(6)) == list("012345")
    client.close()
    with pytest.raises(pulsar.PulsarException):
        connect(source.service_url).create_producer(topic)
    there = Cli(Path(cli.environ["HOME"] or ""), target.http_url, target.service_url)
    assert "blue" in there("topics", "get-properties", topic).stdout
    assert "pulsarctl-copy" not in there("topics", "subscriptions", f"{topic}-partition-0").stdout


def test_a_topic_is_not_copied_to_itself(cli: Cli, topic: str) -> None:
    refused = cli("topics", "copy", topic)
    assert (refused.exit_code, refused.stderr.splitlines()[-2]) == (2, f"error: cannot copy {topic} to itself")


def test_a_mirror_follows_until_it_is_told_to_end(
    brokers: tuple[EmbeddedBroker, EmbeddedBroker], cli: Cli, topic: str
) -> None:
    source, target = brokers
    there, here = connect(source.service_url), connect(target.service_url)
    producer = there.create_producer(topic)
    producer.send(b"before")
    environ = {name: value for name, value in cli.environ.items() if value}
    program = [sys.executable, "-m", "pulsarctl", "topics", "mirror", topic, "--to", "target"]
    with subprocess.Popen(program, env=environ) as mirror:
        consumer = here.subscribe(topic, "s", initial_position=pulsar.InitialPosition.Earliest)
        assert consumer.receive(30_000).data() == b"before"
        producer.send(b"after")
        assert consumer.receive(30_000).data() == b"after"
        mirror.terminate()
        wait_until(lambda: mirror.poll() is not None, 20.0)
    assert mirror.returncode == 143
    there.close()
    here.close()
