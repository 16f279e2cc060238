"""Batches of which some messages are acknowledged and others not: which are open, as bit sets. Pure.

A bit set is an integer, bit i = message i of the batch, 1 = not acknowledged; on the wire and on disk it is cut into
64-bit words, lowest first (Pulsar binary protocol, "ack_set"). Acknowledging only ever clears bits, so the
same acknowledgment may be applied again. An entry is here only while at least one bit is set and one is not.
"""

import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.storage.records.block import column, column_bytes
from broker_core.storage.records.position import Position

WORD = (1 << 64) - 1


class OpenBatch(NamedTuple):
    messages: int
    """Messages in the entry, 0 = not known yet."""
    bits: int
    """Open ones."""

    @property
    def open(self) -> int:
        return self.bits.bit_count()

    @property
    def acknowledged_bits(self) -> int:
        """The messages that are not open; without a known size, all after the last open one, too. -1 is all of them."""
        return ((1 << self.messages) - 1 if self.messages else -1) & ~self.bits

    @property
    def acknowledged(self) -> int:
        """How many messages are acknowledged; at least that many where the size is not known."""
        return max(self.messages, self.bits.bit_length()) - self.bits.bit_count()


def bits_of(words: Sequence[int]) -> int:
    """The bit set in 64-bit words, signed or not."""
    return int.from_bytes(struct.pack(f"<{len(words)}Q", *[word & WORD for word in words]), "little")


def words_of(bits: int) -> list[int]:
    """The signed 64-bit words of a bit set, as they travel; trailing zero words are left out."""
    count = (bits.bit_length() + 63) // 64
    return list(struct.unpack(f"<{count}q", bits.to_bytes(8 * count, "little")))


class OpenBatches:
    """The open batches of one subscription, by ledger and entry."""

    __slots__ = ("by_ledger", "dirty")

    def __init__(self) -> None:
        self.by_ledger: dict[int, dict[int, OpenBatch]] = {}
        self.dirty: set[int] = set()  # ledgers in which something changed since the checkpoint

    def __len__(self) -> int:
        """How many ledgers have such batches; 0 = there are none."""
        return len(self.by_ledger)

    def __iter__(self) -> Iterator[tuple[int, int, OpenBatch]]:
        """(ledger id, entry id, batch) in order."""
        for ledger_id in sorted(self.by_ledger):
            for entry_id, batch in sorted(self.by_ledger[ledger_id].items()):
                yield ledger_id, entry_id, batch

    def get(self, ledger_id: int, entry_id: int) -> OpenBatch | None:
        return self.by_ledger.get(ledger_id, {}).get(entry_id)

    def put(self, ledger_id: int, entry_id: int, batch: OpenBatch) -> None:
        self.by_ledger.setdefault(ledger_id, {})[entry_id] = batch
        self.dirty.add(ledger_id)

    def load(self, ledger_id: int, batches: dict[int, OpenBatch]) -> None:
        """Loads the batches of a ledger from the last checkpoint."""
        self.by_ledger[ledger_id] = batches

    def clear_bits(self, ledger_id: int, entry_id: int, messages: int, open_bits: int) -> tuple[int, OpenBatch | None]:
        """Acknowledges all messages except those in `open_bits`; `messages` is the size of the batch, 0 = not known.

        Returns how many messages were newly acknowledged, and what is left: None when nothing is.
        """
        before = self.get(ledger_id, entry_id)
        messages = messages or (before.messages if before is not None else 0)
        size = messages or max(open_bits.bit_length(), before.bits.bit_length() if before else 0)
        old_bits = before.bits if before is not None else (1 << size) - 1
        bits = open_bits & old_bits
        if not bits:
            self.discard(ledger_id, (entry_id,))
            return old_bits.bit_count(), None
        batch = OpenBatch(messages, bits)
        if bits != old_bits or (before is None and not messages):
            self.put(ledger_id, entry_id, batch)
        return old_bits.bit_count() - bits.bit_count(), batch

    def set_messages(self, ledger_id: int, entry_id: int, messages: int) -> bool:
        """Sets the size of a batch that was not known, unless the batch is gone by now.

        Returns whether nothing of it is open: only messages were left open that it does not have.
        """
        batch = self.get(ledger_id, entry_id)
        if batch is None or not messages:
            return False
        bits = batch.bits & (1 << messages) - 1
        if bits.bit_count() == messages or not bits:
            self.discard(ledger_id, (entry_id,))
        else:
            self.put(ledger_id, entry_id, OpenBatch(messages, bits))
        return not bits

    def discard(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Drops entries that are acknowledged as a whole."""
        batches = self.by_ledger.get(ledger_id)
        if batches is not None:
            gone = [batches.pop(entry_id, None) for entry_id in entry_ids]
            self._shrunk(ledger_id, any(gone))

    def discard_below(self, position: Position) -> None:
        """Drops everything before the position, because it is acknowledged."""
        for ledger_id in [i for i in self.by_ledger if i < position.ledger_id]:
            self.discard_ledger(ledger_id)
        batches = self.by_ledger.get(position.ledger_id)
        if batches is not None:
            gone = [entry_id for entry_id in batches if entry_id < position.entry_id]
            self.discard(position.ledger_id, gone)

    def discard_ledger(self, ledger_id: int) -> None:
        if self.by_ledger.pop(ledger_id, None) is not None:
            self.dirty.add(ledger_id)

    def clear(self) -> None:
        for ledger_id in list(self.by_ledger):
            self.discard_ledger(ledger_id)

    def _shrunk(self, ledger_id: int, changed: bool) -> None:
        if changed:
            self.dirty.add(ledger_id)
            if not self.by_ledger[ledger_id]:
                del self.by_ledger[ledger_id]

    def rows_within(self, ledger_id: int, first: int, count: int) -> list[tuple[int, OpenBatch]]:
        """(entry id, batch) of those among the `count` entries from `first` on, in order."""
        batches = self.by_ledger.get(ledger_id)
        if batches is None:
            return []
        stop = first + count
        if len(batches) <= count:
            return sorted((entry_id, batch) for entry_id, batch in batches.items() if first <= entry_id < stop)
        return [(entry_id, batches[entry_id]) for entry_id in range(first, stop) if entry_id in batches]

    def acknowledged_in(self, ledger_id: int) -> int:
        """Messages that are acknowledged in the batches of a ledger."""
        return sum(batch.acknowledged for batch in self.by_ledger.get(ledger_id, {}).values())

    @property
    def ledger_ids(self) -> list[int]:
        return list(self.by_ledger)

    def of_ledger(self, ledger_id: int) -> dict[int, OpenBatch]:
        """A copy: entry id -> batch."""
        return dict(self.by_ledger.get(ledger_id, {}))


def encode_batches(batches: dict[int, OpenBatch]) -> bytes:
    """The batches in the layout of FORMAT.md: u32 entry ids[n], u32 messages[n], u32 words[n], u64 words."""
    words = [words_of(batch.bits) for batch in batches.values()]
    return b"".join(
        (
            column_bytes("I", list(batches)),
            column_bytes("I", [batch.messages for batch in batches.values()]),
            column_bytes("I", list(map(len, words))),
            column_bytes("q", [word for batch_words in words for word in batch_words]),
        )
    )


def decode_batches(data: bytes, n: int) -> dict[int, OpenBatch]:
    rows = memoryview(data)
    entry_ids, messages, sizes = (column("I", rows[4 * n * i : 4 * n * (i + 1)]) for i in range(3))
    words: array[int] = column("q", rows[12 * n : 12 * n + 8 * sum(sizes)])
    batches = {}
    at = 0
    for entry_id, count, size in zip(entry_ids, messages, sizes, strict=True):
        batches[entry_id] = OpenBatch(count, bits_of(words[at : at + size]))
        at += size
    return batches


def inflate_batches(data: bytes, n: int) -> dict[int, OpenBatch]:
    """The batches from metadata.sqlite, which has their bytes deflated."""
    return decode_batches(zlib.decompress(data), n)
