"""The time by which messages expire when the wall clock jumps, with clocks that the test moves."""

import pytest

from broker_core.config.policies import PolicyConfig
from broker_core.metadata.policies.expiry_clock import ExpiryClock

HOUR_MS = 3600_000
DAY_MS = 24 * HOUR_MS
START_MS = 1_700_000_000_000


class HandClock:
    def __init__(self) -> None:
        self.passed_ms = 0
        self.offset_ms = 0

    def wall_ms(self) -> int:
        return START_MS + self.passed_ms + self.offset_ms

    def monotonic(self) -> float:
        raise AssertionError("it stands still while the machine sleeps")

    def elapsed(self) -> float:
        return 5.0 + self.passed_ms / 1000


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def expiry(clock: HandClock) -> ExpiryClock:
    return ExpiryClock(clock, PolicyConfig(clock_tolerance_seconds=60, clock_proof_seconds=3600))


def passed(expiry: ExpiryClock) -> int:
    """Milliseconds since the start, as expiry sees them."""
    return expiry.now_ms() - START_MS


def test_expiry_uses_wall_time_while_both_clocks_agree(clock: HandClock, expiry: ExpiryClock) -> None:
    clock.passed_ms = 40 * DAY_MS
    assert passed(expiry) == 40 * DAY_MS


@pytest.mark.parametrize(("ahead_ms", "seen_ms"), [(60_000, 60_000), (60_001, 0), (DAY_MS, 0), (-DAY_MS, -DAY_MS)])
def test_the_wall_clock_is_trusted_up_to_the_tolerance(
    clock: HandClock, expiry: ExpiryClock, ahead_ms: int, seen_ms: int
) -> None:
    clock.offset_ms = ahead_ms
    assert passed(expiry) == seen_ms


def test_small_jumps_have_the_same_tolerance_as_a_large_one(clock: HandClock, expiry: ExpiryClock) -> None:
    for step in range(1, 100):
        clock.passed_ms, clock.offset_ms = step * 10_000, step * 50_000
        assert passed(expiry) <= clock.passed_ms + 60_000


def test_expiry_uses_elapsed_time_while_the_clock_is_ahead(clock: HandClock, expiry: ExpiryClock) -> None:
    clock.offset_ms = DAY_MS
    assert passed(expiry) == 0
    clock.passed_ms = HOUR_MS - 1
    assert passed(expiry) == HOUR_MS - 1


def test_a_clock_that_returns_has_no_lasting_effect(clock: HandClock, expiry: ExpiryClock) -> None:
    clock.offset_ms = DAY_MS
    expiry.now_ms()
    clock.passed_ms, clock.offset_ms = 60_000, 0
    assert passed(expiry) == 60_000


def test_a_clock_that_keeps_its_time_is_trusted(clock: HandClock, expiry: ExpiryClock) -> None:
    clock.offset_ms = DAY_MS
    expiry.now_ms()
    clock.passed_ms = HOUR_MS
    assert passed(expiry) == HOUR_MS + DAY_MS


def test_every_jump_restarts_the_proof(clock: HandClock, expiry: ExpiryClock) -> None:
    for half_hour in range(10):
        clock.passed_ms, clock.offset_ms = half_hour * HOUR_MS // 2, DAY_MS * (half_hour % 2 + 1)
        assert passed(expiry) == clock.passed_ms


def test_a_corrected_clock_may_not_jump_ahead_again(clock: HandClock, expiry: ExpiryClock) -> None:
    clock.offset_ms = -DAY_MS
    expiry.now_ms()
    clock.passed_ms = HOUR_MS
    expiry.now_ms()
    clock.offset_ms = 0
    assert passed(expiry) == HOUR_MS - DAY_MS


def test_a_start_trusts_the_clock(clock: HandClock, expiry: ExpiryClock) -> None:
    clock.offset_ms = DAY_MS
    assert passed(expiry) == 0
    assert passed(ExpiryClock(clock, PolicyConfig())) == DAY_MS


def test_a_clock_jump_is_logged_once_with_what_to_do(
    clock: HandClock, expiry: ExpiryClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.offset_ms = DAY_MS
    for _ in range(3):
        expiry.now_ms()
    [told] = caplog.messages
    assert "86400 s ahead" in told and "restart the broker" in told
    clock.offset_ms = 0
    expiry.now_ms()
    assert caplog.messages[1:] == ["messages expire by the wall clock again"]
