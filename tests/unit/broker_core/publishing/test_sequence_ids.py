"""Which messages are new and which are duplicates, by sequence ID."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from broker_core.publishing.sequence_ids import NONE, Part, SequenceIds


def pushed(name: str = "p", *, highest: int) -> SequenceIds:
    ids = SequenceIds()
    ids.push(name, highest)
    return ids


def test_a_run_above_all_known_ids_is_new() -> None:
    assert pushed(highest=4).split("p", [5, 6], [5, 6]) == [Part(0, 2, True)]


def test_gaps_are_allowed() -> None:
    assert pushed(highest=4).split("p", [7, 100], [7, 100]) == [Part(0, 2, True)]


def test_a_run_that_begins_with_duplicates_is_cut() -> None:
    assert pushed(highest=4).split("p", [3, 4, 5], [3, 4, 5]) == [Part(0, 2, False), Part(2, 3, True)]


def test_a_message_twice_in_a_run_is_new_once() -> None:
    assert SequenceIds().split("p", [0, 0, 1], [0, 0, 1]) == [Part(0, 1, True), Part(1, 2, False), Part(2, 3, True)]


def test_a_batch_is_checked_by_its_lowest_and_remembered_by_its_highest_id() -> None:
    ids = pushed(highest=4)
    assert ids.split("p", [4], [9]) == [Part(0, 1, False)]
    assert ids.split("p", [5, 9, 10], [9, 9, 10]) == [Part(0, 1, True), Part(1, 2, False), Part(2, 3, True)]


def test_sequence_ids_of_producers_are_independent() -> None:
    assert pushed("a", highest=9).split("b", [0], [0]) == [Part(0, 1, True)]


def test_failed_messages_count_as_never_sent() -> None:
    ids = pushed(highest=4)
    ids.persist("p", 4)
    ids.push("p", 8)
    ids.push("new", 3)
    ids.fail("p")
    ids.fail("new")
    assert (ids.last("p"), ids.last("new")) == (4, NONE)


def test_a_forgotten_producer_starts_over() -> None:
    ids = SequenceIds({"p": 4, "q": 1})
    ids.forget(["p", "unknown"])
    assert (ids.last("p"), ids.persisted) == (NONE, {"q": 1})


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair))), min_size=1)


@given(st.integers(-1, 20), spans)
def test_splitting_a_run_matches_checking_each_message(last: int, run: list[tuple[int, int]]) -> None:
    ids = pushed(highest=last)
    expected = []
    for low, high in run:
        expected.append(low > last)
        last = high if low > last else last
    parts = ids.split("p", [low for low, _ in run], [high for _, high in run])
    assert [part.is_new for part in parts for _ in range(part.first, part.stop)] == expected
    assert all(a.stop == b.first and a.is_new != b.is_new for a, b in itertools.pairwise(parts))
