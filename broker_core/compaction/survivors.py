"""The second pass of a compaction: the messages of a block that survive, with the result of a first pass. No I/O.

Rules (Pulsar docs, "Topic compaction"): an empty payload is a tombstone, which deletes its key. A message without a key
is dropped, unless `retain_null_key`. In a batch each message is judged separately, and dropped ones keep their slot,
marked `compacted_out`. Entries that cannot be read (an encrypted batch, a malformed entry) are kept whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from broker_core.wire.batch import compact_batch
from broker_core.wire.slots import OpenedEntry, Slot, open_entry

if TYPE_CHECKING:
    from broker_core.storage.records.block import Block

MessagePosition = tuple[int, int, int]  # ledger ID, entry ID, batch index (0 outside of batches)


class Survivors(ABC):
    def __init__(self, *, retain_null_key: bool) -> None:
        self._retain_null_key = retain_null_key
        self.removed = 0  # messages that `survivors` has dropped so far

    @abstractmethod
    def note(self, block: Block) -> None:
        """First pass, over all blocks in order."""

    @abstractmethod
    def complete(self) -> None:
        """After the first pass; raises `BrokerError` if its result cannot be used."""

    @abstractmethod
    def _is_last(self, key: str, position: MessagePosition, slot: Slot) -> bool: ...

    def _rows(self, block: Block) -> Iterable[int]:
        """The rows that may have survivors; the others count as removed."""
        return range(len(block))

    def survivors(self, block: Block) -> Iterator[tuple[int, bytes]]:
        """Second pass: yields the row of the block, and the entry for the compacted ledger."""
        for row in self._rows(block):
            if not block.counts[row]:
                continue  # a marker, or aborted
            entry = block.entry(row)
            opened = open_entry(entry)
            kept = entry if opened is None else self._keep(entry, opened, block.ledger_id, block.first_entry_id + row)
            if kept is not None:
                yield row, kept

    def _keep(self, entry: bytes, opened: OpenedEntry, ledger_id: int, entry_id: int) -> bytes | None:
        kept = [slot.batch_index for slot in opened.slots if self._survives(slot, ledger_id, entry_id)]
        self.removed += len(opened.slots) - len(kept)
        if not kept:
            return None
        if opened.batch is None or len(kept) == len(opened.batch):
            return entry
        return compact_batch(opened.metadata, opened.batch, kept)

    def _survives(self, slot: Slot, ledger_id: int, entry_id: int) -> bool:
        if slot.key is None:
            return self._retain_null_key
        return self._is_last(slot.key, (ledger_id, entry_id, slot.batch_index), slot)
