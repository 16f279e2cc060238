"""What readers of a log with transactions get: up to the visible end, and without what was aborted."""

from array import array
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from broker_core.storage.records.block import Block
from broker_core.storage.records.position import Position
from broker_core.storage.records.transactions import LogTransactions, TransactionInfo, Transactions, add_range

OWNER, LEDGER = 1, 7
FAR = Position(LEDGER, 1000)
Rows = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 5)), max_size=30)


def info(transaction_id: int) -> TransactionInfo:
    return TransactionInfo(transaction_id, 1000, 60_000)


def block(n: int, first: int = 0) -> Block:
    return Block(LEDGER, first, b"x" * n, range(n), range(1, n + 1), array("I", [1] * n), [0] * n)


def transactions(*writes: tuple[int, int]) -> Transactions:
    """Writes of single entries: the transaction and the entry."""
    made = Transactions()
    for transaction_id, entry_id in writes:
        made.wrote(info(transaction_id), OWNER, LEDGER, entry_id, entry_id)
    return made


def test_the_visible_end_is_before_the_first_entry_of_the_oldest_open_transaction() -> None:
    made = transactions((2, 3), (1, 5))
    log = made.logs[OWNER]
    assert log.visible_end(FAR) == Position(LEDGER, 2)
    made.end(1, commit=True)
    assert log.visible_end(FAR) == Position(LEDGER, 2)
    made.end(2, commit=True)
    assert log.visible_end(FAR) == FAR


def test_an_entry_that_is_not_on_disk_yet_moves_the_visible_end_nowhere() -> None:
    assert transactions((1, 9)).logs[OWNER].visible_end(Position(LEDGER, 4)) == Position(LEDGER, 4)


def test_a_block_is_cut_at_the_visible_end() -> None:
    log = transactions((1, 2)).logs[OWNER]
    assert len(log.shown(block(5), FAR)) == 2
    assert len(log.shown(block(5, first=2), FAR)) == 0
    later = Block(LEDGER + 1, 0, b"x", [0], [1], [1], [0])
    assert len(log.shown(later, Position(LEDGER + 1, 0))) == 0


def test_aborted_entries_count_no_messages_and_others_keep_theirs() -> None:
    made = transactions((1, 1), (2, 2), (1, 3))
    made.end(1, commit=False)
    made.end(2, commit=True)
    log = made.logs[OWNER]
    assert list(log.shown(block(5), FAR).counts) == [1, 0, 1, 0, 1]
    assert [log.is_aborted(Position(LEDGER, entry_id)) for entry_id in range(5)] == [False, True, False, True, False]


def test_a_block_without_aborted_entries_is_not_copied() -> None:
    made = transactions((1, 9))
    made.end(1, commit=False)
    whole = block(5)
    assert made.logs[OWNER].shown(whole, FAR) is whole


def test_what_was_aborted_in_a_deleted_ledger_is_forgotten() -> None:
    made = transactions((1, 1))
    made.end(1, commit=False)
    made.changed_aborted.clear()
    made.forget_ledgers(OWNER, [LEDGER])
    assert not made.logs[OWNER].aborted
    assert made.changed_aborted == {(OWNER, LEDGER)}


def test_a_deleted_topic_leaves_its_transactions_to_other_topics() -> None:
    made = transactions((1, 1))
    made.wrote(info(1), OWNER + 1, LEDGER + 1, 0, 0)
    made.forget_log(OWNER)
    assert list(made.open[1].writes) == [OWNER + 1]
    made.end(1, commit=False)
    assert OWNER not in made.logs


@given(Rows)
def test_ranges_hold_exactly_the_entries_that_were_added(rows: list[tuple[int, int]]) -> None:
    ranges: list[tuple[int, int]] = []
    for first, more in rows:
        add_range(ranges, first, first + more)
    held = [entry for first, last in ranges for entry in range(first, last + 1)]
    assert held == sorted({entry for first, more in rows for entry in range(first, first + more + 1)})
    assert all(ends + 1 < begins for (_, ends), (begins, _) in pairwise(ranges))


Steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 4), st.booleans()),
        st.tuples(st.just("end"), st.integers(0, 4), st.booleans()),
        st.tuples(st.just("plain"), st.just(0), st.booleans()),
    ),
    max_size=60,
)


@given(Steps, st.integers(0, 60))
def test_a_log_shows_what_a_plain_model_shows_also_when_a_part_is_replayed(
    steps: list[tuple[str, int, bool]], replayed_from: int
) -> None:
    """A transaction that ended and writes again is another one. A replay repeats the last steps over their result."""
    entries: list[int | None] = []  # the transaction of each entry
    outcomes: dict[int, bool] = {}
    records: list[tuple[str, int, int, bool]] = []
    for kind, transaction_id, flag in steps:
        own = transaction_id + 10 * sum(1 for ended in outcomes if ended % 10 == transaction_id)
        if kind == "end":
            outcomes[own] = flag
            records.append(("end", own, 0, flag))
        else:
            entries.append(own if kind == "write" else None)
            if kind == "write":
                records.append(("write", own, len(entries) - 1, flag))
    made = Transactions()
    for kind, own, entry_id, commit in (*records, *records[replayed_from:]):
        if kind == "write":
            made.wrote(info(own), OWNER, LEDGER, entry_id, entry_id)
        else:
            made.end(own, commit=commit)
    log = made.logs.get(OWNER, LogTransactions())
    open_at = [at for at, own in enumerate(entries) if own is not None and own not in outcomes]
    end = min(open_at, default=len(entries))
    wanted = [own is None or outcomes[own] for own in entries[:end]]
    if entries:
        shown = log.shown(block(len(entries)), Position(LEDGER, len(entries) - 1))
        assert [bool(count) for count in shown.counts] == wanted
