"""Counts the reads from the cache, those that had to wait, and the evictions, over about the last minute."""

from collections.abc import Iterator

from broker_core.clock import Clock
from broker_core.rates.rate import Rate


class CacheTraffic:
    """Entries and bytes for `hits` and `misses`; blocks, or what a group wrote to a ledger, for `evictions`."""

    def __init__(self, clock: Clock) -> None:
        self.hits = Rate(clock)
        self.misses = Rate(clock)
        self.evictions = Rate(clock)

    def rates(self) -> Iterator[Rate]:
        yield from (self.hits, self.misses, self.evictions)
