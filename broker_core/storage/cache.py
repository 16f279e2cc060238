"""Blocks in memory: the tail that was just written, and spans that were just read from disk.

The tail holds every entry that is not yet in a ledger file, so whatever is not cached can be read from a file.
Both halves are bounded in bytes over all ledgers; the tail may exceed its share by what is not flushed yet, which
`Pressure` bounds.
"""

from array import array
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable

from broker_core.storage.block import Block
from broker_core.storage.ledger_file import Ledger

_OVERHEAD = 500  # bytes of objects per block, measured roughly with tracemalloc
_PER_ENTRY = 20
_JOIN_ENTRIES = 64  # a cached block with at least as many entries, or bytes, is handed out as it is
_JOIN_BYTES = 16 << 10


class _Tail:
    __slots__ = ("blocks", "firsts", "head")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.blocks: list[Block] = []
        self.head = 0  # blocks before it were evicted

    def drop_first(self) -> None:
        self.head += 1
        if self.head > 64 and 2 * self.head > len(self.firsts):
            del self.firsts[: self.head]
            del self.blocks[: self.head]
            self.head = 0
        else:
            self.blocks[self.head - 1] = _GONE


_GONE = Block(-1, 0, b"", (), (), (), ())


class BlockCache:
    def __init__(self, limit_bytes: int, flush: Callable[[Ledger], None]) -> None:
        self._tail_limit = limit_bytes * 3 // 4
        self._cold_limit = limit_bytes // 4
        self._flush = flush
        self._tails: dict[int, _Tail] = {}
        self._order: deque[tuple[Ledger, int, int]] = deque()  # ledger, last entry, cost
        self.tail_bytes = 0
        self._cold: dict[int, list[Block]] = {}
        self._cold_order: OrderedDict[tuple[int, int], int] = OrderedDict()
        self.cold_bytes = 0

    def add(self, ledger: Ledger, block: Block, size: int) -> None:
        """A run that was just confirmed; `size` are the bytes of its entries."""
        ledger_id = block.ledger_id
        tail = self._tails.get(ledger_id)
        if tail is None:
            tail = self._tails[ledger_id] = _Tail()
        n = len(block.starts)
        tail.firsts.append(block.first_entry_id)
        tail.blocks.append(block)
        cost = size + _OVERHEAD + _PER_ENTRY * n
        self._order.append((ledger, block.first_entry_id + n, cost))
        self.tail_bytes += cost
        if self.tail_bytes > self._tail_limit:
            self._evict()

    def _evict(self) -> None:
        order = self._order
        while order and self.tail_bytes > self._tail_limit:
            ledger, end, cost = order[0]
            if end > ledger.flushed_entries and ledger.info.id in self._tails:
                self._flush(ledger)
                return
            order.popleft()
            self.tail_bytes -= cost
            tail = self._tails.get(ledger.info.id)
            if tail is not None:
                tail.drop_first()
                if tail.head == len(tail.firsts):
                    del self._tails[ledger.info.id]

    def add_cold(self, block: Block) -> None:
        """Spans that were read from a file."""
        key = (block.ledger_id, block.first_entry_id)
        cost = len(block.data) + _OVERHEAD + _PER_ENTRY * len(block)
        if key in self._cold_order:
            self._remove_cold(key)
        self._cold.setdefault(block.ledger_id, []).append(block)
        self._cold_order[key] = cost
        self.cold_bytes += cost
        while self.cold_bytes > self._cold_limit and len(self._cold_order) > 1:
            self._remove_cold(next(iter(self._cold_order)))

    def _remove_cold(self, key: tuple[int, int]) -> None:
        self.cold_bytes -= self._cold_order.pop(key)
        blocks = [block for block in self._cold[key[0]] if block.first_entry_id != key[1]]
        if blocks:
            self._cold[key[0]] = blocks
        else:
            del self._cold[key[0]]

    def forget(self, ledger_id: int) -> None:
        """The ledger was deleted. Its tail's share of the order goes when its turn comes."""
        self._tails.pop(ledger_id, None)
        for block in list(self._cold.get(ledger_id, ())):
            self._remove_cold((ledger_id, block.first_entry_id))

    def read(self, ledger_id: int, entry_id: int, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from `entry_id` on, at least one; None when it is not cached."""
        tail = self._tails.get(ledger_id)
        if tail is not None:
            at = bisect_right(tail.firsts, entry_id, tail.head) - 1
            if at >= tail.head:
                block = tail.blocks[at]
                inside = entry_id - block.first_entry_id
                if inside < len(block.starts):
                    return _read_tail(tail, at, inside, max_entries, max_bytes)
        for block in self._cold.get(ledger_id, ()):
            inside = entry_id - block.first_entry_id
            if 0 <= inside < len(block.starts):
                self._cold_order.move_to_end((ledger_id, block.first_entry_id))
                return limited(block, inside, max_entries, max_bytes)
        return None

    def around(self, ledger_id: int, entry_id: int) -> Block | None:
        """The whole cached block that holds the entry."""
        tail = self._tails.get(ledger_id)
        if tail is not None:
            at = bisect_right(tail.firsts, entry_id, tail.head) - 1
            if at >= tail.head and entry_id - tail.firsts[at] < len(tail.blocks[at]):
                return tail.blocks[at]
        for block in self._cold.get(ledger_id, ()):
            if 0 <= entry_id - block.first_entry_id < len(block.starts):
                return block
        return None


def limited(block: Block, start: int, max_entries: int, max_bytes: int) -> Block:
    """Entries from index `start` on, at most so many and so many bytes, but at least one."""
    n = len(block.starts)
    stop = min(n, start + max_entries)
    ends = block.ends
    if ends[stop - 1] - block.starts[start] > max_bytes:
        stop = max(start + 1, bisect_right(ends, block.starts[start] + max_bytes, start, stop))
    return block if start == 0 and stop == n else block.slice(start, stop)


def _read_tail(tail: _Tail, at: int, inside: int, max_entries: int, max_bytes: int) -> Block:
    block = tail.blocks[at]
    left = len(block.starts) - inside
    taken = block.ends[-1] - block.starts[inside]
    if at + 1 == len(tail.blocks) or left >= min(max_entries, _JOIN_ENTRIES) or taken >= min(max_bytes, _JOIN_BYTES):
        return limited(block, inside, max_entries, max_bytes)
    # Small runs: one block for the dispatcher is worth a copy.
    stop = at + 1
    expected = tail.firsts[at] + len(block.starts)
    while stop < len(tail.blocks) and left < max_entries and taken < max_bytes and tail.firsts[stop] == expected:
        block = tail.blocks[stop]
        n = len(block.starts)
        left += n
        taken += block.ends[-1] - block.starts[0]
        expected += n
        stop += 1
    return limited(joined(tail.blocks[at:stop]), inside, max_entries, max_bytes)


def joined(blocks: list[Block]) -> Block:
    """Consecutive blocks of one ledger as one."""
    parts: list[bytes] = []
    starts: array[int] = array("I")
    ends: array[int] = array("I")
    counts: array[int] = array("I")
    times: array[int] = array("Q")
    at = 0
    for block in blocks:
        low, high = block.starts[0], block.ends[-1]
        parts.append(block.data if low == 0 and high == len(block.data) else block.data[low:high])
        shift = at - low
        if len(block.starts) == 1:
            starts.append(at)
            ends.append(high + shift)
        else:
            starts.extend([start + shift for start in block.starts])
            ends.extend([end + shift for end in block.ends])
        counts.extend(block.counts)
        times.extend(block.publish_times)
        at += high - low
    return Block(blocks[0].ledger_id, blocks[0].first_entry_id, b"".join(parts), starts, ends, counts, times)
