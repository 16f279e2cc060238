"""Clusters that the migration tests use, and what their topics have."""

import contextlib
import shlex
from pathlib import Path
from typing import Protocol

import pulsar

from tests.support.official_client import connect
from tests.support.runner import Cli


class Addresses(Protocol):
    @property
    def service_url(self) -> str: ...

    @property
    def http_url(self) -> str: ...


class Cluster:
    """A broker with its command line; `home` has the contexts."""

    def __init__(self, broker: Addresses, home: Path, name: str) -> None:
        self.service_url = broker.service_url
        self.http_url = broker.http_url
        self.cli = Cli(home, broker.http_url, broker.service_url)
        self._addresses = "--admin-url", broker.http_url, "--url", broker.service_url
        self._name = name

    @property
    def environ(self) -> dict[str, str]:
        return {name: value for name, value in self.cli.environ.items() if value}

    def save_context(self) -> None:
        assert self.cli(*self._addresses, "context", "set", self._name).exit_code == 0

    def run(self, line: str) -> str:
        outcome = self.cli(*shlex.split(line))
        assert outcome.exit_code == 0, outcome.stderr
        return outcome.stdout


def messages(service_url: str, topic: str) -> list[tuple[object, ...]]:
    """Every message: value, key, properties, times, in order."""
    client = connect(service_url)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found: list[tuple[object, ...]] = []
    while reader.has_message_available():
        one = reader.read_next(5000)
        times = one.event_timestamp(), one.publish_timestamp()
        found.append((one.data(), one.partition_key(), one.properties(), *times))
    client.close()
    return found


def unread(service_url: str, topic: str, subscription: str) -> list[bytes]:
    """What a subscription has left, sorted."""
    client = connect(service_url)
    consumer = client.subscribe(topic, subscription, consumer_type=pulsar.ConsumerType.Shared)
    found = []
    with contextlib.suppress(pulsar.Timeout):
        while True:
            found.append(consumer.receive(1000).data())
    client.close()
    return sorted(found)
