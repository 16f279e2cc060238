"""The counts of one subscription in one partition: a partial result that merges. Pure.

Counts of messages, bytes, and entries are exact. `keys` and `producers` are exact while there are few different ones;
see `heavy_hitters`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from pulsarctl.backlog.heavy_hitters import DistinctCount, HeavyHitters
from pulsarctl.backlog.timeline import Timeline

AGE_LIMITS_SECONDS = (60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)
"""Upper limits, excluded, of the histogram's buckets. One more bucket holds what is older."""

AGE_NAMES = ("1m", "10m", "1h", "6h", "1d", "7d", "30d", "older")
SIZE_BUCKETS = 33  # bucket i holds sizes of i bits: 0, 1, 2-3, 4-7, and so on
LARGEST_KEPT = 10
BLOCKS_MAX = 1024


class LargeMessage(NamedTuple):
    size: int
    ledger_id: int
    entry_id: int
    batch_index: int
    partition: str
    producer: str
    publish_time_ms: int


class BacklogRun(NamedTuple):
    """A run of the backlog, oldest first: what a quota would evict from the front."""

    ledger_id: int
    entry_id: int
    messages: int
    bytes: int


@dataclass(slots=True)
class Tally:
    """`bytes` are stored ones. `expired` is older than the TTL that was asked for; `delayed` is not due yet."""

    messages: int = 0
    entries: int = 0
    bytes: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None
    ages: list[int] = field(default_factory=lambda: [0] * len(AGE_NAMES))
    age_bytes: list[int] = field(default_factory=lambda: [0] * len(AGE_NAMES))
    delayed_messages: int = 0
    delayed_bytes: int = 0
    expired_messages: int = 0
    expired_bytes: int = 0
    sizes: list[int] = field(default_factory=lambda: [0] * SIZE_BUCKETS)
    keyed_messages: int = 0
    opaque_messages: int = 0
    keys: HeavyHitters = field(default_factory=HeavyHitters)
    distinct_keys: DistinctCount = field(default_factory=DistinctCount)
    producers: HeavyHitters = field(default_factory=HeavyHitters)
    schema_versions: HeavyHitters = field(default_factory=HeavyHitters)
    timeline: Timeline = field(default_factory=Timeline)
    largest: list[LargeMessage] = field(default_factory=list)
    blocks: list[BacklogRun] = field(default_factory=list)

    def merge(self, other: "Tally") -> None:
        """`other` is of later entries of the same partition, or of another partition."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _HISTOGRAMS:
            setattr(self, name, [a + b for a, b in zip(getattr(self, name), getattr(other, name), strict=True)])
        for name in _SUMMARIES:
            getattr(self, name).merge(getattr(other, name))
        self.seen(other.oldest_ms, other.newest_ms)
        self.keep_largest(other.largest)
        self.add_blocks(other.blocks)

    def seen(self, oldest_ms: int | None, newest_ms: int | None) -> None:
        if oldest_ms is not None:
            self.oldest_ms = oldest_ms if self.oldest_ms is None else min(self.oldest_ms, oldest_ms)
        if newest_ms is not None:
            self.newest_ms = newest_ms if self.newest_ms is None else max(self.newest_ms, newest_ms)

    def keep_largest(self, more: list[LargeMessage]) -> None:
        self.largest = sorted([*self.largest, *more], key=lambda message: (-message.size, message))[:LARGEST_KEPT]

    def add_blocks(self, more: list[BacklogRun]) -> None:
        """Joins neighbors when there are too many."""
        blocks = self.blocks + more
        while len(blocks) > BLOCKS_MAX:
            blocks = [joined(blocks[index : index + 2]) for index in range(0, len(blocks), 2)]
        self.blocks = blocks


_SUMS = (
    "messages",
    "entries",
    "bytes",
    "delayed_messages",
    "delayed_bytes",
    "expired_messages",
    "expired_bytes",
    "keyed_messages",
    "opaque_messages",
)
_HISTOGRAMS = ("ages", "age_bytes", "sizes")
_SUMMARIES = ("keys", "distinct_keys", "producers", "schema_versions", "timeline")


def joined(blocks: list[BacklogRun]) -> BacklogRun:
    first = blocks[0]
    return first._replace(messages=sum(block.messages for block in blocks), bytes=sum(block.bytes for block in blocks))
