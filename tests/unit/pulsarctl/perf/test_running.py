"""The threads of a measurement: errors, deadlines, and missing answers."""

from itertools import repeat
from typing import Any

import pytest

from pulsarctl.errors import CannotConnect
from pulsarctl.perf.load import Load
from pulsarctl.perf.running import Plan, Run, Side, Stop, Work
from pulsarctl.perf.sending import NOT_ACKNOWLEDGED, Sender
from pulsarctl.perf.tally import Tally

FAST = Plan(duration_seconds=0, report_seconds=0, drain_seconds=0.2)


class Mute:
    """A producer whose broker never answers."""

    def send_async(self, _value: bytes, _done: Any, **_fields: Any) -> None:
        pass


def until_stopped(stop: Stop) -> None:
    assert stop.wait(30), "nothing has stopped the run"


def failing(error: Exception) -> Work:
    def work(_stop: Stop) -> None:
        raise error

    return work


@pytest.mark.parametrize("error", [CannotConnect("lost"), ZeroDivisionError("a bug")])
def test_an_error_of_one_thread_ends_all_and_is_kept(error: Exception) -> None:
    run = Run([Side("consume", [until_stopped, failing(error)], Tally())], FAST, print)
    run.finish()
    assert run.problem is error


def test_messages_without_an_answer_are_errors_after_the_deadline() -> None:
    load = Load(payload=lambda: b"x", keys=repeat(None), rate=0, limit=3, outstanding=5, warm_up_seconds=0)
    tally = Tally()
    (measured,) = Run([Side("produce", [Sender([Mute()], load, tally)], tally)], FAST, print).finish()
    assert measured.counts.errors == {NOT_ACKNOWLEDGED: 3}
    assert measured.counts.messages == 0


def test_a_full_window_ends_with_the_duration() -> None:
    load = Load(payload=lambda: b"x", keys=repeat(None), rate=0, limit=0, outstanding=2, warm_up_seconds=0)
    tally = Tally()
    plan = Plan(duration_seconds=0.1, report_seconds=0, drain_seconds=0.1)
    (measured,) = Run([Side("produce", [Sender([Mute()], load, tally)], tally)], plan, print).finish()
    assert measured.counts.errors == {NOT_ACKNOWLEDGED: 2}
