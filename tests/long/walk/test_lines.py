"""The table of lines names every verb that both tools have."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from pulsarctl.shell.root import application
from tests.long.walk.lines import lines, parts

VERBS: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[2] / "cli" / "pulsar_admin_verbs.json").read_text("utf-8")
)
ROOT: Any = typer.main.get_command(application())
LEFT_OUT = {("brokers", "shutdown"): "ends the broker"}


def walked() -> set[tuple[str, str]]:
    words = (line.words for part in parts() for line in lines(part) if not line.prepares)
    return {(line[0], line[1]) for line in words}


@pytest.mark.parametrize("noun", VERBS)
def test_every_verb_of_a_noun_has_a_line(noun: str) -> None:
    both = {(noun, verb) for verb in VERBS[noun] if verb in ROOT.commands[noun].commands}
    assert both - walked() - set(LEFT_OUT) == set(), "add lines to tests/long/walk/lines, and run `make walk`"


def test_what_is_left_out_has_no_line() -> None:
    assert walked() & set(LEFT_OUT) == set()


def test_every_line_names_a_noun_of_pulsar_admin() -> None:
    assert {noun for noun, _ in walked()} <= set(VERBS)
