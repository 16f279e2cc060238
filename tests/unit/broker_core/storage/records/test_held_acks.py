"""What transactions hold on a cursor, against sets of messages."""

import json

from hypothesis import given
from hypothesis import strategies as st

from broker_core.storage.records.held_acks import WHOLE, AckedUpTo, HeldAcks, TransactionAcks
from broker_core.storage.records.open_batches import OpenBatch
from broker_core.storage.records.position import Position

SIZE = 5  # messages of each entry
EVERY = (1 << SIZE) - 1
POSITIONS = st.tuples(st.integers(1, 2), st.integers(0, 3))
LEFT = st.just(WHOLE) | st.integers(0, EVERY).map(lambda bits: OpenBatch(SIZE, bits))
STEPS = st.lists(st.tuples(st.integers(1, 3), POSITIONS, LEFT) | st.tuples(st.integers(1, 3), st.none(), st.none()))

Message = tuple[int, int, int]  # ledger, entry, index


def messages(position: tuple[int, int], left: OpenBatch) -> set[Message]:
    return {(*position, index) for index in range(SIZE) if left.acknowledged_bits >> index & 1}


def held_messages(held: HeldAcks) -> set[Message]:
    return {
        (ledger_id, entry_id, index)
        for ledger_id in (1, 2)
        for entry_id in range(4)
        for index in range(SIZE)
        if held.bits(ledger_id, entry_id) >> index & 1
    }


@given(STEPS)
def test_a_cursor_holds_the_messages_of_all_open_transactions(
    steps: list[tuple[int, tuple[int, int] | None, OpenBatch | None]],
) -> None:
    held = HeldAcks()
    by_transaction: dict[int, TransactionAcks] = {}
    model: dict[int, set[Message]] = {}
    for transaction, position, left in steps:
        if position is None or left is None:
            held.remove(transaction, by_transaction.pop(transaction, TransactionAcks()))
            model.pop(transaction, None)
        elif not messages(position, left) & held_messages(held):  # else it is refused
            acks = TransactionAcks()
            acks.add(*position, left)
            held.add(transaction, acks)
            by_transaction.setdefault(transaction, TransactionAcks()).merge(acks)
            model.setdefault(transaction, set()).update(messages(position, left))
        assert held_messages(held) == set().union(*model.values())
        assert bool(held) == any(model.values())


@given(st.lists(st.tuples(POSITIONS, LEFT)), st.none() | st.tuples(POSITIONS, LEFT))
def test_acknowledgments_survive_their_document(
    entries: list[tuple[tuple[int, int], OpenBatch]], up_to: tuple[tuple[int, int], OpenBatch] | None
) -> None:
    acks = TransactionAcks()
    for position, left in entries:
        acks.add(*position, left)
    if up_to is not None:
        acks.add_up_to(AckedUpTo(Position(*up_to[0]), up_to[1]))
    again = TransactionAcks.from_document(json.loads(json.dumps(acks.document())))
    assert list(again) == list(acks)
    assert again.cumulative == acks.cumulative
    again.merge(acks)  # a replay repeats what a checkpoint has
    assert list(again) == list(acks)


def test_a_cumulative_acknowledgment_holds_everything_before_it_and_belongs_to_one_transaction() -> None:
    held, acks = HeldAcks(), TransactionAcks()
    acks.add_up_to(AckedUpTo(Position(2, 1), OpenBatch(3, 0b100)))
    held.add(7, acks)
    assert [held.bits(*position) for position in ((1, 9), (2, 0), (2, 1), (2, 2))] == [-1, -1, 0b011, 0]
    assert held.individual(2, 0) == 0
    held.remove(8, TransactionAcks())
    assert held.holder == 7
    held.remove(7, acks)
    assert not held


def test_of_two_cumulative_acknowledgments_the_one_with_more_messages_is_after_the_other() -> None:
    first, second = AckedUpTo(Position(1, 1), OpenBatch(3, 0b110)), AckedUpTo(Position(1, 1), OpenBatch(3, 0b100))
    whole, later = AckedUpTo(Position(1, 1)), AckedUpTo(Position(1, 2), OpenBatch(3, 0b110))
    order = [first, second, whole, later]
    for at, one in enumerate(order):
        assert [one.is_after(other) for other in order] == [at > index for index in range(4)]


def test_a_large_batch_that_stays_in_part_weighs_more_than_an_entry() -> None:
    acks = TransactionAcks()
    acks.add(1, 0, WHOLE)
    assert acks.weight == 1
    acks.add(1, 1, OpenBatch(6400, 1))
    acks.add(1, 1, OpenBatch(6400, 2))
    assert acks.weight == 102
    assert acks.copy().weight == TransactionAcks.from_document(acks.document()).weight == 102
