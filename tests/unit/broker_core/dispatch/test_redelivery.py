"""Redelivered entries and their counts."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker_core.dispatch.redelivery import COUNT_MAX, EntrySet, RedeliveryCounts

ledgers = st.integers(0, 2)
entry_ids = st.integers(0, 40) | st.integers(1000, 1050) | st.integers(2040, 2060)


def drain(waiting: EntrySet, limit: int) -> list[tuple[int, int]]:
    found = []
    while (run := waiting.first_run(limit)) is not None:
        ledger_id, first, length = run
        assert 0 < length <= limit
        waiting.discard(ledger_id, first, length)
        found += [(ledger_id, first + index) for index in range(length)]
    return found


@given(st.lists(st.tuples(ledgers, entry_ids)), st.integers(1, 10) | st.just(5000))
def test_all_entries_are_returned_once_in_order_of_position(entries: list[tuple[int, int]], limit: int) -> None:
    waiting = EntrySet()
    waiting.add(entries)
    assert drain(waiting, limit) == sorted(set(entries))
    assert len(waiting) == 0


def test_a_run_spans_several_pieces() -> None:
    waiting = EntrySet()
    waiting.add((7, entry_id) for entry_id in range(1000, 4000))
    assert waiting.first_run(10_000) == (7, 1000, 3000)
    assert waiting.first_run(50) == (7, 1000, 50)


class ASetOfEntries(RuleBasedStateMachine):
    """`EntrySet` compared with a plain set."""

    def __init__(self) -> None:
        super().__init__()
        self.real = EntrySet()
        self.model: set[tuple[int, int]] = set()

    @rule(entries=st.lists(st.tuples(ledgers, entry_ids), max_size=20))
    def add(self, entries: list[tuple[int, int]]) -> None:
        self.real.add(entries)
        self.model |= set(entries)

    @rule(ledger_id=ledgers, first=entry_ids, length=st.integers(0, 1100))
    def discard(self, ledger_id: int, first: int, length: int) -> None:
        self.real.discard(ledger_id, first, length)
        self.model -= {(ledger_id, first + index) for index in range(length)}

    @rule(last=st.tuples(ledgers, entry_ids))
    def discard_up_to(self, last: tuple[int, int]) -> None:
        self.real.discard_up_to(last)
        self.model = {entry for entry in self.model if entry > last}

    @invariant()
    def they_hold_the_same(self) -> None:
        assert len(self.real) == len(self.model)
        assert all(entry in self.real for entry in self.model)
        run = self.real.first_run(1)
        assert run == ((*min(self.model), 1) if self.model else None)


TestASetOfEntries = ASetOfEntries.TestCase


def test_counts_increase_with_each_redelivery() -> None:
    counts = RedeliveryCounts()
    assert counts.of(1, 0, 3) is None
    counts.add([(1, 1)])
    counts.add([(1, 1), (1, 2)])
    assert counts.of(1, 0, 3) == [0, 2, 1]
    assert counts.of(2, 0, 3) is None


def test_a_count_stops_at_its_maximum() -> None:
    counts = RedeliveryCounts()
    counts.add([(1, 1)] * (COUNT_MAX + 2))
    assert counts.of(1, 1, 1) == [COUNT_MAX]


def test_counts_of_acknowledged_entries_are_deleted() -> None:
    counts = RedeliveryCounts()
    counts.add([(1, 5), (1, 1024), (2, 0)])
    counts.forget_up_to((1, 1023))
    assert (counts.of(1, 5, 1), counts.of(1, 1024, 1)) == (None, [1])
    counts.forget_up_to((2, 0))
    assert counts.of(1, 1024, 1) is None
    assert counts.of(2, 0, 1) == [1]
