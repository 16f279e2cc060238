"""Every command is documented, and generated files are up to date."""

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest

from pulsarctl.shell import reference
from pulsarctl.shell.reference import Page, documents
from pulsarctl.state.editors import json_schema
from tests.cli.parsed import parse
from tests.support.runner import Cli

ROOT = Path(__file__).parents[3]
FILES = {"bash": "pulsarctl.bash", "zsh": "_pulsarctl", "fish": "pulsarctl.fish"}


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return reference.pages()


def test_the_command_reference_is_up_to_date(pages: list[Page]) -> None:
    kept = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs/reference/commands").glob("*.md")}
    assert kept == documents(pages), "run `make docs`"


def test_the_pages_of_configuration_and_of_the_admin_api_are_up_to_date() -> None:
    scripts = {name: runpy.run_path(str(ROOT / ".ci" / "docs" / f"{name}.py")) for name in ("configuration", "rest")}
    folder = ROOT / "docs" / "reference"
    kept = {page.name: page.read_text(encoding="utf-8") for page in (folder / "configuration").glob("*.md")}
    assert kept == scripts["configuration"]["documents"](), "run `make docs`"
    assert (folder / "rest.md").read_text(encoding="utf-8") == scripts["rest"]["page"](), "run `make docs`"


def test_the_client_configuration_is_up_to_date() -> None:
    assert (ROOT / "conf" / "client.yaml").read_text(encoding="utf-8") == reference.client_yaml(), "run `make docs`"


def test_the_schema_of_state_files_is_up_to_date() -> None:
    kept = json.loads((ROOT / "conf" / "state.schema.json").read_text(encoding="utf-8"))
    assert kept == json_schema(), "run `make docs`"


@pytest.mark.parametrize("shell", FILES)
def test_the_completion_script_is_up_to_date(shell: str, cli_alone: Cli) -> None:
    kept = (ROOT / "completions" / FILES[shell]).read_text(encoding="utf-8")
    assert cli_alone("completion", shell).stdout == kept, "run `make completions`"


def test_every_command_has_a_summary_and_an_example(pages: list[Page]) -> None:
    leaves = [page for page in pages if not page.commands]
    assert [page.words for page in leaves if not page.summary] == []
    policies = ("get-", "set-", "remove-")
    without = [page.words for page in leaves if "Example" not in page.help]
    assert [words for words in without if not words[-1].startswith(policies)] == []


def test_the_page_of_exit_codes_says_what_the_help_says(pages: list[Page]) -> None:
    said = " ".join(pages[0].help.partition("Exit codes: ")[2].partition(".")[0].split())
    codes = [re.match(r"(\d+) (\S+)", code) for code in said.split(", ")]
    rows = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    assert [code[1] for code in codes if code] == re.findall(r"^\| (\d+) \|", rows, re.MULTILINE)


def test_every_option_and_argument_has_help(pages: list[Page]) -> None:
    silent = [(page.words, option.spellings) for page in pages for option in page.options if not option.help]
    assert silent == []


def test_every_example_parses(pages: list[Page]) -> None:
    assert sum(len(reference.examples(page.help)[1]) for page in pages) > 80
    for page in pages:
        for example in reference.examples(page.help)[1]:
            words = shlex.split(example)
            assert page.words[-1] in words, example
            if words[0] == "pulsarctl" and not {"|", ">"} & set(words):
                parse(words[1:])


def test_a_session_waits_for_the_broker_that_it_starts() -> None:
    hasty = []
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        lines = page.read_text(encoding="utf-8").splitlines()
        starts = [at for at, line in enumerate(lines) if re.search(r"pulsarctl (standalone|proxy) .*&$", line)]
        hasty += [(page, lines[at]) for at in starts if not any("until " in line for line in lines[at : at + 10])]
    assert not hasty, "the next command would meet a broker that is still starting"
