"""Topics that are exported and imported: the commands, and what an official reader sees of each key."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pulsar

from broker_core.testing import EmbeddedBroker

PULSARCTL = Path(sys.executable).with_name("pulsarctl")
RECEIVE_MS = 20_000
NAMESPACE = "persistent://public/default"

Seen = tuple[bytes | None, tuple[tuple[str, str], ...], int, str]


def command(broker: EmbeddedBroker, *arguments: object) -> list[str]:
    where = ("--admin-url", broker.http_url, "--url", broker.service_url, "--no-context", "-o", "json")
    return [str(PULSARCTL), *where, "ops", *map(str, arguments)]


def ops(broker: EmbeddedBroker, *arguments: object) -> Any:
    """The printed result. Fails unless the command succeeds."""
    done = subprocess.run(command(broker, *arguments), capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failed(broker: EmbeddedBroker, *arguments: object) -> tuple[int, str]:
    done = subprocess.run(command(broker, *arguments), capture_output=True, text=True, timeout=110, check=False)
    return done.returncode, done.stderr


def by_key(client: pulsar.Client, topic: str) -> dict[str, list[Seen]]:
    """What an official reader sees of each key, in order."""
    found: dict[str, list[Seen]] = defaultdict(list)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    while reader.has_message_available():
        message = reader.read_next(RECEIVE_MS)
        properties = tuple(sorted(message.properties().items()))
        found[message.partition_key()].append(
            (message.data(), properties, message.event_timestamp(), message.ordering_key())
        )
    reader.close()
    return dict(found)
