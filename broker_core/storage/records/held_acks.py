"""Acknowledgments in transactions, which take effect when their transaction is committed. Pure.

`TransactionAcks` is what one transaction acknowledges on one cursor. `HeldAcks` is the sum of all open transactions on
a cursor: no consumer gets those messages. Two transactions never hold the same message, except under a cumulative
acknowledgment, as in Pulsar.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from broker_core.storage.records.open_batches import OpenBatch, bits_of, words_of
from broker_core.storage.records.position import Position

WHOLE = OpenBatch(0, 0)  # all messages of an entry, however many it has


class AckedUpTo(NamedTuple):
    """A cumulative acknowledgment: all entries before `position`, and all messages of that one that are not open."""

    position: Position
    left: OpenBatch = WHOLE

    def is_after(self, other: AckedUpTo) -> bool:
        if self.position != other.position:
            return self.position > other.position
        return bool(self.left.acknowledged_bits & ~other.left.acknowledged_bits)


class TransactionAcks:
    """By ledger and entry, the messages that stay open; `WHOLE` where none does.

    `weight` stands for memory: one for each entry, and one more for every 64 messages of a batch that stays in part.
    """

    __slots__ = ("cumulative", "entries", "weight")

    def __init__(self) -> None:
        self.entries: dict[int, dict[int, OpenBatch]] = {}
        self.cumulative: AckedUpTo | None = None
        self.weight = 0

    def add(self, ledger_id: int, entry_id: int, left: OpenBatch) -> None:
        """Nothing changes if all messages stay open."""
        if not left.acknowledged_bits:
            return
        entries = self.entries.setdefault(ledger_id, {})
        before = entries.get(entry_id)
        entries[entry_id] = left = left if before is None else _both(before, left)
        self.weight += _weight(left) - (0 if before is None else _weight(before))

    def add_up_to(self, up_to: AckedUpTo) -> None:
        """Nothing changes if there is a cumulative acknowledgment of more messages."""
        before = self.cumulative
        if before is None or up_to.is_after(before):
            self.cumulative = up_to
            self.weight += _weight(up_to.left) - (0 if before is None else _weight(before.left))

    def merge(self, other: TransactionAcks) -> None:
        """Adds later acknowledgments of the same transaction. Repeating them changes nothing."""
        for ledger_id, entry_id, left in other:
            self.add(ledger_id, entry_id, left)
        if other.cumulative is not None:
            self.add_up_to(other.cumulative)

    def copy(self) -> TransactionAcks:
        copied = TransactionAcks()
        copied.entries = {ledger_id: dict(entries) for ledger_id, entries in self.entries.items()}
        copied.cumulative, copied.weight = self.cumulative, self.weight
        return copied

    def __iter__(self) -> Iterator[tuple[int, int, OpenBatch]]:
        """(ledger, entry, what stays open) of those that are not cumulative."""
        for ledger_id, entries in self.entries.items():
            for entry_id, left in entries.items():
                yield ledger_id, entry_id, left

    def parts(self, ledger_id: int) -> tuple[list[int], dict[int, OpenBatch]]:
        """The entries of a ledger that are acknowledged as a whole, and the others."""
        entries = self.entries[ledger_id]
        whole = [entry_id for entry_id, left in entries.items() if not left.bits]
        return whole, {entry_id: left for entry_id, left in entries.items() if left.bits}

    def document(self) -> list[Any]:
        """As JSON: the cumulative acknowledgment or null, then each entry; see FORMAT.md."""
        up_to = None if self.cumulative is None else _row(*self.cumulative.position, self.cumulative.left)
        return [up_to, *(_row(*acked) for acked in self)]

    @classmethod
    def from_document(cls, document: list[Any]) -> TransactionAcks:
        acks = cls()
        up_to, *rows = document
        if up_to is not None:
            ledger_id, entry_id, left = _parsed(*up_to)
            acks.add_up_to(AckedUpTo(Position(ledger_id, entry_id), left))
        for row in rows:
            acks.add(*_parsed(*row))
        return acks


def _weight(left: OpenBatch) -> int:
    return 1 + left.messages // 64


def _both(first: OpenBatch, second: OpenBatch) -> OpenBatch:
    """What two acknowledgments of an entry leave open."""
    if WHOLE in (first, second):
        return WHOLE
    messages = max(first.messages, second.messages)
    return OpenBatch(messages, (1 << messages) - 1 & ~(first.acknowledged_bits | second.acknowledged_bits))


def _row(ledger_id: int, entry_id: int, left: OpenBatch) -> list[Any]:
    return [ledger_id, entry_id] if left == WHOLE else [ledger_id, entry_id, left.messages, words_of(left.bits)]


def _parsed(
    ledger_id: int, entry_id: int, messages: int = 0, words: tuple[int, ...] = ()
) -> tuple[int, int, OpenBatch]:
    return ledger_id, entry_id, OpenBatch(messages, bits_of(words))


class HeldAcks:
    """By ledger and entry, the messages that open transactions acknowledged on one cursor, as bit sets."""

    __slots__ = ("cumulative", "entries", "holder")

    def __init__(self) -> None:
        self.entries: dict[int, dict[int, int]] = {}
        self.cumulative: AckedUpTo | None = None
        self.holder = 0  # the transaction that has the cumulative one

    def __bool__(self) -> bool:
        return bool(self.entries) or self.cumulative is not None

    def add(self, transaction_id: int, acks: TransactionAcks) -> None:
        for ledger_id, entry_id, left in acks:
            entries = self.entries.setdefault(ledger_id, {})
            entries[entry_id] = entries.get(entry_id, 0) | left.acknowledged_bits
        if acks.cumulative is not None:
            self.cumulative, self.holder = acks.cumulative, transaction_id

    def remove(self, transaction_id: int, acks: TransactionAcks) -> None:
        for ledger_id, entry_id, left in acks:
            entries = self.entries.get(ledger_id, {})
            still_held = entries.pop(entry_id, 0) & ~left.acknowledged_bits
            if still_held:
                entries[entry_id] = still_held
            elif not entries:
                self.entries.pop(ledger_id, None)
        if self.holder == transaction_id:
            self.cumulative, self.holder = None, 0

    def individual(self, ledger_id: int, entry_id: int) -> int:
        """The messages of an entry that are acknowledged one by one."""
        return self.entries.get(ledger_id, {}).get(entry_id, 0)

    def bits(self, ledger_id: int, entry_id: int) -> int:
        """The messages of an entry that no consumer gets."""
        up_to = self.cumulative
        if up_to is None or (ledger_id, entry_id) > up_to.position:
            return self.individual(ledger_id, entry_id)
        if (ledger_id, entry_id) < up_to.position:
            return -1
        return up_to.left.acknowledged_bits | self.individual(ledger_id, entry_id)

    def concerns(self, ledger_id: int, first: int) -> bool:
        """Whether entries of the ledger, from `first` on, may be held."""
        return ledger_id in self.entries or (
            self.cumulative is not None and (ledger_id, first) <= self.cumulative.position
        )
