"""A command that a hint or a finding suggests reaches the cluster of the call that suggests it."""

import ast
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from pulsarctl.output.next_steps import on_same_cluster
from pulsarctl.settings.settings import resolve
from pulsarctl.shell import options
from tests.cli.parsed import parse
from tests.cli.shell.written_commands import shown_text
from tests.support.runner import Cli

PACKAGE = Path(__file__).parents[3] / "cli" / "pulsarctl"
MODULES = sorted(PACKAGE.rglob("*.py"))
CONTEXT = ["--context", "real"]
# Texts that describe a command and suggest none.
DESCRIBED = {
    "commands/completion.py",
    "console/server.py",
    "diagnosis/checkup/client_rules.py",
    "iceberg/kinds.py",
    "state/editors.py",
    "commands/doctor/bundle.py",
    "commands/ops/on_spark.py",
}
# Each is a hint, the command of a finding, or help.
ROLES = {"hint", "_hint", "_HINTS", "_hint_of_missing", "after_no_answer", "help", "not_checked"}
NOWHERE = ["--admin-url", "http://127.0.0.1:1"]


@pytest.fixture
def real(cli: Cli) -> Cli:
    """With the context `real`, and no address from elsewhere."""
    urls = [word or "" for word in (cli.environ["PULSARCTL_ADMIN_URL"], cli.environ["PULSARCTL_SERVICE_URL"])]
    cli.environ |= {"PULSARCTL_ADMIN_URL": None, "PULSARCTL_SERVICE_URL": None}
    assert cli("context", "create", "real", "--admin-url", urls[0], "--url", urls[1]).exit_code == 0
    assert cli("context", "create", "other", *NOWHERE).exit_code == 0
    return cli


def suggestions(tree: ast.AST, role: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a module that name a command, each with the name of what it is an argument, value, or result of."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(child, ast.JoinedStr | ast.Constant):
            if on_same_cluster(text := shown_text(child), CONTEXT) != text:
                yield role, text
            continue
        yield from suggestions(child, _role(child) or role)


def _role(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.keyword):
        return node.arg or ""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2]
    return ast.unparse(node.targets[0]).rpartition(".")[2] if isinstance(node, ast.Assign) else ""


def test_commands_are_suggested_only_by_hints_and_findings() -> None:
    elsewhere = [
        (name, role, text)
        for module in MODULES
        if (name := module.relative_to(PACKAGE).as_posix()) not in DESCRIBED
        for role, text in suggestions(ast.parse(module.read_text()))
        if role not in ROLES
    ]
    assert elsewhere == []


def modules_with(*texts: str) -> list[str]:
    return [
        module.relative_to(PACKAGE).as_posix()
        for module in MODULES
        if any(text in module.read_text() for text in texts)
    ]


def test_hints_are_printed_in_one_place() -> None:
    assert modules_with("render.error(") == ["shell/exit_codes.py"]


def test_findings_are_printed_only_as_explain_and_doctor_return_them() -> None:
    assert modules_with("checkup import area\n", "diagnosis import terminal\n") == [
        "commands/doctor/__init__.py",
        "commands/doctor/bundle.py",
        "commands/explain.py",
        "diagnosis/checkup/area.py",
    ]


def test_the_hint_of_an_error_repeats_the_context(real: Cli) -> None:
    done = real("topics", "stats", "missing", *CONTEXT)
    assert done.stderr.splitlines()[-1] == "hint: list what exists: pulsarctl --context real topics list public/default"
    hint = done.stderr.splitlines()[-1].partition("pulsarctl ")[2]
    assert real("context", "use", "other").exit_code == 0
    assert real(*shlex.split(hint)).exit_code == 0


def test_a_hint_names_the_option_of_a_secret_and_does_not_show_it(cli_alone: Cli, cli: Cli) -> None:
    url = str(cli.environ["PULSARCTL_ADMIN_URL"])
    done = cli_alone("topics", "stats", "missing", "--admin-url", url, "--token", "hunter2hunter2")
    assert done.stderr.splitlines()[-1] == (
        f"hint: list what exists: pulsarctl --admin-url {url} --token TOKEN topics list public/default"
    )
    assert "hunter2" not in done.stderr


def test_a_call_without_options_gets_short_hints(cli: Cli) -> None:
    done = cli("topics", "stats", "missing")
    assert done.stderr.splitlines()[-1] == "hint: list what exists: pulsarctl topics list public/default"


def test_the_commands_of_explain_and_doctor_repeat_the_context(real: Cli, topic: str) -> None:
    real("subscriptions", "create", topic, "billing", *CONTEXT)
    for words in (["explain", topic], ["doctor"]):
        documents = json.loads(real(*words, *CONTEXT, "-o", "json").stdout)
        suggested = [each["command"] for each in documents if (each["command"] or "").startswith("pulsarctl ")]
        assert suggested
        assert [command for command in suggested if not command.startswith("pulsarctl --context real ")] == []


@pytest.mark.parametrize(
    "hint",
    [
        "start a broker with 'pulsarctl standalone', or choose another one with --url URL",
        "see the escapes in 'pulsarctl read --help'",
        "pulsarctl context use NAME",
        "run pip install 'pulsarctl[sql]'",
    ],
)
def test_what_needs_no_cluster_stays_as_it_is(hint: str) -> None:
    assert on_same_cluster(hint, CONTEXT) == hint


def test_the_words_choose_the_same_cluster_again() -> None:
    given = {
        "output": "json",
        "web_url": "https://me:hunter2@broker:8443",
        "no_context": True,
        "auth_params": "token:hunter2",
        "tls_verify_hostname": False,
        "embedded": "my data",
        "verbose": True,
    }
    words = options.repeated(given)
    assert words == [
        *("--admin-url", "https://***@broker:8443", "--no-context", "--auth-params", "PARAMS"),
        *("--tls-no-hostname-verification", "--embedded", "my data"),
    ]
    assert on_same_cluster("pulsarctl topics list a/b", words[-2:]) == "pulsarctl --embedded 'my data' topics list a/b"


def test_an_option_that_is_repeated_is_read_as_it_was_given(tmp_path: Path) -> None:
    given = {"web_url": "http://h:1", "service_url": "pulsar://h:2", "token_file": "t", "tls_allow_insecure": True}
    again = parse([*options.repeated(given), "version"]).find_root().params
    assert resolve({name: again[name] for name in given}, {}, tmp_path) == resolve(given, {}, tmp_path)
