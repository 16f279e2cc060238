"""What the options of the data source accept, and their errors."""

import pytest

pytest.importorskip("pyarrow")

from pulsarctl.errors import UsageProblem
from pulsarctl.spark.columns import COLUMNS
from pulsarctl.spark.options import Bound, ReadOptions
from pulsarctl.values.message_ids import EARLIEST, LATEST


def test_a_topic_is_the_only_required_option() -> None:
    options = ReadOptions.parse({"topic": "orders"})
    assert (options.topics, options.unit, options.subscriptions) == (("orders",), "message", ())
    assert (options.start, options.end) == (Bound(EARLIEST.position), Bound(LATEST.position))
    assert options.columns == tuple(column.name for column in COLUMNS)


def test_option_names_are_case_insensitive() -> None:
    assert ReadOptions.parse({"TOPICS": "a, b", "Tasks_Min": "4"}).tasks_min == 4


def test_a_bound_is_a_position_or_a_time() -> None:
    options = ReadOptions.parse({"topic": "t", "start": "7:3", "end": "@2026-01-31T00:00:00Z"})
    assert options.start == Bound((7, 3))
    assert options.end == Bound(LATEST.position, 1_769_817_600_000)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either the option topics or the option namespace"),
        ({"topic": "a", "namespace": "b/c"}, "either the option topics or the option namespace"),
        ({"topic": "a", "colour": "red"}, "no option colour"),
        ({"topic": "a", "unit": "batch"}, "none of message, entry"),
        ({"topic": "a", "tasks_min": "0"}, "not a number from 1 on"),
        ({"topic": "a", "timeout_seconds": "soon"}, "not a number of seconds"),
        ({"topic": "a", "start": "-5"}, "depends on what is read"),
    ],
)
def test_an_invalid_option_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        ReadOptions.parse(given)
