"""The sequence IDs of a whole run."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from broker_core.wire.send import SendRun, receipt_key


def run_of(spans: list[tuple[int, int]], producer_id: int = 3) -> SendRun:
    """A run whose entry i has the sequence IDs `spans[i][0]` to `spans[i][1]`, without bytes."""
    keys = [receipt_key(producer_id, low, high if high != low else 0) for low, high in spans]
    columns = [0] * len(spans)
    return SendRun(producer_id, b"", columns, columns, keys, columns, columns)


singles = st.integers(0, (1 << 63) - 1).flatmap(
    lambda first: st.lists(st.integers(0, 3), min_size=1, max_size=300).map(
        lambda steps: [min(first + sum(steps[: index + 1]), (1 << 63) - 1) for index in range(len(steps))]
    )
)


@given(singles, st.integers(0, 1000))
def test_a_run_has_a_span_when_its_ids_only_increase(ids: list[int], producer_id: int) -> None:
    rises = all(before < after for before, after in pairwise(ids))
    expected = (ids[0], ids[-1]) if rises else None
    assert run_of([(one, one) for one in ids], producer_id).sequence_span == expected


@given(st.integers(0, 1 << 20), st.integers(1, 400))
def test_consecutive_ids_have_the_span_from_the_first_to_the_last(first: int, count: int) -> None:
    assert run_of([(one, one) for one in range(first, first + count)]).sequence_span == (first, first + count - 1)


@given(st.integers(0, 400), st.integers(2, 400), st.data())
def test_one_id_out_of_order_is_detected(first: int, count: int, data: st.DataObject) -> None:
    ids = list(range(first, first + count))
    index = data.draw(st.integers(1, count - 1))
    ids[index] = data.draw(st.integers(0, ids[index] - 1))
    assert run_of([(one, one) for one in ids]).sequence_span is None


def test_batches_extend_to_their_highest_id() -> None:
    assert run_of([(0, 4), (5, 5), (6, 9)]).sequence_span == (0, 9)
    assert run_of([(0, 4), (4, 5)]).sequence_span is None
    assert run_of([(7, 9)]).sequence_span == (7, 9)
