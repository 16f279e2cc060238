"""Topics that are exported and imported: the commands, and what an official reader sees of each key."""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar

from broker_core.testing import EmbeddedBroker
from tests.support.runner import Cli, Outcome

PULSARCTL = Path(sys.executable).with_name("pulsarctl")
RECEIVE_MS = 20_000
NAMESPACE = "persistent://public/default"

Seen = tuple[bytes | None, tuple[tuple[str, str], ...], int, str]


def command(broker: EmbeddedBroker, *arguments: object) -> list[str]:
    where = ("--admin-url", broker.http_url, "--url", broker.service_url, "--no-context", "-o", "json")
    return [str(PULSARCTL), *where, "ops", *map(str, arguments)]


def ops(broker: EmbeddedBroker, *arguments: object) -> Any:
    """The printed result. Fails unless the command succeeds."""
    done = run(broker, *arguments)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def failed(broker: EmbeddedBroker, *arguments: object) -> tuple[int, str]:
    done = run(broker, *arguments)
    return done.exit_code, done.stderr


def run(broker: EmbeddedBroker, *arguments: object) -> Outcome:
    """In this process, with the state of `own_state`."""
    cli = Cli(Path(os.environ["XDG_STATE_HOME"]), broker.http_url, broker.service_url)
    return cli("-o", "json", "ops", *map(str, arguments))


Continued = Callable[[str, Path], tuple[object, ...]]
"""The words of a command that continues from where it ended."""


def lake(topic: str, place: Path) -> tuple[object, ...]:
    return "lake", topic, "--to", place


def export(topic: str, place: Path) -> tuple[object, ...]:
    return "export", topic, place, "--incremental"


def rows(broker: EmbeddedBroker, *command: object) -> int:
    done = ops(broker, *command)
    return int(done["rows"] if command[0] == "lake" else done["messages"])


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
