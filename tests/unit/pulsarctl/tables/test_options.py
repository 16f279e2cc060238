"""What the options of a table accept, and their errors."""

import pytest

pytest.importorskip("pyarrow")

from pulsarctl.errors import UsageProblem
from pulsarctl.tables.bounds import FIRST, LAST, Bound
from pulsarctl.tables.options import TableOptions
from pulsarctl.values.message_ids import LATEST

PARTITION = "persistent://public/default/t-partition-1"


def test_a_topic_is_the_only_required_option() -> None:
    options = TableOptions.parse({"topic": "orders"})
    assert (options.topics, options.unit, options.subscriptions) == (("orders",), "message", ())
    assert (options.start.of("orders"), options.end.of("orders")) == (FIRST, LAST)
    assert (options.columns, options.decode) == ((), "auto")


def test_option_names_are_case_insensitive() -> None:
    assert TableOptions.parse({"TOPICS": "a, b", "Tasks_Min": "4"}).tasks_min == 4


def test_a_bound_is_a_position_or_a_time() -> None:
    options = TableOptions.parse({"topic": "t", "start": "7:3", "end": "@2026-01-31T00:00:00Z"})
    assert options.start.of("t") == Bound((7, 3))
    assert options.end.of("t") == Bound(LATEST.position, time_ms=1_769_817_600_000)


def test_a_bound_may_name_a_message_of_a_batch() -> None:
    assert TableOptions.parse({"topic": "t", "start": "7:3:-1:2"}).start.of("t") == Bound((7, 3), 2)


@pytest.mark.parametrize("key", ["1", PARTITION, "t-partition-1"])
def test_each_partition_may_have_its_own_bound(key: str) -> None:
    options = TableOptions.parse({"topic": "t", "start": f'{{"{key}": "7:3"}}'})
    assert options.start.of(PARTITION) == Bound((7, 3))
    assert options.start.of("persistent://public/default/t-partition-0") == FIRST


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "cannot read: no target given, or more than one"),
        ({"topic": "a", "namespace": "b/c"}, "cannot read: no target given, or more than one"),
        ({"topic": "a", "colour": "red"}, "no option colour"),
        ({"topic": "a", "unit": "batch"}, "not one of message, entry"),
        ({"topic": "a", "tasks_min": "0"}, "not a number of at least 1"),
        ({"topic": "a", "timeout_seconds": "soon"}, "not a duration"),
        ({"topic": "a", "start": "-5"}, "depends on what is read"),
        ({"topic": "a", "start": "{7"}, "JSON cannot be read"),
        ({"topic": "a", "fail_on_data_loss": "perhaps"}, "neither true nor false"),
        ({"topic": "a", "decode": "xml"}, "not one of auto, raw"),
        ({"topics_pattern": "("}, "not a regular expression"),
    ],
)
def test_an_invalid_option_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        TableOptions.parse(given)


@pytest.mark.parametrize(("given", "meant"), [("startingOffsets", "start"), ("fail_on_dataloss", "fail_on_data_loss")])
def test_the_error_for_an_unknown_option_names_the_right_one(given: str, meant: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        TableOptions.parse({"topic": "a", given: "x"})
    assert caught.value.hint == f"use {meant}"
