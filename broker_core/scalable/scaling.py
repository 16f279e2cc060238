"""Decides whether a segment of a topic is split, two of them merged, or some get more entry buckets. Pure.

A segment is split if a subscription has more registered consumers than the topic has active segments, or if one of its
rates is too high (PIP-483). Consumers that share segments split one only if it is busy; otherwise the segments get more
entry buckets once there are too few (PIP-486). Two neighbors are merged if all rates of both have been low for a while.
Unlike Apache Pulsar 5.0.0-M1, a merge leaves a segment for each consumer: otherwise the next split would undo it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from broker_core.scalable.buckets import MOST_BUCKETS

if TYPE_CHECKING:
    from broker_core.config.scaling import ScalingConfig
    from broker_core.scalable.layout import Layout, Segment

NEVER = -math.inf


class Load(NamedTuple):
    """Rates per second."""

    messages_in: float = 0.0
    bytes_in: float = 0.0
    messages_out: float = 0.0
    bytes_out: float = 0.0


NO_LOAD = Load()


class Split(NamedTuple):
    segment_id: int


class Merge(NamedTuple):
    first_id: int
    second_id: int


class Rebucket(NamedTuple):
    segment_ids: tuple[int, ...]
    buckets: int


class Readers(NamedTuple):
    """The registered consumers of the subscription with the most of them.

    `alone`: of those whose consumers have segments of their own. `sharing`: of those whose consumers share segments.
    """

    alone: int = 0
    sharing: int = 0


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision depends on, besides the settings; times are of a monotonic clock, in seconds.

    `loads`: of the active segments of which one is known. `cold_since`: when the rates of a segment became low, for
    those whose rates are low. `most_buckets`: that a segment may have.
    """

    layout: Layout
    loads: Mapping[int, Load]
    cold_since: Mapping[int, float]
    consumers: Readers
    now: float
    last_split: float = NEVER
    last_merge: float = NEVER
    last_rebucket: float = NEVER
    most_buckets: int = MOST_BUCKETS

    def load(self, segment: Segment) -> Load:
        return self.loads.get(segment.id, NO_LOAD)


def next_change(situation: Situation, rules: ScalingConfig) -> Split | Rebucket | Merge | None:
    if not rules.enabled:
        return None
    return _split(situation, rules) or _rebucket(situation, rules) or _merge(situation, rules)


def _split(situation: Situation, rules: ScalingConfig) -> Split | None:
    active = situation.layout.active
    if situation.now - situation.last_split < rules.split_cooldown_seconds or len(active) >= rules.max_segments:
        return None
    candidates = sorted((one for one in active if one.start < one.end), key=lambda one: one.id)
    load, readers = situation.load, situation.consumers
    busiest = max(candidates, key=lambda one: load(one).messages_in, default=None)
    if busiest is None:
        return None
    shares_a_busy_one = readers.sharing > len(active) and load(busiest).messages_in >= rules.busy_messages_in
    if readers.alone > len(active) or shares_a_busy_one:
        return Split(busiest.id)
    hottest = max(candidates, key=lambda one: _heat(load(one), rules))
    return Split(hottest.id) if _heat(load(hottest), rules) > 1 else None


def _rebucket(situation: Situation, rules: ScalingConfig) -> Rebucket | None:
    """All segments get as many buckets, a power of two, so that each consumer has one."""
    active, sharing = situation.layout.active, situation.consumers.sharing
    is_early = situation.now - situation.last_rebucket < rules.rebucket_cooldown_seconds
    if is_early or sharing <= sum(segment.buckets for segment in active):
        return None
    is_busy = any(situation.load(segment).messages_in >= rules.busy_messages_in for segment in active)
    if is_busy and len(active) < rules.max_segments:
        return None  # the next split helps
    buckets = min(situation.most_buckets, 1 << (math.ceil(sharing / len(active)) - 1).bit_length())
    too_few = tuple(sorted(segment.id for segment in active if segment.buckets < buckets))
    return Rebucket(too_few, buckets) if too_few else None


def _heat(load: Load, rules: ScalingConfig) -> float:
    """The highest of the four rates, where 1 is the one above which a segment is split."""
    return max(rate / limit for rate, limit in zip(load, split_limits(rules), strict=True))


def _merge(situation: Situation, rules: ScalingConfig) -> Merge | None:
    active = situation.layout.active
    is_early = situation.now - situation.last_merge < rules.merge_cooldown_seconds
    if is_early or len(active) <= max(rules.min_segments, situation.consumers.alone):
        return None
    depths, latest = merge_depths(situation.layout), situation.now - rules.merge_window_seconds

    def may_merge(segment: Segment) -> bool:
        is_cold = situation.cold_since.get(segment.id, math.inf) <= latest
        return is_cold and depths[segment.id] < rules.max_depth

    def load(pair: tuple[Segment, Segment]) -> float:
        return sum(sum(situation.loads[segment.id]) for segment in pair)

    pairs = [pair for pair in pairwise(active) if all(map(may_merge, pair)) and _leaves_buckets(situation, *pair)]
    quietest = min(pairs, key=load, default=None)
    return None if quietest is None else Merge(quietest[0].id, quietest[1].id)


def _leaves_buckets(situation: Situation, first: Segment, second: Segment) -> bool:
    """Whether as many consumers as now have a bucket after a merge, whose child may have fewer than both segments."""
    now, both = sum(segment.buckets for segment in situation.layout.active), first.buckets + second.buckets
    return now - max(0, both - situation.most_buckets) >= min(situation.consumers.sharing, now)


def merge_depths(layout: Layout) -> dict[int, int]:
    """For each segment, the most merges in a line from a segment without parents to it."""
    depths: dict[int, int] = {}
    for segment_id in sorted(layout.segments):  # parents have lower IDs than their children
        parents = layout.segments[segment_id].parents
        depths[segment_id] = max((depths[parent] for parent in parents), default=0) + (len(parents) > 1)
    return depths


def cold_since(
    before: Mapping[int, float], loads: Mapping[int, Load], now: float, rules: ScalingConfig
) -> dict[int, float]:
    """`Situation.cold_since` at a new moment; `before`: that at the previous one."""
    limits = merge_limits(rules)
    return {
        segment_id: before.get(segment_id, now)
        for segment_id, load in loads.items()
        if all(rate < limit for rate, limit in zip(load, limits, strict=True))
    }


def split_limits(rules: ScalingConfig) -> Load:
    return Load(rules.split_messages_in, rules.split_bytes_in, rules.split_messages_out, rules.split_bytes_out)


def merge_limits(rules: ScalingConfig) -> Load:
    return Load(rules.merge_messages_in, rules.merge_bytes_in, rules.merge_messages_out, rules.merge_bytes_out)
