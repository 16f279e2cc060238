"""Names with line breaks and other control characters do not look like lines of output."""

import json
import os
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.terminal import on_a_terminal
from tests.support.program import PULSARCTL
from tests.support.runner import Cli

FORGED = "problem  forged"
TOPIC = f"public/default/evil\n{FORGED}\x1b[31m"
SUBSCRIPTION = f"bill\n{FORGED}"
PROPERTY = f"key\n{FORGED}=value\n{FORGED}"
COMMANDS = (
    ("topics", "list", "public/default"),
    ("topics", "get-properties", TOPIC),
    ("topics", "stats", TOPIC),
    ("topics", "subscriptions", TOPIC),
    ("topics", "stats", f"{TOPIC}-absent"),
    ("topics", "peek-messages", TOPIC, "-s", SUBSCRIPTION),
    ("topics", "delete", TOPIC, "--dry-run"),
    ("subscriptions", "list", TOPIC),
    ("topics", "get-subscription-properties", TOPIC, "-s", SUBSCRIPTION),
    ("explain", TOPIC),
    ("explain", TOPIC, "-s", f"{SUBSCRIPTION}-absent"),
    ("describe", "topic", TOPIC),
    ("describe", "subscription", TOPIC, SUBSCRIPTION),
    ("describe", "namespace", "public/default"),
    ("check", "backlog", TOPIC),
    ("top", "--once"),
    ("top", "subscriptions", "--once"),
    ("doctor",),
    ("ops", "backlog", TOPIC),
    ("consume", TOPIC, "-s", SUBSCRIPTION, "-n", "1", "--timeout", "5s"),
    ("read", TOPIC, "-m", "earliest", "-mp"),
    ("tenants", "get", f"evil\n{FORGED}"),
    ("namespaces", "policies", f"public/evil\n{FORGED}"),
    (f"evil\n{FORGED}",),
)


@pytest.fixture
def evil(cli: Cli, client: pulsar.Client) -> None:
    client.subscribe(f"persistent://{TOPIC}", SUBSCRIPTION, properties={f"k\n{FORGED}": f"v\n{FORGED}"}).close()
    producer = client.create_producer(f"persistent://{TOPIC}")
    producer.send(b"payload", partition_key=f"a\n{FORGED}", properties={f"k\n{FORGED}": f"v\n{FORGED}"})
    producer.close()
    assert cli("topics", "update-properties", TOPIC, "-p", PROPERTY).exit_code == 0


@pytest.mark.usefixtures("evil")
def test_no_command_prints_a_line_that_a_name_made_up(cli: Cli) -> None:
    for words in COMMANDS:
        for output in ((), ("-o", "table"), ("-o", "name")):
            outcome = cli(*words, *output)
            lines = (outcome.stdout + outcome.stderr).splitlines()
            assert [line for line in lines if line.startswith(FORGED)] == [], (words, output)


@pytest.mark.usefixtures("evil")
def test_a_terminal_shows_the_escaped_name(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PULSAR")}
    environ = {**kept, "HOME": str(tmp_path), "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}
    for words in (("explain", TOPIC), ("topics", "list", "public/default"), ("topics", "stats", f"{TOPIC}-absent")):
        shown = on_a_terminal([str(PULSARCTL), *words], environ=environ)
        assert rf"evil\n{FORGED}\u001b[31m" in shown
        assert "\x1b" not in shown


@pytest.mark.usefixtures("evil")
def test_json_keeps_the_name(cli: Cli) -> None:
    assert f"persistent://{TOPIC}" in json.loads(cli("topics", "list", "public/default", "-o", "json").stdout)
