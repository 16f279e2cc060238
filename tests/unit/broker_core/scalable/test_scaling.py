"""When a segment is split, and when two are merged."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.config.scaling import ScalingConfig
from broker_core.scalable.layout import Layout
from broker_core.scalable.scaling import (
    Load,
    Merge,
    Readers,
    Rebucket,
    Situation,
    Split,
    cold_since,
    merge_depths,
    next_change,
)

RULES = ScalingConfig()
IDLE = Load()
NOW = 10_000.0


def situation(layout: Layout, **fields: Any) -> Situation:
    """`consumers`: those that have segments of their own. `sharing`: those that share segments."""
    consumers = Readers(fields.pop("consumers", 0), fields.pop("sharing", 0))
    return Situation(layout, **{"loads": {}, "cold_since": {}, "consumers": consumers, "now": NOW, **fields})


def cold(layout: Layout, **fields: Any) -> Situation:
    """Nothing has happened for longer than every cooldown and window."""
    loads = {segment.id: IDLE for segment in layout.active}
    return situation(layout, **{"loads": loads, "cold_since": dict.fromkeys(loads, 0.0), **fields})


ONE, TWO, FOUR = (Layout.initial(count, 0) for count in (1, 2, 4))


def test_more_consumers_than_segments_split_the_segment_with_the_most_incoming_messages() -> None:
    loads = {0: Load(messages_in=1, bytes_in=900), 1: Load(messages_in=2)}
    assert next_change(situation(TWO, consumers=3, loads=loads), RULES) == Split(1)
    assert next_change(situation(TWO, consumers=3), RULES) == Split(0)
    assert next_change(situation(TWO, consumers=2), RULES) is None


@pytest.mark.parametrize("rate", Load._fields)
def test_a_segment_is_split_when_one_of_its_rates_is_too_high(rate: str) -> None:
    limit = getattr(RULES, f"split_{rate}")
    assert next_change(situation(TWO, loads={1: Load(**{rate: limit})}), RULES) is None
    assert next_change(situation(TWO, loads={1: Load(**{rate: limit * 1.01})}), RULES) == Split(1)


def test_the_segment_that_exceeds_its_limits_most_is_split_first() -> None:
    loads = {0: Load(messages_in=20_000), 1: Load(bytes_out=750_000_000)}
    assert next_change(situation(TWO, loads=loads), RULES) == Split(1)


def test_a_split_waits_for_the_cooldown() -> None:
    wanted = situation(ONE, consumers=2, last_split=NOW - 59)
    assert next_change(wanted, RULES) is None
    assert next_change(replace(wanted, now=NOW + 1), RULES) == Split(0)


def test_a_topic_has_at_most_the_maximum_of_segments() -> None:
    assert next_change(situation(TWO, consumers=9), ScalingConfig(max_segments=2)) is None


def test_a_segment_with_one_hash_is_not_split() -> None:
    layout = ONE
    for _ in range(16):
        layout = layout.split(min(layout.active, key=lambda one: one.order).id, 0)
    narrow = layout.active[0]
    assert narrow.start == narrow.end
    change = next_change(situation(layout, loads={narrow.id: Load(messages_in=99_999)}), RULES)
    assert change is None


def test_the_quietest_neighbors_are_merged() -> None:
    loads = {0: Load(messages_in=9), 1: Load(bytes_in=3), 2: Load(messages_out=1), 3: Load(bytes_out=8)}
    assert next_change(cold(FOUR, loads=loads), RULES) == Merge(1, 2)


@pytest.mark.parametrize("rate", Load._fields)
def test_a_segment_is_cold_when_all_four_of_its_rates_are_low(rate: str) -> None:
    limit = getattr(RULES, f"merge_{rate}")
    loads = {0: Load(**{rate: limit}), 1: Load(**{rate: limit * 0.99})}
    assert cold_since({}, loads, 5.0, RULES) == {1: 5.0}


def test_a_segment_stays_cold_since_its_rates_became_low() -> None:
    since = cold_since({0: 1.0, 1: 1.0, 9: 1.0}, {0: IDLE, 1: Load(messages_in=5000), 2: IDLE}, 7.0, RULES)
    assert since == {0: 1.0, 2: 7.0}


def test_neighbors_are_merged_when_both_have_been_cold_for_the_window() -> None:
    now = situation(TWO, loads={0: IDLE, 1: IDLE}, cold_since={0: 0.0, 1: NOW - 299})
    assert next_change(now, RULES) is None
    assert next_change(replace(now, now=NOW + 1), RULES) == Merge(0, 1)
    assert next_change(replace(now, now=NOW + 1, cold_since={0: 0.0}), RULES) is None


def test_a_merge_waits_for_the_cooldown() -> None:
    wanted = cold(TWO, last_merge=NOW - 299)
    assert next_change(wanted, RULES) is None
    assert next_change(replace(wanted, now=NOW + 1), RULES) == Merge(0, 1)


def test_a_topic_has_at_least_the_minimum_of_segments() -> None:
    assert next_change(cold(TWO), ScalingConfig(min_segments=2)) is None


def test_a_merge_leaves_a_segment_for_each_consumer() -> None:
    assert next_change(cold(FOUR, consumers=4), RULES) is None
    assert next_change(cold(FOUR, consumers=3), RULES) == Merge(0, 1)


def test_a_segment_is_merged_only_a_limited_number_of_times() -> None:
    merged_once = TWO.merge(0, 1, 0).split(2, 0)
    assert merge_depths(merged_once) == {0: 0, 1: 0, 2: 1, 3: 1, 4: 1}
    assert next_change(cold(merged_once), ScalingConfig(max_depth=1)) is None
    assert next_change(cold(merged_once), ScalingConfig(max_depth=2)) == Merge(3, 4)


def test_nothing_changes_when_automatic_changes_are_off() -> None:
    off = ScalingConfig(enabled=False)
    assert next_change(situation(ONE, consumers=5), off) is None
    assert next_change(cold(TWO), off) is None


def buckets(segments: int, each: int) -> Layout:
    return Layout.initial(segments, 0, each)


def test_consumers_that_share_segments_split_only_a_busy_one() -> None:
    wanted = situation(buckets(1, 4), sharing=2, loads={0: Load(messages_in=999)})
    assert next_change(wanted, RULES) is None
    assert next_change(replace(wanted, loads={0: Load(messages_in=1000)}), RULES) == Split(0)


@pytest.mark.parametrize(
    ("layout", "sharing", "expected"),
    [
        (buckets(1, 4), 4, None),
        (buckets(1, 4), 5, Rebucket((0,), 8)),
        (buckets(2, 2), 5, Rebucket((0, 1), 4)),
        (buckets(4, 1), 10, Rebucket((0, 1, 2, 3), 4)),
        (buckets(4, 1).rebucket(0, 4, 0), 10, Rebucket((1, 2, 3), 4)),
        (buckets(1, 4), 5000, Rebucket((0,), 1024)),
        (buckets(1, 1024), 5000, None),
    ],
)
def test_segments_get_equally_many_buckets_if_there_are_too_few(
    layout: Layout, sharing: int, expected: Rebucket | None
) -> None:
    assert next_change(situation(layout, sharing=sharing), RULES) == expected


def test_a_busy_topic_gets_more_buckets_only_when_it_has_all_its_segments() -> None:
    busy = situation(buckets(1, 4), sharing=5, loads={0: Load(messages_in=2000)}, last_split=NOW)
    assert next_change(busy, RULES) is None
    assert next_change(busy, ScalingConfig(max_segments=1)) == Rebucket((0,), 8)


def test_a_rebucket_waits_for_the_cooldown() -> None:
    wanted = situation(buckets(1, 4), sharing=5, last_rebucket=NOW - 59)
    assert next_change(wanted, RULES) is None
    assert next_change(replace(wanted, now=NOW + 1), RULES) == Rebucket((0,), 8)


def test_a_merge_leaves_a_bucket_for_each_consumer_that_has_one() -> None:
    full = buckets(2, 8)
    assert next_change(cold(full, sharing=12, most_buckets=8), RULES) is None
    assert next_change(cold(full, sharing=8, most_buckets=8), RULES) == Merge(0, 1)
    assert next_change(cold(buckets(2, 4), sharing=20, most_buckets=8, last_rebucket=NOW), RULES) == Merge(0, 1)


rates = st.sampled_from([0.0, 1.0, 999.0, 20_000.0, 1e9])
bounds = st.integers(1, 6)


@given(
    st.integers(1, 5),
    st.lists(st.tuples(rates, rates, rates, rates), min_size=40, max_size=40),
    st.lists(st.integers(0, 8), min_size=30, max_size=30),
    bounds,
    bounds,
)
def test_the_segments_stay_within_the_bounds_and_suffice_for_the_consumers(
    count: int, known: list[tuple[float, ...]], consumers: list[int], least: int, span: int
) -> None:
    """Decisions one after the other, each as soon as its cooldown and the window allow."""
    rules = ScalingConfig(min_segments=least, max_segments=least + span)
    layout, cold_at, now = Layout.initial(count, 0), dict[int, float](), 0.0
    for readers in consumers:
        loads = {segment.id: Load(*known[segment.id % len(known)]) for segment in layout.active}
        cold_at, now = cold_since(cold_at, loads, now, rules), now + 400
        change = next_change(Situation(layout, loads, cold_at, Readers(readers), now), rules)
        before = len(layout.active)
        if isinstance(change, Split):
            assert before < rules.max_segments
            layout = layout.split(change.segment_id, 0)
        elif isinstance(change, Merge):
            assert before > max(rules.min_segments, readers)
            layout = layout.merge(*change, 0)  # refuses segments that are not active neighbors
        else:
            assert before >= min(readers, rules.max_segments)
