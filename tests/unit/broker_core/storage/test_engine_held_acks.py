"""Acknowledgments in transactions on disk: held over restarts and unloads, and carried out exactly once."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.engine import StorageEngine
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.held_acks import WHOLE, AckedUpTo, TransactionAcks
from broker_core.storage.records.open_batches import OpenBatch
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.storage import append, crash, opened, reopened, run_of
from tests.support.storage_model import QUICK, Model
from tests.support.transactions import end, hold, transaction

Messages = dict[Position, set[int]]


def acks_of(*entries: tuple[Position, OpenBatch], up_to: AckedUpTo | None = None) -> TransactionAcks:
    acks = TransactionAcks()
    for position, left in entries:
        acks.add(*position, left)
    if up_to is not None:
        acks.add_up_to(up_to)
    return acks


async def deliverable(ledger: ManagedLedger, cursor: ManagedCursor) -> Messages:
    """The messages that a consumer would get from the start."""
    messages: Messages = {}
    position = EARLIEST
    while len(block := await ledger.read(position, 3, 1000)):
        position = Position(block.ledger_id, block.last_entry_id + 1)
        partly = dict(cursor.partly_open(block.ledger_id, block.first_entry_id, block.counts))
        for row in (row for first, last in cursor.unacknowledged(block) for row in range(first, last)):
            batch = partly.get(block.first_entry_id + row)
            every = range(block.counts[row])
            sent = {index for index in every if batch is None or batch.bits >> index & 1}
            messages[Position(block.ledger_id, block.first_entry_id + row)] = sent
    return messages


async def three_entries(path: Path) -> tuple[StorageEngine, ManagedCursor, list[Position]]:
    engine = await opened(path)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    first = await append(ledger, run_of(b"a", b"b", b"c", counts=[1, 3, 1]))
    return engine, cursor, [Position(first.ledger_id, first.entry_id + n) for n in range(3)]


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("commit", [False, True])
async def test_a_crash_keeps_what_is_held_and_the_outcome_decides(
    tmp_path: Path, *, checkpoint: bool, commit: bool
) -> None:
    engine, cursor, (a, b, c) = await three_entries(tmp_path / "d")
    await hold(engine, transaction(1), cursor, acks_of((a, WHOLE), (b, OpenBatch(3, 0b101))))
    if checkpoint:
        await engine.checkpoint()
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert await deliverable(ledger, ledger.cursors["s"]) == {b: {0, 2}, c: {0}}
    assert ledger.cursors["s"].backlog_entries == 3
    await end(engine, 1, commit=commit)
    everything = {a: {0}, b: {0, 1, 2}, c: {0}}
    expected = {b: {0, 2}, c: {0}} if commit else everything
    for _ in range(2):
        ledger = await engine.open_ledger("t")
        assert await deliverable(ledger, ledger.cursors["s"]) == expected
        engine = await reopened(engine, copy)
    await engine.close()


async def test_a_checkpoint_right_after_a_commit_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    """It drops the journal with the outcome, before the cursor writes its own acknowledgments."""
    engine, cursor, (a, b, c) = await three_entries(tmp_path / "d")
    await hold(engine, transaction(1), cursor, acks_of((b, WHOLE)))
    await engine.checkpoint()
    await end(engine, 1, commit=True)
    await engine.checkpoint()
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert await deliverable(ledger, ledger.cursors["s"]) == {a: {0}, c: {0}}
    await engine.close()


async def test_a_commit_reaches_a_cursor_that_is_not_open(tmp_path: Path) -> None:
    engine, cursor, (a, b, c) = await three_entries(tmp_path / "d")
    await hold(engine, transaction(1), cursor, acks_of(up_to=AckedUpTo(b, OpenBatch(3, 0b100))))
    await engine.close()
    for crashes in (False, True):  # once as a cursor that the journal knows, once from the checkpoint
        engine = await opened(tmp_path / "d")
        if not crashes:
            await end(engine, 1, commit=True)
            await engine.checkpoint()
            copy = crash(tmp_path / "d")
        ledger = await engine.open_ledger("t")
        assert await deliverable(ledger, ledger.cursors["s"]) == {b: {2}, c: {0}}
        assert ledger.cursors["s"].mark_delete == a
        await engine.close()
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert await deliverable(ledger, ledger.cursors["s"]) == {b: {2}, c: {0}}
    await engine.close()


@pytest.mark.parametrize("unloaded", [False, True])
async def test_the_last_open_messages_of_a_batch_complete_it(tmp_path: Path, *, unloaded: bool) -> None:
    engine, cursor, (a, b, c) = await three_entries(tmp_path / "d")
    cursor.acknowledge_indexes(b, 0b100, 3)
    await cursor.flush()
    await hold(engine, transaction(1), cursor, acks_of((b, OpenBatch(3, 0b011))))
    if unloaded:
        await (await engine.open_ledger("t")).close()
    await end(engine, 1, commit=True)
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert await deliverable(ledger, ledger.cursors["s"]) == {a: {0}, c: {0}}
    await engine.close()


async def test_a_commit_moves_the_mark_delete_position_over_whole_ledgers(tmp_path: Path) -> None:
    engine, cursor, positions = await three_entries(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await ledger.roll()
    first = await append(ledger, run_of(b"d", b"e"))
    whole = acks_of(*((position, WHOLE) for position in [*positions, first]))
    await hold(engine, transaction(1), cursor, whole)
    await ledger.close()
    await end(engine, 1, commit=True)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert (cursor.mark_delete, cursor.oldest_unacknowledged(), cursor.backlog_entries) == (first, first.next, 1)
    await engine.close()


async def test_a_commit_acknowledges_nothing_after_the_end_of_the_log(tmp_path: Path) -> None:
    engine, cursor, (_, _, c) = await three_entries(tmp_path / "d")
    await hold(engine, transaction(1), cursor, acks_of(up_to=AckedUpTo(Position(1 << 62, 5))))
    await (await engine.open_ledger("t")).close()
    await end(engine, 1, commit=True)
    ledger = await engine.open_ledger("t")
    assert ledger.cursors["s"].mark_delete == c
    later = await append(ledger, run_of(b"later"))
    assert await deliverable(ledger, ledger.cursors["s"]) == {later: {0}}
    await engine.close()


async def test_acknowledgments_of_nothing_change_nothing(tmp_path: Path) -> None:
    engine, cursor, (a, b, c) = await three_entries(tmp_path / "d")
    nothing = OpenBatch(3, 0b111)
    await hold(engine, transaction(1), cursor, acks_of((b, nothing)))
    await hold(engine, transaction(2), cursor, acks_of((b, nothing), (a, WHOLE)))
    await end(engine, 1, commit=True)
    await end(engine, 2, commit=True)
    ledger = await engine.open_ledger("t")
    assert await deliverable(ledger, cursor) == {b: {0, 1, 2}, c: {0}}
    await engine.close()


async def test_a_deleted_cursor_or_log_ends_with_its_transaction(tmp_path: Path) -> None:
    engine, cursor, (a, b, _) = await three_entries(tmp_path / "d")
    other = await (await engine.open_ledger("u")).open_cursor("s", initial=EARLIEST)
    await hold(engine, transaction(1), cursor, acks_of((a, WHOLE)))
    await hold(engine, transaction(1), other, acks_of((a, WHOLE), (b, WHOLE)))
    assert engine.transactions.acks_weight(1) == 3
    await engine.delete_ledger("u")
    assert engine.transactions.all_acks_weight == 1
    ledger = await engine.open_ledger("t")
    await ledger.delete_cursor("s")
    await end(engine, 1, commit=True)
    assert engine.transactions.all_acks_weight == 0
    again = await ledger.open_cursor("s", initial=EARLIEST)
    assert await deliverable(ledger, again) == {a: {0}, b: {0, 1, 2}, b.next: {0}}
    await engine.close()
    engine = await opened(tmp_path / "d")
    assert engine.transactions.open() == []
    await engine.close()


class HoldingModel(Model):
    """`held` has the messages of each open transaction, `up_to` the one cumulative acknowledgment."""

    def __init__(self) -> None:
        super().__init__()
        self.last = 0
        self.held: dict[int, Messages] = {}
        self.up_to: tuple[int, Position, set[int]] | None = None

    def unacknowledged(self, position: Position) -> set[int]:
        if position not in self.open:
            return set()
        return self.parts.get(position, set(range(self.log[position][1])))

    def free(self, position: Position) -> set[int]:
        """Messages that a transaction may acknowledge one by one."""
        return self.unacknowledged(position).difference(*(held.get(position, set()) for held in self.held.values()))

    def store(self, transaction_id: int, acks: TransactionAcks) -> None:
        self.run(hold(self.engine, transaction(transaction_id), self.cursor, acks))

    @rule()
    def begin(self) -> None:
        self.last += 1
        self.held[self.last] = {}

    @precondition(lambda self: self.held and self.open)
    @rule(data=st.data(), wanted=st.sets(st.integers(0, 5), min_size=1))
    def hold(self, data: st.DataObject, wanted: set[int]) -> None:
        holder = data.draw(st.sampled_from(sorted(self.held)))
        position = data.draw(st.sampled_from(sorted(self.open)))
        every, free = set(range(self.log[position][1])), self.free(position)
        taken = every if every == free and max(wanted) == 5 else wanted & free
        if taken:
            left = OpenBatch(len(every), sum(1 << index for index in every - taken))
            self.store(holder, acks_of((position, WHOLE if taken == every else left)))
            self.held[holder].setdefault(position, set()).update(taken)

    @precondition(lambda self: self.held and self.open and self.up_to is None)
    @rule(data=st.data(), last=st.integers(0, 5))
    def hold_up_to(self, data: st.DataObject, last: int) -> None:
        holder = data.draw(st.sampled_from(sorted(self.held)))
        position = data.draw(st.sampled_from(sorted(self.open)))
        every = set(range(self.log[position][1]))
        taken = {index for index in every if index <= last}
        left = WHOLE if taken == every else OpenBatch(len(every), sum(1 << index for index in every - taken))
        self.store(holder, acks_of(up_to=AckedUpTo(position, left)))
        self.up_to = holder, position, taken

    @precondition(lambda self: self.held)
    @rule(data=st.data(), commit=st.booleans(), unloaded=st.booleans())
    def end(self, data: st.DataObject, commit: bool, unloaded: bool) -> None:
        holder = data.draw(st.sampled_from(sorted(self.held)))
        if unloaded:
            self.run(self.ledger.close())
        self.run(end(self.engine, holder, commit=commit))
        if unloaded:
            self.run(self._reload())
        held, up_to = self.held.pop(holder), self.up_to
        if up_to is not None and up_to[0] == holder:
            self.up_to = None
            self.commit_up_to(*up_to[1:]) if commit else None
        for position, indexes in held.items() if commit else ():
            self.acknowledge_messages(position, indexes)

    def commit_up_to(self, position: Position, taken: set[int]) -> None:
        self.acknowledged({p for p in self.open if p < position})
        self.acknowledge_messages(position, taken)

    def acknowledge_messages(self, position: Position, indexes: Iterable[int]) -> None:
        before = self.unacknowledged(position)
        left = before.difference(indexes)
        if before and not left:
            self.acknowledged({position})
        elif left != before:
            self.parts[position] = left

    @invariant()
    def consumers_get_what_is_neither_acknowledged_nor_held(self) -> None:
        if not hasattr(self, "cursor"):
            return
        expected = {position: self.free(position) - self.held_up_to(position) for position in self.open}
        shown = self.run(deliverable(self.ledger, self.cursor))
        assert shown == {position: messages for position, messages in expected.items() if messages}

    def held_up_to(self, position: Position) -> set[int]:
        if self.up_to is None or position > self.up_to[1]:
            return set()
        return set(range(self.log[position][1])) if position < self.up_to[1] else self.up_to[2]


TestHoldingModel = pytest.mark.slow(HoldingModel.TestCase)
TestHoldingModel.settings = QUICK
