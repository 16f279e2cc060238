"""Times of rows as milliseconds: rounded down, and never another time."""

from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.errors import UsageProblem
from pulsarctl.tables.writing.send_times import milliseconds


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (pa.array([1_999, None], pa.timestamp("us", tz="Europe/Berlin")), [1, None]),
        (pa.array([1_999_999], pa.timestamp("ns")), [1]),
        (pa.array([1 << 40], pa.timestamp("s")), [(1 << 40) * 1000]),
        (pa.array([253_402_300_800_000_000], pa.timestamp("us", tz="UTC")), [253_402_300_800_000]),
        (pa.array([5]), [5]),
        (pa.nulls(1), [None]),
    ],
)
def test_a_time_is_a_number_of_whole_milliseconds(column: pa.Array, found: Any) -> None:
    assert milliseconds(column, "event_time") == found


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-1], pa.timestamp("us", tz="UTC")),
        pa.array([-1]),
        pa.array([1 << 62], pa.timestamp("s")),
        pa.array(["soon"]),
        pa.array([1.5]),
    ],
)
def test_a_time_that_pulsar_cannot_have_is_refused(column: pa.Array) -> None:
    with pytest.raises(UsageProblem, match="cannot write deliver_at: "):
        milliseconds(column, "deliver_at")
