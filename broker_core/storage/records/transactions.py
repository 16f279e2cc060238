"""Transactions as a restart needs them: which ones are open, where they wrote, and which entries were aborted.

An entry of an open transaction hides itself and every later entry of its log; an aborted one is never shown. A log
without such entries has no `LogTransactions`, so that it costs nothing there. What a transaction acknowledges takes
effect when it is committed (`held_acks`).
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from broker_core.storage.records.block import EMPTY, Block
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.position import Position
from broker_core.storage.records.transaction_outcomes import Outcomes

Entries = tuple[int, int]  # the first and the last entry of a range
WrittenRange = tuple[int, int, int]  # ledger, first and last entry


class TransactionInfo(NamedTuple):
    """`id` is unique in the data directory. `role`: the client that began it, "" without authentication."""

    id: int
    began_ms: int
    ttl_ms: int
    role: str = ""


class OpenTransaction:
    """A transaction that has stored something.

    writes   by managed ledger, where its messages are
    ranges   the number of all of these ranges
    acks     by managed ledger and cursor, what it acknowledges
    weight   of all of these acknowledgments
    """

    __slots__ = ("acks", "info", "ranges", "weight", "writes")

    def __init__(self, info: TransactionInfo) -> None:
        self.info = info
        self.writes: dict[int, list[WrittenRange]] = {}
        self.ranges = 0
        self.acks: dict[tuple[int, int], TransactionAcks] = {}
        self.weight = 0

    def wrote(self, owner: int, ledger_id: int, first: int, last: int) -> bool:
        """Adds entries; returns whether they are new: a replay repeats what a checkpoint has."""
        ranges = self.writes.setdefault(owner, [])
        last_ledger, begin, end = ranges[-1] if ranges else (-1, 0, 0)
        if (ledger_id, last) <= (last_ledger, end):
            return False
        if ledger_id == last_ledger and first <= end + 1:
            ranges[-1] = ledger_id, begin, last
        else:
            ranges.append((ledger_id, first, last))
            self.ranges += 1
        return True

    def acked(self, owner: int, cursor_id: int, acks: TransactionAcks) -> None:
        """Adds acknowledgments. Repeating them changes nothing."""
        mine = self.acks.setdefault((owner, cursor_id), TransactionAcks())
        before = mine.weight
        mine.merge(acks)
        self.weight += mine.weight - before

    def forget(self, owner: int) -> None:
        """The managed ledger is deleted."""
        self.ranges -= len(self.writes.pop(owner, ()))
        self.acks = {key: acks for key, acks in self.acks.items() if key[0] != owner}
        self.weight = sum(acks.weight for acks in self.acks.values())


class LogTransactions:
    """The open transactions of one log, in the order of their first entries, and its aborted entries by ledger."""

    __slots__ = ("aborted", "open")

    def __init__(self) -> None:
        self.open: dict[int, Position] = {}
        self.aborted: dict[int, list[Entries]] = {}

    @property
    def first_open(self) -> Position | None:
        """The first entry of the open transaction that wrote first."""
        return next(iter(self.open.values()), None)

    def visible_end(self, last_confirmed: Position) -> Position:
        """The last position that may be shown; its entry may be -1, before the first entry of a ledger."""
        first = self.first_open
        return last_confirmed if first is None else min(last_confirmed, Position(first.ledger_id, first.entry_id - 1))

    def shown(self, block: Block, last_confirmed: Position) -> Block:
        """The block up to the visible end. Its aborted entries count 0 messages, as markers do."""
        n = len(block)
        if not n:
            return block
        end = self.visible_end(last_confirmed)
        if Position(block.ledger_id, block.last_entry_id) > end:
            n = max(0, end.entry_id + 1 - block.first_entry_id) if end.ledger_id == block.ledger_id else 0
            block = block.slice(0, n) if n else EMPTY
        ranges = self.aborted.get(block.ledger_id)
        return block if ranges is None else _without(block, ranges)

    def is_aborted(self, position: Position) -> bool:
        ranges = self.aborted.get(position.ledger_id, [])
        return any(True for _ in _within(ranges, position.entry_id, position.entry_id))

    def abort(self, ledger_id: int, first: int, last: int) -> None:
        add_range(self.aborted.setdefault(ledger_id, []), first, last)


class Transactions:
    """The transactions of a data directory, and what changed since the last checkpoint.

    ids_end        all IDs below it may have been given out
    ranges         the number of ranges of all open transactions
    acks_weight    of the acknowledgments of all open transactions
    """

    def __init__(self, ids_end: int = 0) -> None:
        self.ids_end = ids_end
        self.open: dict[int, OpenTransaction] = {}
        self.ranges = 0
        self.acks_weight = 0
        self.logs: dict[int, LogTransactions] = {}
        self.outcomes = Outcomes()
        self.changed: set[int] = set()
        self.changed_aborted: set[tuple[int, int]] = set()  # managed ledger and ledger

    @property
    def has_changed(self) -> bool:
        return bool(self.changed or self.changed_aborted or self.outcomes.has_changed)

    def load(self, transaction: OpenTransaction) -> None:
        """One of the last checkpoint, in ascending order of their IDs; call `order` after the last one."""
        self.open[transaction.info.id] = transaction
        self.ranges += transaction.ranges
        self.acks_weight += transaction.weight
        for owner, ranges in transaction.writes.items():
            ledger_id, first, _ = ranges[0]
            self._log(owner).open[transaction.info.id] = Position(ledger_id, first)

    def order(self) -> None:
        for log in self.logs.values():
            log.open = dict(sorted(log.open.items(), key=lambda item: item[1]))

    def load_aborted(self, owner: int, ledger_id: int, ranges: Iterable[Entries]) -> None:
        self._log(owner).aborted[ledger_id] = list(ranges)

    def wrote(self, info: TransactionInfo, owner: int, ledger_id: int, first: int, last: int) -> LogTransactions:
        """The transaction wrote these entries. From now on, no one sees them until `end`."""
        transaction = self._opened(info)
        log = self._log(owner)
        before = transaction.ranges
        if transaction.wrote(owner, ledger_id, first, last):
            self.ranges += transaction.ranges - before
            log.open.setdefault(info.id, Position(ledger_id, first))
            self.changed.add(info.id)
        return log

    def _opened(self, info: TransactionInfo) -> OpenTransaction:
        transaction = self.open.get(info.id)
        if transaction is None:
            transaction = self.open[info.id] = OpenTransaction(info)
        return transaction

    def acked(self, info: TransactionInfo, owner: int, cursor_id: int, acks: TransactionAcks) -> None:
        """The transaction acknowledges messages on a cursor. Repeating it changes nothing."""
        transaction = self._opened(info)
        before = transaction.weight
        transaction.acked(owner, cursor_id, acks)
        self.acks_weight += transaction.weight - before
        self.changed.add(info.id)

    def end(self, transaction_id: int, *, commit: bool) -> OpenTransaction | None:
        """The outcome is on disk. Returns the transaction, whose acknowledgments are the caller's to carry out.

        Repeating it changes nothing, and returns None.
        """
        transaction = self.open.pop(transaction_id, None)
        if transaction is None:
            return None
        self.ranges -= transaction.ranges
        self.acks_weight -= transaction.weight
        self.changed.add(transaction_id)
        for owner, ranges in transaction.writes.items():
            self._log(owner).open.pop(transaction_id, None)
            if not commit:
                self._abort(owner, ranges)
        return transaction

    def _abort(self, owner: int, ranges: list[WrittenRange]) -> None:
        log = self._log(owner)
        for ledger_id, first, last in ranges:
            log.abort(ledger_id, first, last)
            self.changed_aborted.add((owner, ledger_id))

    def forget_ledgers(self, owner: int, ledger_ids: Iterable[int]) -> None:
        """The ledgers are deleted: what was aborted there does not matter any more."""
        log = self.logs.get(owner)
        for ledger_id in ledger_ids if log is not None else ():
            if log is not None and log.aborted.pop(ledger_id, None) is not None:
                self.changed_aborted.add((owner, ledger_id))

    def forget_log(self, owner: int) -> None:
        """The managed ledger is deleted. Its transactions go on elsewhere."""
        log = self.logs.pop(owner, None)
        if log is not None:
            self.changed_aborted.update((owner, ledger_id) for ledger_id in log.aborted)
        for transaction in self.open.values():
            if owner in transaction.writes or any(owner == key[0] for key in transaction.acks):
                self._forget_part(transaction, owner)

    def _forget_part(self, transaction: OpenTransaction, owner: int) -> None:
        self.ranges -= transaction.ranges
        self.acks_weight -= transaction.weight
        transaction.forget(owner)
        self.ranges += transaction.ranges
        self.acks_weight += transaction.weight
        self.changed.add(transaction.info.id)

    def _log(self, owner: int) -> LogTransactions:
        log = self.logs.get(owner)
        if log is None:
            log = self.logs[owner] = LogTransactions()
        return log


def add_range(ranges: list[Entries], first: int, last: int) -> None:
    """Adds entries to sorted ranges that do not touch each other, and joins those that would."""
    start = bisect_left(ranges, (first,))
    if start and ranges[start - 1][1] >= first - 1:
        start -= 1
    stop = start
    while stop < len(ranges) and ranges[stop][0] <= last + 1:
        first, last = min(first, ranges[stop][0]), max(last, ranges[stop][1])
        stop += 1
    ranges[start:stop] = [(first, last)]


def _within(ranges: list[Entries], first: int, last: int) -> Iterator[Entries]:
    """The parts of the ranges that are among the entries from `first` to `last`."""
    at = bisect_left(ranges, (first,))
    if at and ranges[at - 1][1] >= first:
        at -= 1
    while at < len(ranges) and ranges[at][0] <= last:
        yield max(first, ranges[at][0]), min(last, ranges[at][1])
        at += 1


def _without(block: Block, ranges: list[Entries]) -> Block:
    """The block with 0 messages in the entries of the ranges; the bytes are shared."""
    counts: array[int] | None = None
    for first, last in _within(ranges, block.first_entry_id, block.last_entry_id):
        counts = array("I", block.counts) if counts is None else counts
        for row in range(first - block.first_entry_id, last + 1 - block.first_entry_id):
            counts[row] = 0
    return block if counts is None else block.with_counts(counts)
