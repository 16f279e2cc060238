"""Which stream consumer reads which segment."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from broker_core.scalable.sharing import shared, spread

NAMES = st.sets(st.sampled_from("abcdefgh"))
SEGMENTS = st.lists(st.integers(0, 40), unique=True, max_size=20)


def test_without_consumers_nothing_is_shared() -> None:
    assert shared([1, 2], [], {}) == {}


def test_new_consumers_get_the_segments_in_order() -> None:
    assert shared([5, 6, 7], ["b", "a"], {}) == {5: "a", 6: "b", 7: "a"}


def test_a_consumer_that_joins_takes_only_what_is_its_share() -> None:
    assert shared([0, 1, 2, 3], ["a", "b"], dict.fromkeys(range(4), "a")) == {0: "a", 1: "a", 2: "b", 3: "b"}


@given(SEGMENTS, NAMES, st.dictionaries(st.integers(0, 40), st.sampled_from("abcdefghxyz")))
def test_shares_are_balanced_and_nothing_moves_without_need(
    segments: list[int], names: set[str], owners: dict[int, str]
) -> None:
    result = shared(segments, names, owners)
    assert list(result) == (segments if names else [])
    counts = Counter(result.values())
    if names:
        assert max(counts[name] for name in names) - min(counts[name] for name in names) <= 1
    again = shared(segments, names, result)
    assert again == result
    least = len(segments) // len(names) if names else 0
    for name in names:
        had = [segment for segment in segments if owners.get(segment) == name]
        kept = [segment for segment in had if result[segment] == name]
        assert len(kept) >= min(len(had), least), "a consumer keeps what it has, up to its share"


BUCKETS = st.dictionaries(st.integers(0, 8), st.integers(1, 5), max_size=6)
SHARERS = st.dictionaries(st.integers(0, 8), st.lists(st.sampled_from("abcdefghxyz"), unique=True, max_size=4))


def test_consumers_without_a_segment_share_those_of_others_evenly() -> None:
    spread_out = spread({0: 4, 1: 4}, "abcde", "abcde", {})
    assert spread_out == {0: ("a", "c", "d"), 1: ("b", "e")}


def test_a_segment_has_at_most_a_consumer_for_each_bucket() -> None:
    assert spread({0: 2, 1: 1}, "abcd", "abcd", {}) == {0: ("a", "c"), 1: ("b",)}


def test_a_segment_whose_consumer_cannot_share_is_not_shared() -> None:
    assert spread({0: 4}, "abc", "bc", {}) == {0: ("a",)}
    assert spread({0: 4}, "abc", "ac", {}) == {0: ("a", "c")}


def test_a_consumer_stays_where_it_shares_a_segment_when_others_leave() -> None:
    assert spread({0: 4, 1: 4}, "bcd", "bcd", {0: ["a", "c"], 1: ["b", "d"]}) == {0: ("c",), 1: ("b", "d")}


def test_a_consumer_that_two_segments_share_stays_in_one() -> None:
    assert spread({0: 2, 1: 2}, "abcd", "abcd", {0: ["a", "c"], 1: ["b", "c"]}) == {0: ("a", "c"), 1: ("b", "d")}


@given(BUCKETS, NAMES, NAMES, SHARERS)
def test_sharers_are_even_and_do_not_move_without_need(
    buckets: dict[int, int], names: set[str], able: set[str], now: dict[int, list[str]]
) -> None:
    result = spread(buckets, names, able, now)
    again = spread(buckets, names, able, result)
    assert again == result
    counts = Counter(name for sharers in result.values() for name in sharers)
    if len(names) > len(buckets):
        assert set(counts.values()) <= {1}, "a consumer has one segment"
    for segment, sharers in result.items():
        assert len(sharers) == 1 or (len(sharers) <= buckets[segment] and set(sharers) <= able)
    open_to_all = [len(sharers) for segment, sharers in result.items() if len(sharers) < buckets[segment]]
    if able >= names and open_to_all:
        assert max(map(len, result.values())) - min(open_to_all) <= 1
        assert set(counts) == names, "no one waits while there is room"
