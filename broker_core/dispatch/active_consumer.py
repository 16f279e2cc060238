"""Which consumer of a Failover subscription is the active one (docs/reference/protocol.md "Active consumer"). Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

from broker_core.wire.sticky_key import key_hash

POINTS = 100  # of a consumer on the ring


class Candidate(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def priority(self) -> int: ...


Member = TypeVar("Member", bound=Candidate)


def in_order(consumers: Iterable[Member]) -> list[Member]:
    """The consumers by priority, the lowest number first, and by name within one priority; stable."""
    return sorted(consumers, key=lambda consumer: (consumer.priority, consumer.name))


def active_consumer(consumers: Sequence[Member], topic: str, partition: int, *, consistent_hashing: bool) -> Member:
    """The active consumer of at least one.

    Among those with the lowest priority number, each partition takes one by its own number. On a topic without
    partitions, or with `consistent_hashing`, the name of the topic finds one on a ring of the consumers' names.
    """
    group = [member for member in in_order(consumers) if member.priority == min(other.priority for other in consumers)]
    if partition >= 0 and not consistent_hashing:
        return group[partition % len(group)]
    return group[_place_on_ring(tuple(member.name for member in group), topic)]


@lru_cache(maxsize=64)
def _place_on_ring(names: tuple[str, ...], topic: str) -> int:
    points = {key_hash(f"{name}{point}".encode()): index for index, name in enumerate(names) for point in range(POINTS)}
    ring = sorted(points)
    at = bisect_left(ring, key_hash(topic.encode()))
    return points[ring[at if at < len(ring) else 0]]
