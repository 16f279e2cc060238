"""Bit sets of partly acknowledged batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.storage.records.open_batches import (
    OpenBatch,
    OpenBatches,
    bits_of,
    decode_batches,
    encode_batches,
    words_of,
)
from broker_core.storage.records.position import Position

bits = st.integers(1, (1 << 300) - 1)
batches = st.dictionaries(st.integers(0, 1 << 32 - 1), st.builds(OpenBatch, st.integers(0, 1000), bits), max_size=5)


@pytest.mark.parametrize(
    ("open_indexes", "words"),
    [
        ([1, 2], [6]),
        (range(1, 64), [-2]),
        ([64], [0, 1]),
        ([0, 65], [1, 2]),
        (range(100), [-1, 68719476735]),
        ([], []),
    ],
)
def test_words_match_a_java_bit_set(open_indexes: list[int], words: list[int]) -> None:
    value = sum(1 << index for index in open_indexes)
    assert words_of(value) == words
    assert bits_of(words) == value


@given(bits)
def test_a_bit_set_is_read_back_from_its_words(value: int) -> None:
    assert bits_of(words_of(value)) == value
    assert bits_of([word % (1 << 64) for word in words_of(value)]) == value


@given(batches)
def test_batches_are_read_back_from_disk(value: dict[int, OpenBatch]) -> None:
    assert decode_batches(encode_batches(value), len(value)) == value


def test_repeated_acknowledgments_of_a_message_count_once() -> None:
    found = OpenBatches()
    assert found.clear_bits(7, 0, 4, 0b1110) == (1, OpenBatch(4, 0b1110))
    assert found.clear_bits(7, 0, 4, 0b1110) == (0, OpenBatch(4, 0b1110))
    assert found.clear_bits(7, 0, 4, 0b1101) == (1, OpenBatch(4, 0b1100))
    assert found.clear_bits(7, 0, 4, 0b0011) == (2, None)
    assert not found


def test_bits_after_the_last_message_are_ignored() -> None:
    found = OpenBatches()
    assert found.clear_bits(7, 0, 3, (1 << 640) - 2) == (1, OpenBatch(3, 0b110))


def test_an_unacknowledged_batch_is_not_stored() -> None:
    found = OpenBatches()
    assert found.clear_bits(7, 0, 3, 0b111) == (0, OpenBatch(3, 0b111))
    assert not found


def test_the_size_of_a_batch_may_be_learned_later() -> None:
    found = OpenBatches()
    found.clear_bits(7, 0, 0, 0b111)
    found.set_messages(7, 0, 5)
    assert found.acknowledged_in(7) == 2


def test_batches_before_a_position_are_dropped() -> None:
    found = OpenBatches()
    for ledger_id, entry_id in [(6, 9), (7, 1), (7, 2), (8, 0)]:
        found.put(ledger_id, entry_id, OpenBatch(2, 0b10))
    found.discard_below(Position(7, 2))
    assert [(ledger_id, entry_id) for ledger_id, entry_id, _ in found] == [(7, 2), (8, 0)]


@given(st.sets(st.integers(0, 30)), st.integers(0, 30), st.integers(1, 31))
def test_batches_in_a_range_are_returned_in_order(entry_ids: set[int], first: int, length: int) -> None:
    found = OpenBatches()
    for entry_id in entry_ids:
        found.put(7, entry_id, OpenBatch(2, 0b10))
    within = [entry_id for entry_id, _ in found.rows_within(7, first, length)]
    assert within == sorted(i for i in entry_ids if first <= i < first + length)
