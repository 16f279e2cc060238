"""Token buckets on a clock that moves only when told to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.limits.rate_limit import BURST_SECONDS, NO_LIMIT, RateLimit, TokenBucket
from tests.support.clocks import StillClock

RATES = st.integers(1, 1_000_000)
STEPS = st.lists(st.floats(0, 0.5), min_size=1, max_size=200)


@given(rate=RATES, piece=st.integers(1, 1000), pauses=STEPS)
def test_no_schedule_exceeds_the_rate_plus_burst_plus_one_piece(rate: int, piece: int, pauses: list[float]) -> None:
    clock = StillClock()
    bucket = TokenBucket(clock, rate)
    taken = 0
    for pause in pauses:
        clock.seconds += pause
        while bucket.available() >= 1 and taken < 10_000 * piece:
            bucket.take(piece)
            taken += piece
    assert taken <= rate * sum(pauses) + bucket.burst + piece + 1e-6 * rate


@given(rate=RATES, piece=st.integers(1, 1000))
def test_constant_demand_gets_the_rate_over_ten_seconds(rate: int, piece: int) -> None:
    clock = StillClock()
    bucket = TokenBucket(clock, rate)
    start, taken = clock.seconds, 0
    while clock.seconds - start < 10:
        while bucket.available() >= 1:
            share = max(piece, int(bucket.available()))
            bucket.take(share)
            taken += share
        clock.seconds += max(bucket.wait_seconds(), 0.005)
    assert rate * 10 * 0.9 - piece - 1 <= taken <= rate * 10 * 1.03 + piece + 1


def test_a_debt_is_paid_before_the_next_piece() -> None:
    clock = StillClock()
    bucket = TokenBucket(clock, 10, burst=1)
    bucket.take(21)
    assert bucket.wait_seconds() == pytest.approx(2.1)
    clock.seconds += 2.0
    assert bucket.available() < 1
    clock.seconds += 0.11
    assert bucket.available() >= 1


def test_an_idle_bucket_saves_at_most_one_burst() -> None:
    clock = StillClock()
    bucket = TokenBucket(clock, 1000)
    clock.seconds += 3600
    assert bucket.available() == 1000 * BURST_SECONDS


def test_a_relative_rate_is_added() -> None:
    clock, published = StillClock(), [0]
    bucket = TokenBucket(clock, 10, extra=lambda: published[0])
    taken = 0
    for _ in range(1000):  # 10 s, 100 published a second
        clock.seconds += 0.01
        published[0] += 1
        while bucket.available() >= 1:
            bucket.take(1)
            taken += 1
    assert taken == pytest.approx(1100, rel=0.1)


def test_a_run_is_cut_where_either_limit_ends_with_the_last_entry_on_credit() -> None:
    limit = RateLimit.per_second(StillClock(), messages=40, size=4000)  # 10 messages and 1000 bytes at once
    assert limit.entries_allowed([1] * 20, [10] * 20) == 10
    assert limit.entries_allowed([1] * 20, [400] * 20) == 3
    assert limit.entries_allowed([100], [10]) == 1
    limit.take(11, 10)
    assert limit.entries_allowed([1], [1]) == 0
    assert limit.allowed(5, 1) == 0


def test_bytes_limit_the_messages_with_the_last_one_on_credit() -> None:
    limit = RateLimit.per_second(StillClock(), messages=0, size=4000)  # 1000 bytes at once
    assert limit.allowed(50, 100) == 10
    assert limit.allowed(50, 3000) == 1
    limit.take(1, 3000)
    assert limit.allowed(50, 1) == 0


def test_several_limits_allow_what_the_strictest_allows() -> None:
    clock = StillClock()
    limit = RateLimit.per_second(clock, 400, 0) + RateLimit.per_second(clock, 40, 0) + NO_LIMIT
    assert limit.allowed(1000, 1) == 10
    limit.take(10, 5)
    assert limit.allowed(1000, 1) == 0
    assert limit.wait_seconds() == pytest.approx(1 / 40)


def test_no_limit_allows_everything() -> None:
    assert not NO_LIMIT
    assert not RateLimit.per_second(StillClock(), 0, -1)
    assert NO_LIMIT.allowed(7, 1) == 7
    assert NO_LIMIT.wait_seconds() == 0
