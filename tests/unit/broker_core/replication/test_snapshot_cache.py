"""Which snapshots a replicated subscription keeps, and which it passes."""

from itertools import pairwise

from broker_core.replication.snapshot_cache import SnapshotCache
from broker_core.storage.records.position import LATEST, Position


def filled(most: int, entries: range) -> SnapshotCache:
    cache = SnapshotCache(most)
    for entry in entries:
        cache.add(Position(1, entry), entry, {"east": (7, entry)})
    return cache


def kept(cache: SnapshotCache) -> list[int]:
    """The entries of the snapshots, found by passing one after the other."""
    found = []
    while cache.first < LATEST:
        found.append(cache.first.entry_id)
        cache.pass_to(cache.first)
    return found


def test_the_highest_passed_snapshot_counts_and_lower_ones_are_forgotten() -> None:
    cache = filled(10, range(0, 50, 10))
    assert cache.pass_to(Position(1, 25)) == {"east": (7, 20)}
    assert kept(cache) == [30, 40]


def test_nothing_is_passed_before_the_first_snapshot() -> None:
    cache = filled(10, range(10, 30, 10))
    assert cache.pass_to(Position(1, 9)) is None
    assert len(cache) == 2


def test_a_snapshot_that_was_passed_does_not_count_again_after_a_redelivery() -> None:
    cache = filled(10, range(0, 30, 10))
    cache.pass_to(Position(1, 25))
    cache.add(Position(1, 10), 10, {"east": (7, 10)})
    assert cache.pass_to(Position(1, 99)) is None


def test_a_full_cache_stays_spread_over_the_backlog() -> None:
    found = kept(filled(5, range(101)))
    assert (found[0], found[-1]) == (0, 100)
    gaps = [after - before for before, after in pairwise(found)]
    assert max(gaps) <= 64
    assert min(gaps) >= 1
    assert len(found) == 5


def test_the_same_snapshot_is_kept_once() -> None:
    cache = filled(10, range(0, 20, 10))
    cache.add(Position(1, 10), 10, {"east": (7, 10)})
    assert len(cache) == 2


def test_a_snapshot_from_before_is_inserted_in_order() -> None:
    cache = filled(10, range(10, 30, 10))
    cache.add(Position(1, 5), 5, {"east": (7, 5)})
    assert kept(cache) == [5, 10, 20]
