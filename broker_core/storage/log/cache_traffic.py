"""What readers found in the cache, what they had to wait for, and what was evicted, over about the last minute."""

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
