"""Every option of the program that takes a time or a position reads it with the one parser of its kind."""

from pathlib import Path

import pytest

from pulsarctl.shell.reference import Option, Page, pages
from pulsarctl.values import positions, times
from tests.support.runner import Cli

GRAMMARS = {"TIME": ("a time", times.GRAMMAR), "POSITION": ("a position", positions.GRAMMAR)}
WITH_SUBSCRIPTION = ("topics reset-cursor", "subscriptions seek", "scalable-topics seek")
REQUIRED = {"produce": ("-m", "x")} | dict.fromkeys(WITH_SUBSCRIPTION, ("-s", "x"))
FOUND = [(page, option) for page in pages() for option in page.options if option.metavar in GRAMMARS]
SPELLINGS = ("-10m", "@-10m", "1699999400", "1699999400000", "@1699999400000", "2023-11-14T22:03:20Z")


def test_the_program_has_such_options() -> None:
    assert {" ".join(page.words) for page, _ in FOUND} >= {"consume", "produce", "ops export", "subscriptions seek"}


@pytest.mark.parametrize(
    ("page", "option"), FOUND, ids=[f"{' '.join(page.words)} {option.spellings[-1]}" for page, option in FOUND]
)
def test_an_option_refuses_another_text_with_the_grammar(tmp_path: Path, page: Page, option: Option) -> None:
    cli = Cli(tmp_path, "http://127.0.0.1:1", "pulsar://127.0.0.1:1")
    required = REQUIRED.get(" ".join(page.words), ())
    refused = cli(
        *page.words, *(f"x{index}" for index in range(len(page.arguments))), *required, option.spellings[0], "yesterday"
    )
    name, grammar = GRAMMARS[option.metavar]
    assert (refused.exit_code, refused.stderr) == (2, f"error: 'yesterday' is not {name}\nhint: {grammar}\n")


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_time_and_a_position_have_the_same_spellings(text: str) -> None:
    now_ms = 1_700_000_000_000
    assert times.parse_time_ms(text, now_ms) == now_ms - 600_000
    assert positions.parse_position(text, now_ms) == positions.AtTime(now_ms - 600_000)
