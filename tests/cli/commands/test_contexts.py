"""`pulsarctl context`, exact output."""

from contextlib import ExitStack
from pathlib import Path

import yaml

from tests.cli.terminal import on_a_terminal
from tests.support.program import PULSARCTL, Program
from tests.support.runner import Cli, Outcome

OK = Outcome(0, "", "")


def test_a_new_context_becomes_the_current_one(cli_alone: Cli, tmp_path: Path) -> None:
    assert cli_alone("context", "create", "prod", "--admin-url", "http://prod:8080", "--url", "pulsar://prod") == OK
    assert (
        cli_alone("context", "set", "test", "--admin-service-url", "http://test:8080", "--token", "s3cret").exit_code
        == 0
    )
    assert cli_alone("context", "list") == Outcome(0, "prod\ntest\n", "")
    assert cli_alone("ctx", "ls", "-o", "table").stdout == (
        "CONTEXT  CURRENT  ADMIN URL         SERVICE URL\n"
        "prod              http://prod:8080  pulsar://prod\n"
        "test     *        http://test:8080  -\n"
    )
    stored = yaml.safe_load((tmp_path / ".config" / "pulsar" / "config").read_text())
    assert stored["contexts"]["prod"] == {
        "admin-service-url": "http://prod:8080",
        "broker-service-url": "pulsar://prod",
    }
    assert stored["current-context"] == "test"


def test_a_new_context_is_announced_on_a_terminal(tmp_path: Path) -> None:
    command = [str(PULSARCTL), "context", "create", "prod", "--admin-url", "http://prod:8080"]
    assert on_a_terminal(command, environ={"HOME": str(tmp_path)}) == "'prod' is now the current context\r\n"


def test_a_secret_is_masked(cli_alone: Cli) -> None:
    assert cli_alone("context", "create", "test", "--admin-url", "http://test:8080", "--token", "s3cret").exit_code == 0
    assert cli_alone("context", "show") == Outcome(0, "web_url    http://test:8080\ntoken    ***\n", "")
    assert "s3cret" not in cli_alone("context", "show", "--resolved").stdout


def test_contexts_are_selected_renamed_copied_and_deleted(cli_alone: Cli) -> None:
    for name in ("a", "b"):
        assert cli_alone("context", "create", name, "--admin-url", f"http://{name}") == OK
    assert cli_alone("context", "use", "a") == OK
    assert cli_alone("context", "rename", "a", "c") == OK
    assert cli_alone("context", "current") == Outcome(0, "c\n", "")
    assert cli_alone("context", "copy", "c", "d") == OK
    assert cli_alone("context", "get", "d") == Outcome(0, "web_url    http://a\n", "")
    assert cli_alone("context", "delete", "c") == OK
    assert cli_alone("context", "get") == Outcome(0, "b\nd\n", "")
    assert cli_alone("context", "current") == Outcome(
        3, "", "error: no context is selected\nhint: pulsarctl context use NAME\n"
    )


def test_an_unknown_context_exits_with_3(cli_alone: Cli) -> None:
    for words in (["use", "nix"], ["delete", "nix"], ["show", "nix"], ["rename", "nix", "x"]):
        outcome = cli_alone("context", *words)
        assert (outcome.exit_code, outcome.stderr.startswith("error: no context 'nix' in ")) == (3, True)


def test_an_empty_context_is_refused(cli_alone: Cli) -> None:
    assert cli_alone("context", "create", "empty").exit_code == 2


def test_resolved_names_the_source_of_every_value(cli_alone: Cli) -> None:
    assert cli_alone("context", "create", "prod", "--admin-url", "http://prod:8080") == OK
    shown = cli_alone("context", "show", "--resolved", "--request-timeout", "5s", "-o", "table").stdout
    assert "web_url                  http://prod:8080         current context 'prod'\n" in shown
    assert "service_url              pulsar://localhost:6650  the default\n" in shown
    assert "request_timeout_seconds  5.0                      --request-timeout\n" in shown


def test_processes_that_create_contexts_at_once_keep_those_of_each_other(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(6)]
    with ExitStack() as stack:
        programs = [
            stack.enter_context(Program(tmp_path, "context", "create", name, "--admin-url", "http://prod:8080"))
            for name in names
        ]
        assert [program.finish() for program in programs] == [0] * len(names)
    stored = yaml.safe_load((tmp_path / ".config" / "pulsar" / "config").read_text())
    assert sorted(stored["contexts"]) == names
