"""Which consumer owns which entry buckets of a segment (PIP-486). Pure.

Every consumer of a subscription names all buckets of the segment, which never change. The consumers, in the order of
their names, have neighboring buckets in shares that differ by at most one. All hashes of a bucket count as one, so
Key_Shared hands over whole buckets: a bucket waits until its previous owner has acknowledged what it has of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol, TypeVar

from broker_core.dispatch.hash_ranges import RANGE_SIZE, HashRanges, Range
from broker_core.errors import ConsumerAssignFailed
from broker_core.wire.bucket_hash import bucket_hash


class Member(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def consumer_id(self) -> int: ...


Owner = TypeVar("Owner", bound=Member)


class BucketRanges(HashRanges[Owner]):
    def __init__(self, buckets: Sequence[Range]) -> None:
        """`buckets`: those of the first consumer; `add` checks them."""
        super().__init__()
        self._buckets = tuple(buckets)
        self._members: list[Owner] = []
        self._lasts = [last for _first, last in buckets]
        self._owners = [None] * len(buckets)

    def entry_hash(self, data: bytes, start: int, end: int) -> int:
        """The hash of its bucket: the first one, but 0 is never a hash."""
        bucket = bisect_left(self._lasts, bucket_hash(data, start, end), hi=len(self._lasts) - 1)
        return max(self._buckets[bucket][0], 1)

    def add(self, consumer: Owner, ranges: Sequence[Range] = ()) -> None:
        check_buckets(ranges)
        if tuple(ranges) != self._buckets:
            raise ConsumerAssignFailed("The entry buckets are not those of the other consumers of the subscription")
        self._members.append(consumer)
        self._lay_out()

    def remove(self, consumer: Owner) -> None:
        self._members.remove(consumer)
        self._lay_out()

    def _lay_out(self) -> None:
        self._members.sort(key=lambda member: (member.name, member.consumer_id))
        buckets, members = len(self._buckets), len(self._members)
        self._owners = [None] * buckets
        for index, member in enumerate(self._members):
            first, after = index * buckets // members, (index + 1) * buckets // members
            self._owners[first:after] = [member] * (after - first)


def check_buckets(ranges: Sequence[Range]) -> None:
    """Raises `ConsumerAssignFailed` unless these are all hashes, in ascending order and without a gap."""
    if not ranges:
        raise ConsumerAssignFailed("A consumer of entry buckets must name all of them")
    following = 0
    for first, last in ranges:
        if first != following or last < first:
            raise ConsumerAssignFailed(f"[{first}, {last}] is not an entry bucket that begins with {following}")
        following = last + 1
    if following != RANGE_SIZE:
        raise ConsumerAssignFailed(f"The entry buckets must end with {RANGE_SIZE - 1}, not {following - 1}")
    if ranges[0][1] < 1:
        raise ConsumerAssignFailed("The first entry bucket must have more hashes than 0")
