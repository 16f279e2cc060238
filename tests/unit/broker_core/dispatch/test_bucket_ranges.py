"""Which consumer owns which entry buckets."""

import random
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.dispatch.bucket_ranges import BucketRanges
from broker_core.dispatch.hash_ranges import RANGE_SIZE, Range
from broker_core.errors import ConsumerAssignFailed
from broker_core.scalable.buckets import bucket_ranges, equal_buckets
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata


@dataclass(eq=False)
class Member:
    name: str
    consumer_id: int = 1


def buckets(count: int) -> list[Range]:
    return bucket_ranges(equal_buckets(count))


def shared_by(count: int, members: list[Member]) -> BucketRanges[Member]:
    ranges = BucketRanges[Member](buckets(count))
    for member in members:
        ranges.add(member, buckets(count))
    return ranges


def stamped(lowest: int) -> bytes:
    return build_entry(MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, entry_hash_min=lowest), b"")


def test_consumers_own_neighboring_buckets_in_the_order_of_their_names() -> None:
    b, a = Member("b"), Member("a")
    ranges = shared_by(4, [b, a])
    assert (ranges.of(a), ranges.of(b)) == ([(0, 0x7FFF)], [(0x8000, 0xFFFF)])
    ranges.remove(a)
    assert ranges.of(b) == [(0, 0xFFFF)]


def test_consumers_of_one_name_are_in_the_order_of_their_ids() -> None:
    second, first = Member("a", 10), Member("a", 9)
    assert shared_by(2, [second, first]).of(first) == [(0, 0x7FFF)]


def test_a_consumer_without_a_bucket_waits() -> None:
    members = [Member("a"), Member("b"), Member("c")]
    ranges = shared_by(2, members)
    assert [len(ranges.of(member)) for member in members] == [0, 1, 1]


@pytest.mark.parametrize(("lowest", "expected"), [(0, 1), (1, 1), (0x7FFF, 1), (0x8000, 0x8000), (70_000, 0x8000)])
def test_all_hashes_of_a_bucket_count_as_one(lowest: int, expected: int) -> None:
    entry = stamped(lowest)
    assert shared_by(2, [Member("a")]).entry_hash(entry, 0, len(entry)) == expected


@pytest.mark.parametrize(
    ("ranges", "reason"),
    [
        ([], "must name all of them"),
        ([(1, 0xFFFF)], "begins with 0"),
        ([(0, 0x3FFF), (0x5000, 0xFFFF)], "begins with 16384"),
        ([(0, 0x7FFF), (0x4000, 0xFFFF)], "begins with 32768"),
        ([(0, 0x3FFF), (0x4000, 0x2000)], "begins with 16384"),
        ([(0, 0x7FFF)], "must end with 65535, not 32767"),
        ([(0, 0), (1, 0xFFFF)], "must have more hashes than 0"),
        ([(0, 0xFFFF)], "not those of the other consumers"),
    ],
)
def test_a_list_that_is_not_that_of_the_segment_is_refused(ranges: list[Range], reason: str) -> None:
    with pytest.raises(ConsumerAssignFailed, match=reason):
        shared_by(2, [Member("a")]).add(Member("b"), ranges)


@given(st.integers(1, 64), st.lists(st.sampled_from("abcdef"), max_size=12), st.randoms(use_true_random=False))
def test_buckets_are_shared_equally_in_any_order_of_arrival(count: int, names: list[str], order: random.Random) -> None:
    members = [Member(name, number) for number, name in enumerate(names)]
    shuffled = order.sample(members, len(members))
    ranges = shared_by(count, shuffled)
    owners = [ranges.owner(max(first, 1)) for first, _last in buckets(count)]
    assert owners == [ranges.owner(last) for _first, last in buckets(count)]
    counts = Counter(owners)
    if members:
        assert max(counts.values()) - min(counts[member] for member in members) <= 1
        assert owners == sorted(owners, key=lambda one: (one.name, one.consumer_id) if one else ("", 0))
    else:
        assert owners == [None] * count
    assert buckets(count)[-1][1] == RANGE_SIZE - 1
