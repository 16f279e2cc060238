"""Which consumer of a Failover subscription is active."""

from dataclasses import dataclass

import pytest

from broker_core.dispatch.active_consumer import active_consumer


@dataclass(frozen=True)
class Member:
    name: str
    priority: int = 0


def active(*members: Member, partition: int = -1, topic: str = "t1", ring: bool = False) -> str:
    topic = f"persistent://public/default/{topic}"
    return active_consumer(members, topic, partition, consistent_hashing=ring).name


C1, C2, C3 = Member("c1"), Member("c2"), Member("c3")


@pytest.mark.parametrize(("partition", "name"), [(0, "c1"), (1, "c2"), (2, "c3"), (3, "c1")])
def test_partitions_take_the_names_in_turn(partition: int, name: str) -> None:
    assert active(C3, C1, C2, partition=partition) == name


@pytest.mark.parametrize(("topic", "name"), [("t1", "c1"), ("t2", "c1"), ("orders", "c3"), ("a", "c3")])
def test_a_topic_without_partitions_is_placed_on_a_ring(topic: str, name: str) -> None:
    assert active(C1, C2, C3, topic=topic) == name


def test_partitions_may_be_placed_on_the_ring_too() -> None:
    assert active(C1, C2, C3, topic="orders", partition=0, ring=True) == "c3"


def test_only_consumers_with_the_lowest_priority_number_are_considered() -> None:
    assert active(Member("a", 1), Member("z", 0), Member("y", 0), partition=0) == "y"
    assert active(Member("a", 1), Member("z", 0), partition=5) == "z"
