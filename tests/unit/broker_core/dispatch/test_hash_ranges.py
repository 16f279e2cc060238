"""Which consumer of a Key_Shared subscription owns which hashes."""

import time
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.dispatch.hash_ranges import (
    RANGE_SIZE,
    ConsistentRanges,
    HashRanges,
    Range,
    SplitRanges,
    StickyRanges,
)
from broker_core.errors import ConsumerAssignFailed


@dataclass(eq=False)
class Member:
    name: str


def owner_name(ranges: HashRanges[Member], key: str) -> str:
    owner = ranges.owner(ranges.hash_of(key.encode()))
    assert owner is not None
    return owner.name


def split(*names: str) -> tuple[SplitRanges[Member], list[Member]]:
    ranges, members = SplitRanges[Member](), [Member(name) for name in names]
    for member in members:
        ranges.add(member)
    return ranges, members


def ring(*names: str, points: int = 100) -> tuple[ConsistentRanges[Member], list[Member]]:
    ranges, members = ConsistentRanges[Member](points), [Member(name) for name in names]
    for member in members:
        ranges.add(member)
    return ranges, members


def test_a_new_consumer_gets_the_lower_half_of_the_widest_range() -> None:
    ranges, (c1, c2, c3, c4) = split("c1", "c2", "c3", "c4")
    assert ranges.of(c3) == [(0, 16384)]
    assert ranges.of(c2) == [(16385, 32768)]
    assert ranges.of(c4) == [(32769, 49152)]
    assert ranges.of(c1) == [(49153, 65535)]


def test_keys_of_split_ranges_have_the_owners_that_the_rules_give() -> None:
    ranges, _ = split("c1", "c2", "c3")
    owners = {key: owner_name(ranges, key) for key in ("key1", "orders-1", "k1", "test-key", "key-0")}
    assert owners == {"key1": "c3", "orders-1": "c3", "k1": "c2", "test-key": "c1", "key-0": "c1"}


def test_the_next_higher_neighbor_absorbs_a_split_range() -> None:
    ranges, (c1, c2, c3) = split("c1", "c2", "c3")
    ranges.remove(c2)
    assert ranges.of(c1) == [(16385, 65535)]
    ranges.remove(c1)
    assert ranges.of(c3) == [(0, 65535)]


def test_keys_on_the_ring_have_the_owners_that_the_rules_give() -> None:
    ranges, _ = ring("c1", "c2", "c3")
    wanted = {"key1": "c1", "key-0": "c3", "k1": "c3", "test-key": "c3", "my-key": "c3", "NONE_KEY": "c3"}
    assert {key: owner_name(ranges, key) for key in wanted} == wanted


def test_the_points_on_the_ring_are_those_that_the_rules_give() -> None:
    first, again = ring("c1", points=2)[0], ring("c1", points=1)[0]
    assert sorted(first._ring) == [34662, 61273]
    again.add(Member("c1"))
    assert sorted(again._ring) == [34662, 50223]


def test_a_consumer_that_rejoins_the_ring_gets_its_ranges_back() -> None:
    ranges, (c1, _, _) = ring("c1", "c2", "c1")
    before = ranges.of(c1)
    ranges.remove(c1)
    back = Member("c1")
    ranges.add(back)
    assert ranges.of(back) == before


def test_a_shared_point_is_inherited() -> None:
    ranges, members = ring(*[f"c{index}" for index in range(60)])
    shared = {point: list(there) for point, there in ranges._ring.items() if len(there) > 1}
    assert shared
    point, there = next(iter(shared.items()))
    assert ranges.owner(point) is there[0]
    ranges.remove(there[0])
    assert ranges.owner(point) is there[1]
    for member in members:
        if member is not there[0]:
            ranges.remove(member)
    assert ranges.owner(1) is None


def test_unclaimed_sticky_hashes_have_no_owner() -> None:
    ranges, low, high = StickyRanges[Member](), Member("low"), Member("high")
    ranges.add(low, [(10, 20), (21, 21)])
    ranges.add(high, [(100, 65535)])
    assert [ranges.owner(one) for one in (1, 9, 10, 21, 22, 99, 100, 65535)] == [
        None, None, low, low, None, None, high, high,
    ]  # fmt: skip
    assert ranges.of(low) == [(10, 21)]
    ranges.remove(low)
    assert ranges.owner(15) is None


@pytest.mark.parametrize("wanted", [[], [(5, 4)], [(-1, 4)], [(0, 65536)], [(0, 10), (10, 20)], [(5, 9), (0, 30)]])
def test_invalid_sticky_ranges_are_refused(wanted: list[Range]) -> None:
    with pytest.raises(ConsumerAssignFailed):
        StickyRanges[Member]().add(Member("c"), wanted)


@pytest.mark.parametrize("wanted", [[(20, 30)], [(0, 10)], [(12, 13)], [(0, 65535)], [(40, 50), (15, 15)]])
def test_a_sticky_range_of_another_consumer_is_refused(wanted: list[Range]) -> None:
    ranges = StickyRanges[Member]()
    ranges.add(Member("first"), [(10, 20)])
    with pytest.raises(ConsumerAssignFailed, match="first"):
        ranges.add(Member("second"), wanted)


joins = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=30)


@given(st.sampled_from(["split", "ring"]), joins)
def test_every_hash_has_one_owner_as_long_as_there_is_a_consumer(kind: str, moves: list[tuple[bool, int]]) -> None:
    ranges: HashRanges[Member] = SplitRanges() if kind == "split" else ConsistentRanges(5)
    members: list[Member] = []
    for joins_now, which in moves:
        if joins_now or not members:
            members.append(Member(f"c{which}"))
            ranges.add(members[-1])
        else:
            ranges.remove(members.pop(which % len(members)))
    owned = sorted((first, last) for member in members for first, last in ranges.of(member))
    assert not members or (owned[0][0], owned[-1][1]) == (ranges.first, RANGE_SIZE - 1)
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(owned))
    for member in members:
        for first, last in ranges.of(member):
            assert ranges.owner(first) is ranges.owner(last) is member


@given(st.integers(1, 12))
def test_a_join_moves_hashes_only_to_the_new_consumer(count: int) -> None:
    ranges, _ = ring(*[f"c{index}" for index in range(count)], points=20)
    before = [ranges.owner(one) for one in range(1, RANGE_SIZE, 97)]
    newcomer = Member("new")
    ranges.add(newcomer)
    after = [ranges.owner(one) for one in range(1, RANGE_SIZE, 97)]
    assert all(now is was or now is newcomer for was, now in zip(before, after, strict=True))


def test_conflicts_of_many_ranges_are_found_in_one_pass() -> None:
    """Comparing every pair of ranges would take minutes here."""
    ranges, even, odd = StickyRanges[Member](), Member("even"), Member("odd")
    before = time.process_time()
    ranges.add(even, [(number, number) for number in range(0, RANGE_SIZE, 2)])
    ranges.add(odd, [(number, number) for number in range(1, RANGE_SIZE, 2)])
    assert ranges.conflicts([(0, RANGE_SIZE - 1)] * 4096) == [even, odd]
    assert ranges.by_owner()[odd][0] == (1, 1)
    assert time.process_time() - before < 2


single = st.tuples(st.integers(0, 99), st.integers(0, 9)).map(lambda one: (one[0], one[0] + one[1]))


@given(st.lists(single, max_size=8), st.lists(single, max_size=8))
def test_conflicts_are_the_owners_of_a_requested_hash(offered: list[Range], wanted: list[Range]) -> None:
    ranges, owners = StickyRanges[Member](), dict[int, Member]()
    for number, one in enumerate(offered):
        if not any(sticky_hash in owners for sticky_hash in range(one[0], one[1] + 1)):
            member = Member(str(number))
            ranges.add(member, [one])
            owners.update(dict.fromkeys(range(one[0], one[1] + 1), member))
    hashes = {sticky_hash for first, last in wanted for sticky_hash in range(first, last + 1)}
    expected = {owner.name for sticky_hash, owner in owners.items() if sticky_hash in hashes}
    assert {owner.name for owner in ranges.conflicts(wanted)} == expected
