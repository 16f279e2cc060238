"""What a Shared subscription sends again."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.dispatch.redelivery import Redelivery


def drain(redelivery: Redelivery, limit: int) -> list[tuple[int, int]]:
    found = []
    while (run := redelivery.first_run(limit)) is not None:
        ledger_id, first, length = run
        redelivery.taken(ledger_id, first, length)
        found += [(ledger_id, first + index) for index in range(length)]
    return found


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40))), st.integers(1, 10))
def test_everything_comes_again_once_in_order_of_position(entries: list[tuple[int, int]], limit: int) -> None:
    redelivery = Redelivery()
    redelivery.add(entries, count=True)
    assert drain(redelivery, limit) == sorted(set(entries))


def test_an_acknowledged_entry_does_not_come_again() -> None:
    redelivery = Redelivery()
    redelivery.add([(1, 1), (1, 2), (1, 3)], count=True)
    redelivery.discard((1, 2))
    assert drain(redelivery, 10) == [(1, 1), (1, 3)]


def test_counts_rise_only_when_asked_for() -> None:
    redelivery = Redelivery()
    redelivery.add([(1, 1)], count=False)
    assert redelivery.counts(1, 1, 1) is None
    redelivery.add([(1, 1)], count=True)
    redelivery.add([(1, 1)], count=True)
    assert redelivery.counts(1, 0, 3) == [0, 2, 0]


def test_an_entry_given_back_again_after_it_was_sent_waits_again() -> None:
    redelivery = Redelivery()
    redelivery.add([(1, 5)], count=True)
    assert drain(redelivery, 1) == [(1, 5)]
    redelivery.add([(1, 5)], count=True)
    assert drain(redelivery, 1) == [(1, 5)]
