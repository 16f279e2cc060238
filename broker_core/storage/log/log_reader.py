"""Reading a managed ledger from any position on, across its ledgers: out of the cache, else from files."""

from broker_core.clock import Clock
from broker_core.rates.rate import Rate
from broker_core.storage.errors import Damaged, Lost
from broker_core.storage.log.cache import BlockCache
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.reader import Reader
from broker_core.storage.records.block import EMPTY, Block
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.position import Position


class LogReader:
    """`ledgers` are the ledgers in use, by id; the list knows how far each is confirmed.

    `stored`: the entries that were read from files or tiered storage; None before the first, as for most topics.
    """

    def __init__(
        self, ledgers: dict[int, Ledger], order: LedgerList, cache: BlockCache, reader: Reader, clock: Clock
    ) -> None:
        self._ledgers = ledgers
        self._order = order
        self._cache = cache
        self._reader = reader
        self._clock = clock
        self.stored: Rate | None = None

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        ledger_id, entry_id = start
        ledger = self._ledgers.get(ledger_id)
        if ledger is None or entry_id < 0 or entry_id >= ledger.info.entries:
            ledger_id, entry_id = self._order.next_valid(start)
            ledger = self._ledgers.get(ledger_id)
            if ledger is None or entry_id >= ledger.info.entries:
                return EMPTY
        block = self._cache.read(ledger, entry_id, max_entries, max_bytes)
        if block is not None:
            self._cache.traffic.hits.add(len(block.starts), block.ends[-1] - block.starts[0])
        return block

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        while True:
            block = self.read_cached(start, max_entries, max_bytes)
            if block is not None:
                return block
            at = self._order.next_valid(start)
            ledger = self._ledgers[at.ledger_id]
            block = await self._reader.read(ledger, at.entry_id, max_entries, max_bytes)
            if block is not None:
                self._count_stored(block)
                return block
            if at.ledger_id in self._ledgers:
                lost = Lost(at.ledger_id, 0, ledger.info.entries - 1)
                raise Damaged(ledger.path, 0, "ledger file is missing", lost)
            # The ledger was deleted in the meantime: continue after it.

    def _count_stored(self, block: Block) -> None:
        entries, size = len(block.starts), block.ends[-1] - block.starts[0]
        self._cache.traffic.misses.add(entries, size)
        if self.stored is None:
            self.stored = Rate(self._clock)
        self.stored.add(entries, size)

    async def find_by_time(self, publish_time_ms: int, start: Position | None = None) -> Position | None:
        first = start or Position(0, 0)
        for ledger_id in [ledger_id for ledger_id in self._order.ids if ledger_id >= first.ledger_id]:
            ledger = self._ledgers.get(ledger_id)
            if ledger is not None and ledger.info.entries and ledger.info.newest_ms >= publish_time_ms:
                from_entry = first.entry_id if ledger_id == first.ledger_id else 0
                entry_id = await self._reader.find_by_time(ledger, publish_time_ms, from_entry)
                if entry_id is not None:
                    return Position(ledger_id, entry_id)
        return None
