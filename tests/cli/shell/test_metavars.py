"""The words that stand for values in the help and in usage lines."""

import pytest

from tests.support.runner import Cli


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("topics stats", "pulsarctl topics stats [OPTIONS] TOPIC"),
        ("subscriptions peek", "pulsarctl subscriptions peek [OPTIONS] TOPIC [SUBSCRIPTION]"),
        ("topics delete", "pulsarctl topics delete [OPTIONS] [TOPIC]..."),
        ("tail", "pulsarctl tail [OPTIONS] TOPIC..."),
        ("ops sql", "pulsarctl ops sql [OPTIONS] [QUERY]"),
        ("context rename", "pulsarctl context rename [OPTIONS] CONTEXT NEW-NAME"),
    ],
)
def test_the_usage_marks_what_may_be_left_out_or_repeated(cli_alone: Cli, command: str, usage: str) -> None:
    assert cli_alone(*command.split(), "--help").stdout.splitlines()[0] == f"Usage: {usage}"


@pytest.mark.parametrize("command", ["standalone", "topics create", "produce", "perf produce"])
def test_the_help_names_no_types_of_python(cli_alone: Cli, command: str) -> None:
    shown = cli_alone(*command.split(), "--help").stdout
    assert [kind for kind in ("<str>", "<int>", "<path>", " range>") if kind in shown] == []


def test_the_help_says_a_default_once(cli_alone: Cli) -> None:
    parallel = cli_alone("topics", "delete", "--help").stdout.partition("--parallel")[2].partition("\n  -")[0]
    assert parallel.lower().count("default: 8") == 1
