"""The grammar of the command line: the place of options, usage errors, help, pipes, and terminals."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import pulsarctl
from pulsarctl.errors import CliError
from pulsarctl.shell.grammar import Modules
from pulsarctl.shell.nouns import ALIASES, COMMANDS
from tests.cli.terminal import on_a_terminal
from tests.support.runner import Cli, Outcome

PROGRAM = [sys.executable, "-m", "pulsarctl"]


@pytest.mark.parametrize("flag", ["--version", "-v", "-V"])
def test_version_is_one_line(flag: str) -> None:
    done = subprocess.run([*PROGRAM, flag], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"pulsarctl {pulsarctl.__version__}\n", "")


def test_version_ignores_other_options(cli_alone: Cli) -> None:
    assert cli_alone("--quiet", "--version") == Outcome(0, f"pulsarctl {pulsarctl.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tenants", "get"], "error: Missing argument 'TENANT'.\nhint: pulsarctl tenants get --help\n"),
        (["tenants", "lst"], "error: No such command 'lst'. Did you mean 'list'?\nhint: pulsarctl tenants --help\n"),
        (["tenantz"], "error: No such command 'tenantz'. Did you mean"),
        (["tenants", "list", "--nix"], "error: No such option: --nix"),
        (["topics", "skip", "t", "-s", "s", "-n", "many"], "error: Invalid value for '-n' / '--count': 'many' is not"),
        (["consume", "t", "-n", "-1"], "error: Invalid value for '-n' / '--num-messages': -1 is less than 0\n"),
        (["produce", "t", "-m", "x", "-n", "0"], "error: Invalid value for '-n' / '--num-produce': 0 is less than 1\n"),
        (["produce", "t", "-m", "x", "-r", "nan"], "error: Invalid value for '-r' / '--rate': nan is not a number\n"),
        (["standalone", "--port", "65536"], "error: Invalid value for '--port': 65536 is more than 65535\n"),
        (
            ["tenants", "list", "-o", "xml"],
            "error: --output: unknown output format 'xml'\nhint: use one of auto, table, text",
        ),
        (["topics", "create", "t", "-m", "novalue"], "error: 'novalue' is not KEY=VALUE\n"),
        (["topics", "stats", "a/b"], "error: 'a/b' is not a topic name\nhint: use TOPIC, TENANT/"),
    ],
)
def test_a_usage_error_exits_with_2_and_a_hint(cli_alone: Cli, words: list[str], message: str) -> None:
    outcome = cli_alone(*words)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(message)


def test_a_noun_alone_shows_its_verbs_on_stderr(cli_alone: Cli) -> None:
    outcome = cli_alone("tenants")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "Create a tenant" in outcome.stderr


def test_help_goes_to_stdout(cli_alone: Cli) -> None:
    outcome = cli_alone("tenants", "create", "--help")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert "Example: pulsarctl tenants create shop --admin-roles alice,bob" in outcome.stdout


@pytest.mark.parametrize("words", [[], ["tenants"], ["tenants", "create"]])
def test_h_is_an_alias_of_help(cli_alone: Cli, words: list[str]) -> None:
    assert cli_alone(*words, "-h") == cli_alone(*words, "--help")


def test_help_hides_aliases(cli_alone: Cli) -> None:
    listed = cli_alone("topics", "--help").stdout
    assert "create-partitioned " in listed
    assert "create-partitioned-topic" not in listed
    whole = cli_alone("--help").stdout
    assert all(f"\n  {name} " in whole for name in COMMANDS)
    assert not any(f"\n  {alias} " in whole for alias in ALIASES)


@pytest.mark.parametrize("noun", ["topics", "namespaces", "subscriptions"])
def test_help_does_not_truncate_summaries(cli_alone: Cli, noun: str) -> None:
    listed = cli_alone(noun, "--help").stdout.partition("--help")[2]
    assert listed.count(".\n") > 5
    assert "..." not in listed


def test_only_a_terminal_gets_a_table(cli: Cli) -> None:
    command = [*PROGRAM, "tenants", "list", "--admin-url", str(cli.environ["PULSARCTL_ADMIN_URL"])]
    piped = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert piped.stdout == "public\npulsar\n"
    assert on_a_terminal(command) == "TENANT\r\npublic\r\npulsar\r\n"


def test_a_closed_pipe_prints_no_error(cli: Cli) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*PROGRAM, "tenants", "list", "--admin-url", str(cli.environ["PULSARCTL_ADMIN_URL"])]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_ctrl_c_exits_with_130_without_a_traceback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [*PROGRAM, "tenants", "list", "--admin-url", url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)  # it has sent its request and waits for the answer
                process.send_signal(signal.SIGINT)
                stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (130, b"", b"")


def test_answering_no_changes_nothing(cli: Cli) -> None:
    assert cli("tenants", "create", "asked").exit_code == 0
    command = [*PROGRAM, "tenants", "delete", "asked", "--admin-url", str(cli.environ["PULSARCTL_ADMIN_URL"])]
    shown = on_a_terminal(command, answer="n\n")
    assert shown.startswith("Delete tenant asked? [y/N] ")
    assert "error: canceled" in shown
    assert "asked" in cli("tenants", "list").stdout
    assert "error" not in on_a_terminal(command, answer="y\n")
    assert "asked" not in cli("tenants", "list").stdout


def test_a_command_that_needs_numpy_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_numpy.py").write_text("import numpy\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(CliError, match="the Python module numpy is not installed") as caught:
        Modules({"numbers": "needs_numpy"}, {"numbers": ""}, {}).make("numbers")
    assert caught.value.hint == "pip install 'pulsarctl[sql]'"
