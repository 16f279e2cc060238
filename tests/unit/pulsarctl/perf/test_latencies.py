"""The histogram of latencies."""

from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulsarctl.perf.latencies import LONGEST_US, Latencies

LISTS = st.lists(st.integers(0, 1 << 24) | st.integers(0, LONGEST_US), min_size=1, max_size=200)
PERCENTS = (1, 50, 95, 99, 99.9, 99.99, 100)


def latencies_of(values: list[int]) -> Latencies:
    found = Latencies()
    for value in values:
        found.add(value)
    return found


@settings(max_examples=40, deadline=None)
@given(LISTS, st.sampled_from(PERCENTS))
def test_a_percentile_is_within_one_percent_of_the_exact_one(values: list[int], percent: float) -> None:
    exact = sorted(values)[max(1, ceil(round(percent * len(values) / 100, 6))) - 1]
    assert latencies_of(values).percentile_us(percent) == pytest.approx(exact, rel=0.01)


@settings(max_examples=40, deadline=None)
@given(LISTS)
def test_the_mean_and_the_maximum_are_exact(values: list[int]) -> None:
    found = latencies_of(values)
    assert (found.mean_us, found.max_us, found.count) == (sum(values) / len(values), max(values), len(values))


@settings(max_examples=40, deadline=None)
@given(LISTS, LISTS)
def test_merged_histograms_are_the_histogram_of_all(some: list[int], others: list[int]) -> None:
    merged = latencies_of(some)
    merged.merge(latencies_of(others))
    whole = latencies_of(some + others)
    assert [merged.percentile_us(percent) for percent in PERCENTS] == [whole.percentile_us(p) for p in PERCENTS]
    assert (merged.mean_us, merged.max_us) == (whole.mean_us, whole.max_us)


def test_small_latencies_are_exact() -> None:
    found = latencies_of(list(range(1, 201)))
    assert [found.percentile_us(percent) for percent in (50, 99, 99.5, 100)] == [100, 198, 199, 200]


def test_no_latencies_have_no_percentiles() -> None:
    assert (Latencies().percentile_us(50), Latencies().mean_us) == (None, None)


def test_a_latency_beyond_the_range_counts_as_the_longest() -> None:
    found = latencies_of([-5, 1 << 60])
    assert (found.percentile_us(1), found.max_us) == (0, LONGEST_US)
