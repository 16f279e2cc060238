"""Entry buckets: consumers share a segment by them (PIP-486). Pure.

Buckets divide the low halves of the hashes of keys; the high half chooses the segment. Producers put the messages of
one bucket into a batch, so that the broker can deliver whole entries.
"""

from __future__ import annotations

from itertools import pairwise

HASHES = 1 << 16
MOST_BUCKETS = 1024
"""The limit for a segment, unless `scalableTopicEntryBucketMaxPerSegment` is another number."""


def equal_buckets(count: int) -> tuple[int, ...]:
    """The first hashes of all buckets but the first one, which begins with 0."""
    return tuple(HASHES * bucket // count for bucket in range(1, count))


def bucket_ranges(splits: tuple[int, ...]) -> list[tuple[int, int]]:
    """The first and the last hash of each bucket."""
    return [(start, end - 1) for start, end in pairwise((0, *splits, HASHES))]


def share_of_budget(budget: int, segments: int, most: int = MOST_BUCKETS) -> int:
    """The number of buckets of each new segment, if all together have `budget`."""
    return max(1, min(budget // segments, most))
