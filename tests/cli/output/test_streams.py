"""stdout, stderr, and stdin that are terminals, full, or closed."""

import os
import subprocess
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.output.terminal_text import escaped
from tests.cli.terminal import on_a_terminal
from tests.support.program import PULSARCTL

HOSTILE = "\x1b]0;title\x07\u202egnp.exe\x9b2J"
HARMLESS = r"\u001b]0;title\u0007\u202egnp.exe\u009b2J"
PRINTING = (
    ("--version",),
    ("--help",),
    ("tenants", "--help"),
    ("tenants", "list"),
    ("tenants", "list", "-o", "yaml"),
    ("completion", "fish"),
    ("context", "show", "--resolved"),
    ("consume", "full", "-p", "Earliest"),
    ("read", "full", "-m", "earliest"),
    ("topics", "peek-messages", "full", "-s", "s"),
)


@pytest.fixture
def environ(tmp_path: Path, pulsar_broker: EmbeddedBroker) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PULSAR")}
    addresses = {
        "PULSARCTL_SERVICE_URL": pulsar_broker.service_url,
        "PULSARCTL_ADMIN_URL": pulsar_broker.http_url,
    }
    return kept | addresses | {"HOME": str(tmp_path)}


def send(client: pulsar.Client, topic: str, *values: str) -> None:
    producer = client.create_producer(topic)
    for value in values:
        producer.send(value.encode(), partition_key=value, properties={value: value})
    producer.close()


@pytest.mark.parametrize(
    "words",
    [
        ("consume", "-p", "Earliest"),
        ("read", "-m", "earliest", "-mp"),
        ("read", "-m", "earliest", "-o", "jsonl"),
        ("read", "-m", "earliest", "-F", "%k %v %h{%k=%v}\\n"),
    ],
    ids=lambda words: "-".join(words),
)
def test_a_payload_cannot_control_the_terminal(
    environ: dict[str, str], client: pulsar.Client, topic: str, words: tuple[str, ...]
) -> None:
    name = "hostile"
    send(client, name, HOSTILE)
    shown = on_a_terminal([str(PULSARCTL), words[0], name, *words[1:]], environ=environ)
    assert HARMLESS in shown
    assert not set(shown) & set("\x1b\x07\x9b\u202e")


def test_a_name_cannot_control_the_terminal(environ: dict[str, str], client: pulsar.Client) -> None:
    client.create_producer("public/default/a\u202eb").close()
    shown = on_a_terminal([str(PULSARCTL), "topics", "list", "public/default"], environ=environ)
    assert r"a\u202eb" in shown and "\u202e" not in shown


def test_an_error_cannot_control_the_terminal(environ: dict[str, str]) -> None:
    command = [str(PULSARCTL), "topics", "stats", f"public/default/{HOSTILE}"]
    shown = on_a_terminal(command, environ={**environ, "NO_COLOR": ""})
    text = shown.replace("\x1b[1;31merror:\x1b[0m", "error:").replace("\x1b[36mhint:\x1b[0m", "hint:")  # our own
    assert text.startswith("error: ") and not set(text) & set("\x1b\x07\x9b\u202e")


def test_a_pipe_gets_the_bytes_unchanged(environ: dict[str, str], client: pulsar.Client, topic: str) -> None:
    send(client, topic, HOSTILE)
    command = [str(PULSARCTL), "consume", topic, "-p", "Earliest", "-F", "%v"]
    done = subprocess.run(command, env=environ, capture_output=True, timeout=60)
    assert done.stdout == HOSTILE.encode()


def test_tabs_and_newlines_are_not_escaped() -> None:
    assert escaped("a\tb\nc") == "a\tb\nc"


@pytest.fixture
def full_topic_of_ours(client: pulsar.Client) -> None:
    client.subscribe("full", "s").close()
    send(client, "full", "x" * 100)


@pytest.mark.usefixtures("full_topic_of_ours")
@pytest.mark.parametrize("words", PRINTING, ids=lambda words: "-".join(words))
@pytest.mark.parametrize(("where", "reason"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")])
def test_an_unwritable_stdout_is_one_line_of_error_and_exits_with_1(
    environ: dict[str, str], words: tuple[str, ...], where: str, reason: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {where}', "sh", str(PULSARCTL), *words],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (1, f"error: cannot write to stdout: {reason}\n")


def test_a_command_that_prints_nothing_needs_no_stdout(environ: dict[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", str(PULSARCTL), "tenants", "create", "quiet"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdin_is_one_line_of_error_and_exits_with_1(environ: dict[str, str], topic: str) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", str(PULSARCTL), "produce", topic],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (1, "error: cannot read stdin: it is closed\n")


def test_a_closed_stderr_changes_nothing(environ: dict[str, str], client: pulsar.Client, topic: str) -> None:
    send(client, topic, "x")
    command = ["sh", "-c", '"$@" 2>&-', "sh", str(PULSARCTL), "consume", topic, "-p", "Earliest", "-F", "%v"]
    done = subprocess.run(command, env=environ, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"x")
