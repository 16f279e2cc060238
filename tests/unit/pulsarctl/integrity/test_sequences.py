"""Sequence IDs of one producer: repeated, out of order, started again."""

import random

import pytest

from pulsarctl.integrity.sequences import Sequence


def of(*sequence_ids: int) -> Sequence:
    found = Sequence()
    for place, sequence_id in enumerate(sequence_ids):
        found.add(sequence_id, f"1:{place}:-1")
    return found


@pytest.mark.parametrize(
    ("sequence_ids", "repeated", "late", "restarts"),
    [
        ((), 0, 0, 0),
        ((0, 1, 2, 3), 0, 0, 0),
        ((5, 9, 10, 100), 0, 0, 0),
        ((0, 1, 1, 2), 1, 0, 0),
        ((0, 1, 2, 1, 2, 3), 2, 0, 0),
        ((0, 2, 1, 3), 0, 1, 0),
        ((0, 1, 2, 0, 1, 2), 0, 0, 1),
        ((0, 0), 1, 0, 0),
    ],
)
def test_sequence_ids_are_judged(sequence_ids: tuple[int, ...], repeated: int, late: int, restarts: int) -> None:
    found = of(*sequence_ids)
    assert (found.messages, found.repeated, found.late, found.restarts) == (
        len(sequence_ids),
        repeated,
        late,
        restarts,
    )


def test_parts_find_the_same_repetitions_as_one_reader_wherever_they_are_cut() -> None:
    chance = random.Random(11)
    for _ in range(200):
        sequence_ids = [1 + min(each, chance.randrange(each + 1) + 3) for each in range(30)]
        cut = chance.randrange(31)
        first, second = of(*sequence_ids[:cut]), of(*sequence_ids[cut:])
        first.merge(second)
        assert (first.messages, first.repeated) == (30, 30 - len(set(sequence_ids)))


@pytest.mark.parametrize("cut", range(10))
@pytest.mark.parametrize("cut_again", range(10))
def test_parts_find_the_same_restarts_as_one_reader_wherever_they_are_cut(cut: int, cut_again: int) -> None:
    sequence_ids = (0, 1, 2, 2, 3, 0, 1, 0, 1, 1)
    start, end = sorted((cut, cut_again))
    found = of(*sequence_ids[:start])
    for later in (sequence_ids[start:end], sequence_ids[end:]):
        found.merge(of(*later))
    assert (found.messages, found.repeated, found.late, found.restarts) == (10, 2, 0, 2)


def test_examples_name_the_messages() -> None:
    assert of(0, 1, 2, 1).examples == ["1:3:-1"]


def test_many_spans_are_forgotten_from_the_oldest_and_reported() -> None:
    found = of(*range(1, 20_020, 2))
    assert (found.is_whole, found.repeated, len(found.spans)) == (False, 0, 10_000)
