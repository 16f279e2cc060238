"""The index of a message: the number of messages that its topic got before it (PIP-70).

It costs no byte of an entry. The index of a ledger knows the messages before each span, and the catalog those of the
ledgers before it, deleted ones included.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from broker_core.storage.log.cache import BlockCache
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.reader import Reader
from broker_core.storage.records.block import Block
from broker_core.storage.records.catalog import ManagedLedgerInfo
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.position import Position


class Indexed(NamedTuple):
    """An entry, the index of its first message, and how many it has."""

    position: Position
    first: int
    messages: int


class MessageIndex:
    """`ledgers` are the ledgers in use, by id."""

    def __init__(
        self, info: ManagedLedgerInfo, ledgers: dict[int, Ledger], order: LedgerList, cache: BlockCache, reader: Reader
    ) -> None:
        self._info = info
        self._ledgers = ledgers
        self._order = order
        self._cache = cache
        self._reader = reader

    @property
    def first(self) -> int:
        """The index of the oldest message, or of the next one if there is none."""
        return self._info.trimmed_messages

    @property
    def next(self) -> int:
        """The index that the next message will have."""
        return self.first + self._order.messages

    async def find(self, index: int) -> Indexed | None:
        """The entry with the message of this index, or the oldest one if that was trimmed; None if it is yet to come.

        Raises Damaged.
        """
        while (holding := self._holding(max(index, self.first))) is not None:
            ledger, before = holding
            indexed = await self._find_in(ledger, max(index, before), before)
            if ledger.info.id in self._ledgers:  # else it was trimmed during the read
                return indexed
        return None

    def _holding(self, index: int) -> tuple[Ledger, int] | None:
        """The ledger with the message of this index, and the messages before the ledger."""
        before = self.first
        for ledger_id in self._order.ids:
            ledger = self._ledgers.get(ledger_id)
            messages = ledger.info.messages if ledger is not None else 0
            if ledger is not None and index < before + messages:
                return ledger, before
            before += messages
        return None

    async def _find_in(self, ledger: Ledger, index: int, before: int) -> Indexed | None:
        """`before`: the messages before the ledger. None if it is gone."""
        spans = await self._reader.spans(ledger)
        if spans is None:
            return None
        span = spans.at_message(index - before)
        entry_id, before = spans.first[span], before + spans.messages_before[span]
        while (block := await self._block(ledger, entry_id)) is not None:
            firsts = list(accumulate(block.counts[entry_id - block.first_entry_id :], initial=before))
            if index < firsts[-1]:
                row = bisect_right(firsts, index) - 1
                return Indexed(Position(ledger.info.id, entry_id + row), firsts[row], firsts[row + 1] - firsts[row])
            entry_id, before = block.last_entry_id + 1, firsts[-1]
        return None

    async def before(self, position: Position) -> int | None:
        """The messages before an existing entry; None if its ledger is gone. Raises Damaged."""
        ledger = self._ledgers.get(position.ledger_id)
        spans = await self._reader.spans(ledger) if ledger is not None else None
        if ledger is None or spans is None:
            return None
        span = spans.find(position.entry_id)
        entry_id, messages = spans.first[span], spans.messages_before[span]
        while entry_id < position.entry_id:
            block = await self._block(ledger, entry_id)
            if block is None:
                return None
            first, stop = entry_id - block.first_entry_id, position.entry_id - block.first_entry_id
            messages += sum(block.counts[first:stop])
            entry_id = block.last_entry_id + 1
        if position.ledger_id not in self._ledgers:
            return None  # trimmed in the meantime, and counted as such
        return self.first + self._order.messages_before(position.ledger_id) + messages

    async def _block(self, ledger: Ledger, entry_id: int) -> Block | None:
        """The cached block, or the span, that holds an entry; None after the last one. Raises Damaged."""
        if entry_id >= ledger.info.entries:
            return None
        return self._cache.around(ledger, entry_id) or await self._reader.read_span(ledger, entry_id)
