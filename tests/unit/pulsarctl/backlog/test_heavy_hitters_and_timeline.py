"""Summaries that merge: frequent names, different names, publish times."""

import random

import numpy as np

from pulsarctl.backlog.heavy_hitters import CAPACITY, HASHES_KEPT, DistinctCount, HeavyHitters
from pulsarctl.backlog.timeline import BUCKETS_MAX, Timeline


def test_few_names_are_counted_exactly() -> None:
    found = HeavyHitters()
    found.add([("a", 3), ("b", 1)])
    found.add([("a", 2)])
    assert (found.top(2), found.error) == ([("a", 5), ("b", 1)], 0)


def test_a_frequent_name_among_very_many_is_at_most_the_error_too_low() -> None:
    found = HeavyHitters()
    for start in range(0, 20 * CAPACITY, CAPACITY):
        part = HeavyHitters()
        part.add([("often", 50), *((f"rare-{start + number}", 1) for number in range(CAPACITY))])
        found.merge(part)
    ((name, count),) = found.top(1)
    assert name == "often"
    assert 1000 - found.error <= count <= 1000
    assert found.error <= 21 * CAPACITY // CAPACITY
    assert len(found.counts) <= CAPACITY


def test_few_different_names_are_counted_exactly() -> None:
    found, other = DistinctCount(), DistinctCount()
    found.add(f"n{number}" for number in range(500))
    other.add(f"n{number}" for number in range(400, 900))
    found.merge(other)
    assert (found.estimate(), found.is_exact) == (900, True)


def test_many_different_names_are_estimated_within_a_tenth() -> None:
    found = DistinctCount()
    found.add(f"n{number}" for number in range(50_000))
    assert not found.is_exact
    assert len(found.hashes) == HASHES_KEPT
    assert 45_000 < found.estimate() < 55_000


def test_timelines_merge_to_the_same_in_any_order() -> None:
    chosen = random.Random(1)
    times = [chosen.randint(0, 10**9) for _ in range(500)]
    parts = [times[start::7] for start in range(7)]
    whole = line(times)
    for order in (parts, parts[::-1]):
        merged = Timeline()
        for each in order:
            merged.merge(line(each))
        assert (merged.width_ms, merged.counts) == (whole.width_ms, whole.counts)
    assert len(whole.counts) <= BUCKETS_MAX
    assert sum(whole.counts.values()) == 500


def line(times: list[int]) -> Timeline:
    found = Timeline()
    found.add(np.array(times), np.ones(len(times)))
    return found
