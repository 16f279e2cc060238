"""The last message of each key, which compaction keeps. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.compaction.chunked_messages import ChunkedMessages
from broker_core.compaction.survivors import MessagePosition, Survivors
from broker_core.wire.batch import is_chunk
from broker_core.wire.slots import Slot, open_entry

if TYPE_CHECKING:
    from broker_core.storage.records.block import Block


class KeyTable(Survivors):
    def __init__(self, *, retain_null_key: bool) -> None:
        super().__init__(retain_null_key=retain_null_key)
        self._latest: dict[str, MessagePosition] = {}
        self._chunked = ChunkedMessages()
        self._unfinished: set[MessagePosition] = set()

    def note(self, block: Block) -> None:
        """Remembers the last position of each key; a tombstone forgets the key."""
        for row in range(len(block)):
            if not block.counts[row]:
                continue  # a marker, or aborted
            opened = open_entry(block.entry(row))
            entry_id = block.first_entry_id + row
            if opened is None:
                continue
            if not is_chunk(opened.metadata) or self._chunked.note(opened.metadata, (block.ledger_id, entry_id, 0)):
                self._note_slots(opened.slots, block.ledger_id, entry_id)

    def complete(self) -> None:
        """Does nothing, because every message was noted."""
        self._unfinished = self._chunked.unfinished()

    def _note_slots(self, slots: list[Slot], ledger_id: int, entry_id: int) -> None:
        for index, key, is_tombstone in slots:
            if key is None:
                continue
            if is_tombstone:
                self._latest.pop(key, None)
            else:
                self._latest[key] = (ledger_id, entry_id, index)

    def _is_last(self, key: str, position: MessagePosition, slot: Slot) -> bool:
        return position in self._unfinished or self._latest.get(key) == self._chunked.end(position)
