"""Notices on stderr: warnings, waiting, and --quiet."""

import signal
from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.terminal import on_a_terminal
from tests.support.program import PULSARCTL, Program, run
from tests.support.runner import Cli

TOKEN_WARNING = (
    "warning: --token shows a secret to other users of this machine; "
    "use --token-file FILE or the environment variable PULSARCTL_TOKEN\n"
)
WAITING = b"waiting for messages; press Ctrl-C to stop\n"


@pytest.mark.parametrize(
    "words",
    [("tenants", "list", "--token", "s3cret"), ("--token", "s3cret", "tenants", "list")],
    ids=["behind", "before"],
)
def test_a_token_on_the_command_line_prints_a_warning(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words)
    assert (outcome.exit_code, outcome.stderr) == (0, TOKEN_WARNING)


def test_storing_a_token_prints_a_warning(cli_alone: Cli) -> None:
    outcome = cli_alone("context", "create", "test", "--admin-url", "http://test:8080", "--token", "s3cret")
    assert (outcome.exit_code, outcome.stderr) == (0, TOKEN_WARNING)


def test_parameters_of_a_plugin_are_secrets_too(cli: Cli) -> None:
    assert cli("tenants", "list", "--auth-params", "token:x").stderr.startswith("warning: --auth-params shows a secret")


def test_a_token_from_the_environment_or_a_file_prints_no_warning(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret")
    assert cli("tenants", "list", "--token-file", str(tmp_path / "token")).stderr == ""
    cli.environ["PULSARCTL_TOKEN"] = "s3cret"
    assert cli("tenants", "list").stderr == ""


@pytest.mark.parametrize("options", [(), ("-o", "json")])
def test_an_error_contains_nothing_that_has_the_form_of_a_secret(cli_alone: Cli, options: tuple[str, ...]) -> None:
    outcome = cli_alone("tenants", "list", "--admin-url", "http://me:hunter2@127.0.0.1:1", *options)
    assert outcome.exit_code != 0
    assert ("://***@127.0.0.1" in outcome.stderr, "hunter" in outcome.stderr) == (True, False), outcome.stderr


def test_quiet_suppresses_notices(cli: Cli, topic: str) -> None:
    assert cli("tenants", "list", "--token", "x", "--quiet").stderr == ""
    assert cli("produce", topic, "-m", "x", "--quiet", "--event-time", "2026-01-01").stderr == ""


@pytest.mark.parametrize("command", [("tenants", "list"), ("consume", "t"), ("read", "t")])
def test_q_is_not_an_alias_of_quiet(cli_alone: Cli, command: tuple[str, ...]) -> None:
    outcome = cli_alone("-q", *command)
    assert outcome.exit_code == 2
    assert "No such option: -q" in outcome.stderr


@pytest.mark.parametrize("option", ["--url", "--admin-url"])
def test_an_embedded_broker_has_its_own_addresses(cli_alone: Cli, tmp_path: Path, option: str) -> None:
    url = "pulsar://localhost:6650" if option == "--url" else "http://localhost:8080"
    outcome = cli_alone("tenants", "list", "--embedded", str(tmp_path / "data"), option, url)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"error: cannot combine {option} and --embedded")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", [("consume",), ("read",)])
def test_waiting_for_messages_is_announced_once(
    tmp_path: Path, pulsar_broker: EmbeddedBroker, topic: str, command: tuple[str, ...]
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 1)
    ended = run(
        tmp_path,
        *(*command, topic, "--url", pulsar_broker.service_url, "--admin-url", pulsar_broker.http_url),
        *("--idle-timeout", "1300ms"),
    )
    assert ended.exit_code == 0, ended.stderr
    assert ended.stderr.encode().count(WAITING) == 1


def test_reading_from_a_keyboard_is_announced(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    shown = on_a_terminal([str(PULSARCTL), "produce", topic, "--url", pulsar_broker.service_url], answer="one\n\x04")
    assert "reading messages from stdin, one per line; press Ctrl-D to end\r\n" in shown
    assert "1 messages successfully produced" in shown


def test_waiting_for_a_lock_is_announced_once(tmp_path: Path) -> None:
    directory = ("--embedded", str(tmp_path / "data"))
    run(tmp_path, *directory, "produce", "t", "-m", "first")
    holding = ("consume", "t", "-p", "Earliest", "-n", "0", "-F", "%v\\n")
    with Program(tmp_path, *directory, *holding) as owner:
        owner.read_lines(1)
        ended = run(tmp_path, *directory, "--lock-timeout", "3s", "tenants", "list")
        assert ended.stderr.count("waiting for the data directory") == 1
        assert f"in use by process {owner.pid}\n" in ended.stderr
        owner.send(signal.SIGINT)
        owner.finish()
