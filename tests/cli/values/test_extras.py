"""Which extra a command names when a library is missing."""

import sys
import tomllib
from pathlib import Path

import pytest

from pulsarctl.errors import CliError
from pulsarctl.values.extras import EXTRAS, extra_with, require
from tests.support.runner import Cli

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
MODULES = {"pyjwt": "jwt"}


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    for name, modules in EXTRAS.items():
        libraries = {one.partition(">")[0].partition("[")[0] for one in declared[name]}
        assert {MODULES.get(library, library) for library in libraries} == modules, name


@pytest.mark.parametrize(
    ("libraries", "extra"),
    [(["pyarrow"], "offload"), (["pyarrow", "numpy"], "sql"), (["pandas", "pyarrow"], "spark"), (["unknown"], None)],
)
def test_the_smallest_extra_is_named(libraries: list[str], extra: str | None) -> None:
    assert extra_with(libraries) == extra


def test_all_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pyarrow", "numpy"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(CliError, match="cannot count: pyarrow and numpy are not installed") as caught:
        require("count", "pyarrow", "numpy")
    assert caught.value.hint == "run pip install 'pulsarctl[sql]'"


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (["ops", "profile", "orders"], "profile a topic"),
        (["ops", "compact", "orders"], "compact a topic in a job"),
        (["ops", "export", "orders", "out"], "export"),
        (["ops", "import", "in", "orders"], "import"),
        (["ops", "replay", "orders", "copy"], "replay"),
        (["ops", "verify", "orders"], "verify messages"),
        (["ops", "verify", "--export", "in"], "verify an export"),
    ],
)
def test_a_command_without_its_libraries_names_what_it_cannot_do(
    words: list[str], action: str, cli_alone: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("pyarrow", "numpy"):
        monkeypatch.setitem(sys.modules, library, None)
    outcome = cli_alone(*words)
    assert outcome.stderr.startswith(
        f"error: cannot {action}: pyarrow and numpy are not installed\nhint: run pip install"
    )


def test_a_command_for_tokens_names_the_extra_and_not_a_module(cli_alone: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    outcome = cli_alone("tokens", "show", "e30.e30.e30")
    assert outcome.stderr == (
        "error: cannot work with tokens: jwt is not installed\nhint: run pip install 'pulsarctl[security]'\n"
    )
