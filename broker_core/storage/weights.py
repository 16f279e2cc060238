"""How many messages and bytes ranges of entries hold, from span totals and the tables of cached blocks.

Only the two ends of a range need their entries looked at; what lies between is known per span. Where an entry is
not cached the answer is an estimate (`exact` False) until `load` has read the spans concerned.
"""

from collections.abc import Awaitable, Callable, Iterable

from broker_core.storage.block import Block
from broker_core.storage.cache import BlockCache
from broker_core.storage.ledger_file import Ledger

Range = tuple[int, int]
_NOTHING = (0, 0)


class Weights:
    def __init__(
        self,
        ledgers: dict[int, Ledger],
        cache: BlockCache,
        read_span: Callable[[Ledger, int], Awaitable[Block | None]],
    ) -> None:
        self._ledgers = ledgers
        self._cache = cache
        self._read_span = read_span

    def weigh(self, ledger_id: int, ranges: Iterable[Range]) -> tuple[int, int, bool]:
        """Messages and bytes of the entries in `ranges` ([a, b), ascending), and whether that is exact."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            return 0, 0, False
        messages = size = 0
        exact = True
        for a, b in ranges:
            low, high = self._before(ledger, a), self._before(ledger, b)
            if low is None or high is None:
                exact = False
                info = ledger.info
                share = (b - a) / max(1, info.entries)
                messages += round(info.messages * share)
                size += round(info.size * share)
            else:
                messages += high[0] - low[0]
                size += high[1] - low[1]
        return messages, size, exact

    async def load(self, ledger_id: int, ranges: Iterable[Range]) -> None:
        """Bring what `weigh` needs for `ranges` into memory."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            return
        for a, b in ranges:
            for entry_id in (a, b):
                if self._before(ledger, entry_id) is None:
                    await self._read_span(ledger, entry_id)

    def _before(self, ledger: Ledger, entry_id: int) -> tuple[int, int] | None:
        """Messages and bytes of the ledger's entries below `entry_id`; None when an entry is not at hand."""
        info = ledger.info
        if entry_id <= 0:
            return _NOTHING
        if entry_id >= info.entries:
            return info.messages, info.size
        spans = ledger.spans
        if spans is None:
            return None
        span = spans.find(entry_id)
        messages, size = spans.messages_before[span], spans.bytes_before[span]
        at = spans.first[span]
        while at < entry_id:
            block = self._cache.around(ledger, at)
            if block is None:
                return None
            a = at - block.first_entry_id
            b = min(len(block), entry_id - block.first_entry_id)
            messages += sum(block.counts[a:b])
            size += sum(block.ends[a:b]) - sum(block.starts[a:b])
            at = block.first_entry_id + b
        return messages, size
