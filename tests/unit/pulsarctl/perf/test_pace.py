"""Sending at a rate, on a clock that the test moves."""

import pytest

from pulsarctl.perf.pace import Pace

NO_BOUND = 1 << 30


def sent_after(pace: Pace, seconds: float, late_seconds: float) -> int:
    """How many messages are sent if each wait takes `late_seconds` more than asked."""
    now, sent = 100.0, 0
    while now < 100.0 + seconds:
        sent += pace.due(now, sent, NO_BOUND)
        now += pace.wait_seconds(now, sent) + late_seconds
    return sent


@pytest.mark.parametrize("rate", [1, 7.5, 333, 12_345])
@pytest.mark.parametrize("late_seconds", [0.0001, 0.013])
def test_late_wake_ups_do_not_add_up(rate: float, late_seconds: float) -> None:
    sent = sent_after(Pace(rate, 100.0), 60, late_seconds)
    assert abs(sent - rate * 60) <= 1 + rate * late_seconds


def test_messages_missed_in_a_pause_are_due_at_once() -> None:
    pace = Pace(10, 0.0)
    assert pace.due(0.0, 0, NO_BOUND) == 1
    assert pace.due(5.0, 1, NO_BOUND) == 50
    assert pace.due(5.0, 1, 20) == 20


def test_nothing_is_due_before_its_time() -> None:
    pace = Pace(2, 10.0)
    assert pace.due(10.2, 1, NO_BOUND) == 0
    assert pace.wait_seconds(10.2, 1) == pytest.approx(0.3)


def test_without_a_rate_everything_is_due() -> None:
    pace = Pace(0, 10.0)
    assert (pace.due(10.0, 1000, 256), pace.wait_seconds(10.0, 1000)) == (256, 0.0)
