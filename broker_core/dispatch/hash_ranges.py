"""Which consumer owns which hashes (docs/reference/protocol.md "Key_Shared hash ranges"). Pure.

A hash is `key_hash` of the key modulo `size`, plus `first`; 0 is never a hash. Every algorithm
makes one sorted table: the last hash of each range, and its owner.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, Protocol, TypeVar

from broker_core.errors import ConsumerAssignFailed
from broker_core.wire.sticky_key import key_hash, sticky_key

RANGE_SIZE = 65_536

Range = tuple[int, int]  # first and last hash, both included


class KeySharedMode(NamedTuple):
    """How a consumer wants keys to be divided; all consumers of a subscription must agree on all but `ranges`."""

    sticky: bool = False
    out_of_order: bool = False
    ranges: tuple[Range, ...] = ()  # the hashes of a sticky consumer; all entry buckets with `buckets`
    buckets: bool = False  # the broker divides entry buckets (`dispatch.bucket_ranges`)

    def agrees_with(self, other: KeySharedMode) -> bool:
        return self._replace(ranges=()) == other._replace(ranges=())


AUTO_SPLIT = KeySharedMode()


class Named(Protocol):
    @property
    def name(self) -> str: ...


Owner = TypeVar("Owner", bound=Named)


class HashRanges(ABC, Generic[Owner]):
    first = 0
    size = RANGE_SIZE

    def __init__(self) -> None:
        self._lasts: list[int] = []  # of the ranges, ascending
        self._owners: list[Owner | None] = []

    def hash_of(self, key: bytes) -> int:
        return key_hash(key) % self.size + self.first or 1

    def entry_hash(self, data: bytes, start: int, end: int) -> int:
        """The hash of the entry `data[start:end]`, by its key."""
        return key_hash(sticky_key(data, start, end)) % self.size + self.first or 1

    def owner(self, sticky_hash: int) -> Owner | None:
        """The owner of the hash; None if it has none."""
        index = bisect_left(self._lasts, sticky_hash)
        return self._owners[index] if index < len(self._owners) else self._owner_beyond(sticky_hash)

    def _owner_beyond(self, sticky_hash: int) -> Owner | None:
        """The owner of a hash after the end of the table."""
        return None

    def of(self, consumer: Owner) -> list[Range]:
        """The ranges that the consumer owns, ascending, neighbors joined."""
        return self.by_owner().get(consumer, [])

    def by_owner(self) -> dict[Owner, list[Range]]:
        """The ranges of all consumers, in one pass over the table."""
        owned: dict[Owner, list[Range]] = {}
        start = self.first
        for last, owner in zip(self._lasts, self._owners, strict=True):
            last = min(last, self.first + self.size - 1)
            if owner is not None and start <= last:
                ranges = owned.setdefault(owner, [])
                joined = ranges.pop()[0] if ranges and ranges[-1][1] == start - 1 else start
                ranges.append((joined, last))
            start = last + 1
        return owned

    def conflicts(self, ranges: Sequence[Range]) -> list[Owner]:
        """The owners whose ranges overlap the given ones."""
        return []

    @abstractmethod
    def add(self, consumer: Owner, ranges: Sequence[Range] = ()) -> None:
        """Gives a newcomer its share. Raises `ConsumerAssignFailed` and changes nothing when there is none."""

    @abstractmethod
    def remove(self, consumer: Owner) -> None:
        """Gives its hashes to other consumers, or leaves them without an owner."""


class SplitRanges(HashRanges[Owner]):
    """A newcomer gets the lower half of the widest range (`subscriptionKeySharedUseConsistentHashing=false`)."""

    def add(self, consumer: Owner, ranges: Sequence[Range] = ()) -> None:
        if not self._lasts:
            self._lasts, self._owners = [RANGE_SIZE], [consumer]
            return
        lowers = [0, *self._lasts[:-1]]
        index = max(range(len(lowers)), key=lambda row: (self._lasts[row] - lowers[row], -row))
        width = self._lasts[index] - lowers[index]
        if width <= 1:
            raise ConsumerAssignFailed("There are as many consumers as hashes; none is left for this one")
        self._lasts.insert(index, self._lasts[index] - (width >> 1))
        self._owners.insert(index, consumer)

    def remove(self, consumer: Owner) -> None:
        index = self._owners.index(consumer)
        if index == len(self._owners) - 1 and index > 0:
            self._lasts[index - 1] = RANGE_SIZE  # the end must have an owner
        del self._lasts[index], self._owners[index]


class ConsistentRanges(HashRanges[Owner]):
    """A ring on which every consumer has the same number of points; a hash belongs to the next point.

    A point is made of the consumer's name and the lowest number that no other consumer of that name has, so that
    one that comes back gets its points again. The first to have a point keeps it; others there inherit it.

    The table is made when it is asked for: thousands of consumers that come or go together cost one table.
    """

    first = 1
    size = RANGE_SIZE - 1

    def __init__(self, points: int) -> None:
        super().__init__()
        self._points_each = points
        self._ring: dict[int, list[Owner]] = {}
        self._numbers: dict[Owner, int] = {}
        self._taken: dict[str, set[int]] = {}  # numbers by name
        self._is_stale = False

    def add(self, consumer: Owner, ranges: Sequence[Range] = ()) -> None:
        taken = self._taken.setdefault(consumer.name, set())
        number = next(free for free in range(len(taken) + 1) if free not in taken)
        self._numbers[consumer] = number
        taken.add(number)
        for point in self._points(consumer.name, number):
            there = self._ring.setdefault(point, [])
            if consumer not in there:
                there.append(consumer)
        self._forget_table()

    def remove(self, consumer: Owner) -> None:
        number = self._numbers.pop(consumer)
        self._free(consumer.name, number)
        for point in self._points(consumer.name, number):
            there = self._ring.get(point, [])
            if consumer in there:
                there.remove(consumer)
            if not there:
                self._ring.pop(point, None)
        self._forget_table()

    def _free(self, name: str, number: int) -> None:
        self._taken[name].remove(number)
        if not self._taken[name]:
            del self._taken[name]

    def _points(self, name: str, number: int) -> list[int]:
        return [self.hash_of(f"{name}\0{number}\0{point}".encode()) for point in range(self._points_each)]

    def _forget_table(self) -> None:
        """Without a table every hash is beyond its end, so that `owner` need not ask whether it is stale."""
        self._lasts, self._owners, self._is_stale = [], [], True

    def _owner_beyond(self, sticky_hash: int) -> Owner | None:
        if not self._is_stale:
            return None
        self._lay_out()
        return self.owner(sticky_hash)

    def by_owner(self) -> dict[Owner, list[Range]]:
        if self._is_stale:
            self._lay_out()
        return super().by_owner()

    def _lay_out(self) -> None:
        self._is_stale = False
        self._lasts = sorted(self._ring)
        self._owners = [self._ring[point][0] for point in self._lasts]
        if self._lasts and self._lasts[-1] < RANGE_SIZE - 1:  # after the last point the ring begins again
            self._lasts.append(RANGE_SIZE - 1)
            self._owners.append(self._owners[0])


class StickyRanges(HashRanges[Owner]):
    """The consumers name their hashes. Entries of other hashes wait until a consumer names theirs."""

    def __init__(self) -> None:
        super().__init__()
        self._ranges_of: dict[Owner, list[Range]] = {}

    def add(self, consumer: Owner, ranges: Sequence[Range] = ()) -> None:
        check_ranges(ranges)
        if others := self.conflicts(ranges):
            raise ConsumerAssignFailed(f"Range conflict with consumer {others[0].name}")
        self._ranges_of[consumer] = sorted(ranges)
        self._lay_out()

    def remove(self, consumer: Owner) -> None:
        del self._ranges_of[consumer]
        self._lay_out()

    def conflicts(self, ranges: Sequence[Range]) -> list[Owner]:
        """Makes one pass over both, however many ranges there are, because the table and the ranges are sorted."""
        lasts, owners, row = self._lasts, dict[Owner, None](), 0
        for first, last in sorted(ranges):
            row = max(row, bisect_left(lasts, first))
            while row < len(lasts) and (lasts[row - 1] + 1 if row else 0) <= last:
                owner = self._owners[row]
                if owner is not None:
                    owners[owner] = None
                row += 1
        return list(owners)

    def _lay_out(self) -> None:
        self._lasts, self._owners = [], []
        next_hash = 0
        for (first, last), owner in sorted(
            ((hashes, owner) for owner, ranges in self._ranges_of.items() for hashes in ranges),
            key=lambda pair: pair[0],
        ):
            if first > next_hash:
                self._lasts.append(first - 1)
                self._owners.append(None)
            self._lasts.append(last)
            self._owners.append(owner)
            next_hash = last + 1


def check_ranges(ranges: Sequence[Range]) -> None:
    """Raises `ConsumerAssignFailed` unless these are ranges of hashes that do not overlap."""
    if not ranges:
        raise ConsumerAssignFailed("Ranges for KeyShared policy must not be empty.")
    for first, last in ranges:
        if not 0 <= first <= last < RANGE_SIZE:
            raise ConsumerAssignFailed(f"[{first}, {last}] is not a range of hashes from 0 to {RANGE_SIZE - 1}")
    for (_, last), (first, _) in pairwise(sorted(ranges)):
        if first <= last:
            raise ConsumerAssignFailed("Ranges for KeyShared policy with overlap.")
