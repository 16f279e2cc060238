"""Histograms: which bucket counts a value, what a sample forgets, and quantiles."""

from broker_core.clock import SystemClock
from broker_core.rates.histogram import Histogram
from broker_core.rates.writes import NOTED, Writes, milliseconds


def test_a_value_equal_to_a_bound_counts_below_it_and_a_larger_one_above() -> None:
    histogram = Histogram((1, 10))
    for value in (0.5, 1, 1.5, 10, 11):
        histogram.add(value)
    assert histogram.recent() == ([2, 2, 1], 24)


def test_values_of_different_buckets_that_are_added_together_are_counted_apart() -> None:
    histogram = Histogram((1, 10))
    histogram.add_all([5, 6, 7])
    histogram.add_all([1, 5, 50])
    assert histogram.recent() == ([1, 4, 1], 74)
    assert (histogram.count, histogram.sum) == (6, 74)


def test_counts_are_forgotten_after_two_samples_and_totals_never() -> None:
    histogram = Histogram((1,))
    histogram.add(1, 3)
    histogram.sample()
    histogram.add(2)
    assert histogram.recent() == ([3, 1], 5)
    histogram.sample()
    assert histogram.recent() == ([0, 1], 2)
    histogram.sample()
    assert histogram.recent() is None
    assert (histogram.count, histogram.sum) == (4, 5)


def test_quantiles_are_exact_to_a_tenth() -> None:
    latency = milliseconds()
    for value in range(1, 1001):
        latency.add(value)
    low, middle, high, top = latency.quantiles((0.0, 0.5, 0.99, 1.0))
    assert 1 <= low <= 1.1
    assert 500 <= middle <= 550
    assert 990 <= high <= 1089
    assert 1000 <= top <= 1100
    assert milliseconds().quantiles((0.5,)) == []


def test_runs_are_counted_together_and_by_every_sample() -> None:
    everywhere = milliseconds()
    writes = Writes(SystemClock(), everywhere)
    for number in range(NOTED + 1):
        writes.add([0], [100 if number % 2 else 600], 0.0001 * (number % 3))
    assert everywhere.count == NOTED
    writes.sample()
    assert everywhere.count == writes.entries.messages == NOTED + 1
    assert writes.entry_bytes.recent() == ([NOTED // 2, 0, NOTED // 2 + 1, 0, 0, 0, 0, 0, 0], 350 * NOTED + 600)


def test_a_run_counts_its_entries_by_size_and_its_time_once_for_each() -> None:
    everywhere = milliseconds()
    writes = Writes(SystemClock(), everywhere)
    writes.add([0, 100, 300], [50, 250, 5000], 0.002)
    assert not everywhere.count
    writes.sample()
    assert writes.entry_bytes.recent() == ([1, 1, 0, 0, 0, 1, 0, 0, 0], 50 + 150 + 4700)
    assert writes.latency_ms.recent() == ([0, 0, 3, 0, 0, 0, 0, 0, 0, 0], 6.0)
    assert everywhere.count == writes.entries.messages == 3


def test_a_histogram_adds_values_with_their_numbers() -> None:
    together, one_by_one = Histogram((1, 2, 3)), Histogram((1, 2, 3))
    values, times = [0.5, 2, 2.5, 9], [1, 3, 2, 4]
    together.add_times(values, times)
    for value, number in zip(values, times, strict=True):
        one_by_one.add(value, number)
    assert together.recent() == one_by_one.recent() == ([1, 3, 2, 4], 47.5)
    assert (together.count, together.sum) == (10, 47.5)
