"""Colors appear on a terminal or on request, and never carry information that the text lacks."""

import re
from pathlib import Path

import pytest

from tests.cli.terminal import on_a_terminal
from tests.support.program import PULSARCTL
from tests.support.runner import Cli

CONTROL = re.compile(r"\x1b\[[0-9;]*m")
HEADING = "\x1b[1mTENANT\x1b[0m"
ERROR = "\x1b[1;31merror:\x1b[0m"
PLAIN = {"NO_COLOR": "", "TERM": "xterm"}


def on_terminal(home: Path, *words: str, **environ: str) -> str:
    settings = {"HOME": str(home), "PULSARCONFIG": str(home / "config"), **PLAIN, **environ}
    return on_a_terminal([str(PULSARCTL), *words], environ=settings)


def test_a_terminal_shows_an_error_and_its_hint_in_colors(tmp_path: Path) -> None:
    shown = on_terminal(tmp_path, "tenantz", "list")
    assert ERROR in shown and "\x1b[36mhint:\x1b[0m" in shown


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        ((), {"NO_COLOR": "1"}),
        ((), {"TERM": "dumb"}),
        (("--color", "never"), {}),
    ],
)
def test_a_terminal_shows_no_colors_on_request(words: tuple[str, ...], environ: dict[str, str], tmp_path: Path) -> None:
    shown = on_terminal(tmp_path, *words, "tenantz", "list", **environ)
    assert "error: No such command" in shown and "\x1b" not in shown


def test_a_pipe_gets_no_colors(cli: Cli) -> None:
    assert cli("tenants", "list", "-o", "table").stdout.splitlines()[0] == "TENANT"
    assert cli("tenants", "get", "nowhere").stderr.startswith("error: ")


def test_a_pipe_gets_colors_on_request(cli: Cli) -> None:
    assert cli("tenants", "list", "-o", "table", "--color", "always").stdout.splitlines()[0] == HEADING
    assert cli("--color", "always", "tenants", "get", "nowhere").stderr.startswith(ERROR)


def test_a_request_for_colors_overrides_no_color(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli("tenants", "list", "-o", "table", "--color", "always").stdout.splitlines()[0] == HEADING


def test_a_request_for_colors_applies_to_its_command_only(cli: Cli) -> None:
    cli("tenants", "list", "--color", "always")
    assert cli("tenants", "list", "-o", "table").stdout.splitlines()[0] == "TENANT"


@pytest.mark.parametrize("output", ["text", "json", "jsonl", "yaml", "name"])
def test_machine_readable_output_has_no_colors(output: str, cli: Cli) -> None:
    assert "\x1b" not in cli("tenants", "list", "-o", output, "--color", "always").stdout


def test_colors_do_not_change_the_text(cli: Cli) -> None:
    words = ("tenants", "get", "nowhere")
    painted, plain = cli(*words, "--color", "always"), cli(*words, "--color", "never")
    assert CONTROL.sub("", painted.stderr) == plain.stderr != painted.stderr


def test_a_colored_error_escapes_untrusted_text(cli: Cli) -> None:
    assert "\\u001b[2J" in cli("--color", "always", "a\x1b[2J").stderr


def test_an_unknown_choice_of_colors_is_a_usage_error(cli_alone: Cli) -> None:
    outcome = cli_alone("tenants", "list", "--color", "blue")
    assert outcome.exit_code == 2
    assert "'blue' is not one of auto, always, never" in outcome.stderr


@pytest.mark.parametrize(
    ("words", "plain", "painted"),
    [
        (("explain", "{}"), "  problem  ", "  \x1b[1;31mproblem\x1b[0m  "),
        (("describe", "topic", "{}"), "Health        problem ", "Health        \x1b[1;31mproblem\x1b[0m "),
        (("doctor",), "  ok       ", "  \x1b[32mok\x1b[0m       "),
        (("check", "backlog", "{}", "-c", "0"), "BACKLOG CRITICAL - ", "BACKLOG \x1b[1;31mCRITICAL\x1b[0m - "),
        (("check", "backlog", "{}"), "BACKLOG OK - ", "BACKLOG \x1b[32mOK\x1b[0m - "),
        (("check", "backlog", "nothing"), "BACKLOG UNKNOWN - ", "BACKLOG \x1b[35mUNKNOWN\x1b[0m - "),
    ],
    ids=["explain", "describe", "doctor", "critical", "ok", "unknown"],  # they are names of topics, too
)
def test_a_state_has_its_color_and_the_same_word(
    words: tuple[str, ...], plain: str, painted: str, cli: Cli, topic: str
) -> None:
    cli("topics", "create", topic)
    cli("topics", "create-subscription", topic, "-s", "billing")
    cli("produce", topic, "-m", "x")
    command = [word.format(topic) for word in words]
    assert plain in cli(*command).stdout
    assert painted in cli("--color", "always", *command).stdout
