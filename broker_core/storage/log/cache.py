"""Blocks in memory: the tail that was just written, and spans that were just read from disk.

The tail holds every entry that is not yet in a ledger file, so whatever is not cached can be read from a file.
Both halves are bounded in bytes over all ledgers; the tail may exceed its share by what is not flushed yet, which
`Pressure` bounds.
"""

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable

from broker_core.storage.log.cache_traffic import CacheTraffic
from broker_core.storage.records.block import Block
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.tail import Tail

_OVERHEAD = 500  # bytes of objects per block
_PER_ENTRY = 20
_COLD_SHARES = 8  # readers that go forward at once and find what was read ahead for them


class BlockCache:
    def __init__(self, limit_bytes: int, relieve: Callable[[], None], traffic: CacheTraffic) -> None:
        self.traffic = traffic
        self._tail_limit = limit_bytes * 3 // 4
        self._cold_limit = limit_bytes // 4
        self._relieve = relieve
        self._order: deque[tuple[Ledger, int, int]] = deque()  # per group and ledger: end, bytes; oldest first
        self._fresh: list[Ledger] = []  # got records in the current group
        self.tail_bytes = 0
        self._cold: dict[int, list[Block]] = {}
        self._cold_order: OrderedDict[tuple[int, int], int] = OrderedDict()
        self.cold_bytes = 0

    @property
    def cold_share(self) -> int:
        """The bytes that one of several readers may read ahead."""
        return self._cold_limit // _COLD_SHARES

    def tail_of(self, ledger: Ledger) -> Tail:
        """The tail that the records of the current group are put into; `end_group` takes them over."""
        tail = ledger.tail
        if tail is None:
            tail = ledger.tail = Tail()
        self._fresh.append(ledger)
        return tail

    def end_group(self) -> None:
        """Counts the records that were put into tails since the last group, and evicts old ones if necessary."""
        for ledger in self._fresh:
            tail = ledger.tail
            if tail is not None:
                self._order.append((ledger, tail.end, tail.fresh))
                self.tail_bytes += tail.fresh
                tail.fresh = 0
        self._fresh.clear()
        if self.tail_bytes > self._tail_limit:
            self._evict()

    def _evict(self) -> None:
        order = self._order
        while order and self.tail_bytes > self._tail_limit:
            ledger, end, cost = order[0]
            tail = ledger.tail
            if tail is not None:
                if end > ledger.flushed_entries:
                    self._relieve()
                    return
                tail.drop_before(end)
                if not tail:
                    ledger.tail = None
            self.tail_bytes -= cost
            self.traffic.evictions.add(1, cost)
            order.popleft()

    def add_cold(self, block: Block) -> None:
        """Adds spans that were read from a file."""
        key = (block.ledger_id, block.first_entry_id)
        if key in self._cold_order:
            self._remove_cold(key)
        cost = len(block.data) + _OVERHEAD + _PER_ENTRY * len(block)
        self._cold.setdefault(block.ledger_id, []).append(block)
        self._cold_order[key] = cost
        self.cold_bytes += cost
        while self.cold_bytes > self._cold_limit and len(self._cold_order) > 1:
            oldest = next(iter(self._cold_order))
            self.traffic.evictions.add(1, self._cold_order[oldest])
            self._remove_cold(oldest)

    def _remove_cold(self, key: tuple[int, int]) -> None:
        self.cold_bytes -= self._cold_order.pop(key)
        blocks = [block for block in self._cold[key[0]] if block.first_entry_id != key[1]]
        if blocks:
            self._cold[key[0]] = blocks
        else:
            del self._cold[key[0]]

    def forget(self, ledger: Ledger) -> None:
        """Forgets a ledger that was deleted, or whose managed ledger was closed. Its bytes count until eviction."""
        ledger.tail = None
        for block in list(self._cold.get(ledger.info.id, ())):
            self._remove_cold((ledger.info.id, block.first_entry_id))

    def read(self, ledger: Ledger, entry_id: int, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from `entry_id` on, at least one; None when it is not cached."""
        tail = ledger.tail
        at = tail.find(entry_id) if tail is not None else None
        if tail is not None and at is not None:
            inside = entry_id - tail.firsts[at]
            return limited(tail.gather(at, inside + max_entries, max_bytes), inside, max_entries, max_bytes)
        block = self._find_cold(ledger.info.id, entry_id)
        if block is None:
            return None
        self._cold_order.move_to_end((block.ledger_id, block.first_entry_id))
        return limited(block, entry_id - block.first_entry_id, max_entries, max_bytes)

    def around(self, ledger: Ledger, entry_id: int) -> Block | None:
        """The whole cached block that holds the entry."""
        tail = ledger.tail
        at = tail.find(entry_id) if tail is not None else None
        if tail is not None and at is not None:
            return tail.block(at)
        return self._find_cold(ledger.info.id, entry_id)

    def _find_cold(self, ledger_id: int, entry_id: int) -> Block | None:
        for block in self._cold.get(ledger_id, ()):
            if 0 <= entry_id - block.first_entry_id < len(block.starts):
                return block
        return None


def limited(block: Block, start: int, max_entries: int, max_bytes: int) -> Block:
    """Entries from index `start` on, within both limits, but at least one."""
    n = len(block.starts)
    stop = min(n, start + max_entries)
    ends = block.ends
    if ends[stop - 1] - block.starts[start] > max_bytes:
        stop = max(start + 1, bisect_right(ends, block.starts[start] + max_bytes, start, stop))
    return block if start == 0 and stop == n else block.slice(start, stop)
