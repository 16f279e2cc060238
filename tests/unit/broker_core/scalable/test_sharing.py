"""Which stream consumer reads which segment."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from broker_core.scalable.sharing import shared

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
