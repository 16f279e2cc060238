"""The records of one ledger that were written last, oldest first.

A record of one entry is kept as its bytes, any other as its block: bytes cost the garbage collector nothing, and
most of them are never looked at.
"""

from array import array
from bisect import bisect_left, bisect_right

from broker_core.storage.records.block import Block, block_of_one, place_times

JOIN_ENTRIES = 64  # a block with at least as many entries, or bytes, is handed out as it is
JOIN_BYTES = 16 << 10
RECORD_COST = 400  # bytes of objects per record, beside its own


class Tail:
    """`fresh` is what the records of the current group cost, in bytes; the cache takes them over at its end."""

    __slots__ = ("_head", "firsts", "fresh", "records")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.records: list[Block | bytes] = []
        self.fresh = 0
        self._head = 0  # records before it were evicted

    def __len__(self) -> int:
        return len(self.firsts) - self._head

    def add(self, first: int, record: "Block | bytes", cost: int) -> None:
        """Adds the record of the entries from `first` on; `cost` is in bytes."""
        self.firsts.append(first)
        self.records.append(record)
        self.fresh += cost

    @property
    def end(self) -> int:
        """The entry after the newest record."""
        record = self.records[-1]
        return self.firsts[-1] + (1 if isinstance(record, bytes) else len(record.starts))

    def drop_before(self, entry_id: int) -> None:
        """Forgets the records of older entries."""
        head = self._head
        self._head = stop = bisect_left(self.firsts, entry_id, head)
        if 2 * stop > len(self.firsts):
            del self.firsts[:stop]
            del self.records[:stop]
            self._head = 0
        else:
            self.records[head:stop] = [b""] * (stop - head)

    def find(self, entry_id: int) -> int | None:
        """The index of the record that holds the entry, if it is here."""
        at = bisect_right(self.firsts, entry_id, self._head) - 1
        if at < self._head:
            return None
        record = self.records[at]
        n = 1 if isinstance(record, bytes) else len(record.starts)
        return at if entry_id < self.firsts[at] + n else None

    def block(self, at: int) -> Block:
        record = self.records[at]
        return block_of_one(record) if isinstance(record, bytes) else record

    def gather(self, at: int, max_entries: int, max_bytes: int) -> Block:
        """The block at `at`, joined with the next ones while they are small: one block is worth a copy."""
        block = self.block(at)
        entries, size = len(block.starts), block.ends[-1] - block.starts[0]
        stop = at + 1
        if stop == len(self.records) or entries >= min(max_entries, JOIN_ENTRIES) or size >= min(max_bytes, JOIN_BYTES):
            return block
        blocks = [block]
        while stop < len(self.records) and entries < max_entries and size < max_bytes:
            block = self.block(stop)
            blocks.append(block)
            entries += len(block.starts)
            size += block.ends[-1] - block.starts[0]
            stop += 1
        return joined(blocks)


def joined(blocks: list[Block]) -> Block:
    """Consecutive blocks of one ledger as one."""
    parts: list[bytes] = []
    starts: array[int] = array("I")
    ends: array[int] = array("I")
    counts: array[int] = array("I")
    times: array[int] = array("Q")
    delivery_times: array[int] = array("Q")
    at = 0
    for block in blocks:
        low, high = block.starts[0], block.ends[-1]
        parts.append(block.data[low:high])
        shift = at - low
        if block.delivery_times:
            place_times(delivery_times, len(starts), block.delivery_times)
        if len(block.starts) == 1:
            starts.append(at)
            ends.append(high + shift)
            counts.append(block.counts[0])
            times.append(block.publish_times[0])
        else:
            starts.extend([start + shift for start in block.starts])
            ends.extend([end + shift for end in block.ends])
            counts.extend(block.counts)
            times.extend(block.publish_times)
        at += high - low
    if delivery_times:
        place_times(delivery_times, len(starts), ())
    ledger_id, first = blocks[0].ledger_id, blocks[0].first_entry_id
    return Block(ledger_id, first, b"".join(parts), starts, ends, counts, times, delivery_times or ())
