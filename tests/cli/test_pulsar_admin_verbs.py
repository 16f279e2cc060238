"""What the README and the docs claim about commands matches the program."""

import re
import runpy
from pathlib import Path

from pulsarctl.shell.nouns import COMMANDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
OVERVIEW = (ROOT / "docs" / "reference" / "overview.md").read_text("utf-8")
VERBS = runpy.run_path(str(ROOT / ".ci" / "docs" / "pulsar_admin.py"))


def test_the_list_of_pulsar_admin_verbs_is_complete() -> None:
    counts = {noun: len(verbs) for noun, verbs in VERBS["VERBS"].items()}
    assert {noun: counts[noun] for noun in ("tenants", "namespaces", "topics", "topicPolicies", "clusters")} == {
        "tenants": 5,
        "namespaces": 141,
        "topics": 142,
        "topicPolicies": 85,
        "clusters": 14,
    }
    assert sum(counts.values()) == 501


def test_the_page_of_missing_verbs_is_up_to_date() -> None:
    assert (ROOT / "docs" / "reference" / "pulsar-admin.md").read_text("utf-8") == VERBS["page"](), "run `make docs`"


def test_the_readme_says_how_many_verbs_there_are() -> None:
    assert VERBS["COUNT"].search(README)[0] == VERBS["count"](), "run `make docs`"


def test_the_overview_lists_exactly_the_commands() -> None:
    table = OVERVIEW.partition("\n## ")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    named = {
        words.split()[0]
        for cell in first_cells
        for words in re.findall(r"`(?:pulsarctl )?([a-zA-Z][a-zA-Z -]*)`", cell)
    }
    assert named == set(COMMANDS)
