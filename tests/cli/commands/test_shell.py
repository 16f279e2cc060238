"""`pulsarctl shell`: a prompt on a terminal, and lines of stdin without one."""

import stat
from pathlib import Path

import pytest

from pulsarctl.shell.session import split
from tests.cli.drawn import Drawn
from tests.support.runner import Cli


def test_a_line_that_fails_does_not_end_it(cli: Cli) -> None:
    lines = "tenants get absent\n'open\nno-such-noun\ntenants list -o name\n"
    outcome = cli("shell", stdin=lines)
    assert outcome.exit_code == 0
    assert "public" in outcome.stdout.split()
    assert outcome.stderr.count("error: ") == 3


def test_its_exit_code_is_that_of_the_last_line_and_exit_ends_it(cli: Cli) -> None:
    assert cli("shell", stdin="tenants list\ntenants get absent\n").exit_code == 3
    outcome = cli("shell", stdin="tenants list -o name\nexit\ntenants get absent\n")
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_help_shows_the_commands(cli_alone: Cli) -> None:
    outcome = cli_alone("shell", stdin="help tenants\n")
    assert "Create a tenant" in outcome.stdout


def test_a_prompt_runs_commands_keeps_a_history_and_ends_with_exit(cli: Cli, tmp_path: Path) -> None:
    environ = {**cli.environ, "PROMPT_TOOLKIT_NO_CPR": "1", "XDG_STATE_HOME": str(tmp_path / "state")}
    with Drawn(tmp_path, "shell", environ=environ) as shell:
        shell.wait_for(lambda it: f"pulsarctl ({cli.environ['PULSARCTL_ADMIN_URL']})>" in it.text)
        shell.press("tenants list -o name\r")
        shell.wait_for(lambda it: "\npublic\n" in it.text)
        shell.press("tenants get absent --token very-secret\r")
        shell.wait_for(lambda it: "error: " in it.text)
        shell.press("tenants cre\t")
        shell.wait_for(lambda it: " create" in it.text)  # only the menu has it
        shell.press("\x03")  # Ctrl-C discards the line
        shell.press("exit\r")
        assert shell.finish() == 0
    history = tmp_path / "state" / "pulsarctl" / "history"
    assert "+tenants list -o name" in history.read_text()
    assert "very-secret" not in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b#c #d", ["a", "b#c"]),
        ("a '#b' \"#c\" \\#d", ["a", "#b", "#c", "#d"]),
        ("a 'b 'c#d \"e \"#f \\ #g", ["a", "b c#d", "e #f", " #g"]),
        ("#a", []),
        ("a ## b", ["a"]),
        ("a # it's", ["a"]),
        ("a\u00a0#b", ["a\u00a0#b"]),
    ],
)
def test_only_the_beginning_of_a_word_begins_a_comment(line: str, words: list[str]) -> None:
    assert split(line) == words


def test_the_prompt_shows_the_context(cli_alone: Cli, tmp_path: Path) -> None:
    for name in ("test", "prod"):
        assert cli_alone("context", "create", name, "--admin-url", f"http://{name}:8080").exit_code == 0
    with Drawn(tmp_path, "shell", environ={**cli_alone.environ, "PROMPT_TOOLKIT_NO_CPR": "1"}) as shell:
        shell.wait_for(lambda it: "pulsarctl (prod)>" in it.text)
        shell.press("context use test\r")
        shell.wait_for(lambda it: "pulsarctl (test)>" in it.text)
        shell.press("\x04")  # Ctrl-D
        assert shell.finish() == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tenants list", ["tenants", "list"]),
        ("pulsarctl tenants list # why", ["tenants", "list"]),
        ("produce 'my topic' -m \"a 'b' c\"", ["produce", "my topic", "-m", "a 'b' c"]),
        ("produce t -m a\\ b -m ''", ["produce", "t", "-m", "a b", "-m", ""]),
        ("   ", []),
        ("# only a comment", []),
    ],
)
def test_a_line_is_split_as_a_shell_splits_it(line: str, words: list[str]) -> None:
    assert split(line) == words
