"""The last place of each key as a job found it (`pulsarctl ops compact`), verified against the log. Pure.

The job has read every message; this broker opens only the entries at the places, and a sample of the others. It adopts
the result if all of this holds:

- the job has read the same log: as many entries and messages of each ledger, from the end of the last compaction on
- at each place there is a message with a key, or an entry that cannot be opened, and no key has two places
- no place is a chunk: a place names one entry, and the chunks of a message must stay together
- the keys of the sample have their places there or later

The bytes of the compacted ledger are always the log's own. A key of an earlier compaction survives unless it has a
place in the new part of the log.
"""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from broker_core.compaction.survivors import MessagePosition, Survivors
from broker_core.errors import Conflict
from broker_core.wire.batch import is_chunk
from broker_core.wire.last_places import WHOLE, LastPlaces, LedgerPlaces, MalformedPlaces
from broker_core.wire.slots import Slot, open_entry

if TYPE_CHECKING:
    from broker_core.storage.records.block import Block

SAMPLES_MAX = 10_000
SAMPLES_PER_BLOCK = 2


class GivenPlaces(Survivors):
    def __init__(self, places: LastPlaces, *, retain_null_key: bool, seed: int | None = None) -> None:
        super().__init__(retain_null_key=retain_null_key)
        self._after = places.after
        self._ledgers = {ledger.ledger_id: ledger for ledger in places.ledgers}
        self._chance = random.Random(seed)  # noqa: S311  # it chooses samples and guards nothing
        self._open: tuple[int, array[int], array[int]] = (-1, array("q"), array("i"))
        self._counted: dict[int, list[int]] = {}  # entries, messages, and places by ledger
        self._keys: set[str] = set()
        self._expected: dict[
            str, MessagePosition
        ] = {}  # key in the sample -> position at or after which its place must be
        self._sampled = 0

    def note(self, block: Block) -> None:
        """Raises `Conflict`."""
        if self._is_compacted(block):
            return
        self._sample(block)
        places = list(self._places(block))
        for row, index in places:
            self._note_place(block, row, index)
        counted = self._counted.setdefault(block.ledger_id, [0, 0, 0])
        for at, number in enumerate((len(block), sum(block.counts), len(places))):
            counted[at] += number

    def complete(self) -> None:
        """Raises `Conflict`."""
        for ledger_id in sorted(self._ledgers.keys() | self._counted.keys()):
            ledger = self._ledgers.get(ledger_id) or LedgerPlaces(ledger_id, 0, 0, 0, b"")
            counted = self._counted.get(ledger_id, [0, 0, 0])
            if counted != [ledger.entries, ledger.messages, ledger.count]:
                raise Conflict(
                    f"the job read {ledger.entries} entries and {ledger.messages} messages of ledger {ledger_id} and"
                    f" named {ledger.count} places; the log has {counted[0]}, {counted[1]}, and {counted[2]}"
                )
        for key, position in self._expected.items():
            raise Conflict(f"the key {key!r} has a message at {_text(position)}, and no place there or later")

    def _is_last(self, key: str, position: MessagePosition, slot: Slot) -> bool:
        if position[:2] <= self._after:
            return key not in self._keys
        return not slot.is_tombstone and self._names(position)

    def _rows(self, block: Block) -> Iterable[int]:
        if self._retain_null_key or self._is_compacted(block):
            return range(len(block))
        rows = sorted({row for row, _ in self._places(block)})
        self.removed += sum(block.counts) - sum(block.counts[row] for row in rows)
        return rows

    def _is_compacted(self, block: Block) -> bool:
        return (block.ledger_id, block.first_entry_id) <= self._after

    def _places(self, block: Block) -> Iterator[tuple[int, int]]:
        """Row and batch index of the places in a block."""
        ids, indexes = self._of(block.ledger_id)
        at = bisect_left(ids, block.first_entry_id)
        while at < len(ids) and ids[at] < block.first_entry_id + len(block):
            yield ids[at] - block.first_entry_id, indexes[at]
            at += 1

    def _of(self, ledger_id: int) -> tuple[array[int], array[int]]:
        """The places in a ledger; those of one ledger at a time are unpacked."""
        if self._open[0] != ledger_id:
            ledger = self._ledgers.get(ledger_id)
            try:
                columns = ledger.places() if ledger else (array("q"), array("i"))
            except MalformedPlaces as error:
                raise Conflict(str(error)) from None
            self._open = (ledger_id, *columns)
        return self._open[1:]

    def _names(self, position: MessagePosition) -> bool:
        ids, indexes = self._of(position[0])
        at = bisect_left(ids, position[1])
        while at < len(ids) and ids[at] == position[1]:
            if indexes[at] == position[2]:
                return True
            at += 1
        return False

    def _note_place(self, block: Block, row: int, index: int) -> None:
        position = (block.ledger_id, block.first_entry_id + row, index)
        opened = open_entry(block.entry(row))
        if opened is None or index == WHOLE:
            if opened is not None or index != WHOLE:
                raise Conflict(f"the entry at {_text(position)} can be opened only by one of the job and this broker")
            return
        if is_chunk(opened.metadata):
            raise Conflict(f"the message at {_text(position)} is chunked, which a job cannot compact")
        key = next((slot.key for slot in opened.slots if slot.batch_index == index), None)
        if key is None:
            raise Conflict(f"the job names {_text(position)}, where no message with a key is")
        if key in self._keys:
            raise Conflict(f"the job names two places of the key {key!r}, the second at {_text(position)}")
        self._keys.add(key)
        if self._expected.get(key, position) <= position:
            self._expected.pop(key, None)

    def _sample(self, block: Block) -> None:
        """Looks at some messages before the places of the block are noted."""
        for _ in range(min(SAMPLES_PER_BLOCK, SAMPLES_MAX - self._sampled)):
            self._sampled += 1
            row = self._chance.randrange(len(block))
            opened = open_entry(block.entry(row))
            entry_id = block.first_entry_id + row
            if opened is None:
                if not self._names((block.ledger_id, entry_id, WHOLE)):
                    raise Conflict(f"the entry at {block.ledger_id}:{entry_id} cannot be opened, and is not named")
            elif opened.slots and (slot := self._chance.choice(opened.slots)).key is not None:
                self._expect(slot.key, (block.ledger_id, entry_id, slot.batch_index))

    def _expect(self, key: str, position: MessagePosition) -> None:
        if key in self._keys:
            raise Conflict(f"the place of the key {key!r} is before its message at {_text(position)}")
        self._expected[key] = max(position, self._expected.get(key, position))


def _text(position: MessagePosition) -> str:
    return f"{position[0]}:{position[1]}:{position[2]}"
