from broker_core.rates.rate import Rate
from tests.support.clocks import StillClock


def test_a_rate_is_counted_from_the_sample_before_the_last_one() -> None:
    clock = StillClock()
    rate = Rate(clock)
    rate.add(300, 3000)
    for _ in range(2):
        clock.seconds += 30
        rate.sample()
        rate.add(60, 600)
    clock.seconds += 30
    assert rate.per_second() == (2.0, 20.0)  # 120 messages in the last 60 seconds
    assert (rate.messages, rate.bytes) == (420, 4200)


def test_reading_a_rate_does_not_change_it() -> None:
    clock = StillClock()
    rate = Rate(clock)
    rate.add(10, 100)
    clock.seconds += 10
    assert rate.per_second() == rate.per_second() == (1.0, 10.0)


def test_an_interval_below_a_second_is_not_scaled_up() -> None:
    clock = StillClock()
    rate = Rate(clock)
    rate.add(10, 100)
    clock.seconds += 0.01
    assert rate.per_second() == (10.0, 100.0)


def test_an_idle_rate_falls_to_zero() -> None:
    clock = StillClock()
    rate = Rate(clock)
    rate.add(10, 100)
    for _ in range(2):
        clock.seconds += 30
        rate.sample()
    clock.seconds += 10
    assert rate.per_second() == (0.0, 0.0)


def test_counts_of_a_closed_producer_are_not_counted_again() -> None:
    clock = StillClock()
    left, leaving = Rate(clock), Rate(clock)
    leaving.add(1_000_000, 1_000_000)
    for _ in range(2):
        clock.seconds += 30
        left.sample()
        leaving.sample()
    leaving.add(60, 60)
    clock.seconds += 30
    left.absorb(leaving)
    assert left.per_second() == (1.0, 1.0)  # 60 in the 60 seconds since the older sample
    assert left.messages == 1_000_060
