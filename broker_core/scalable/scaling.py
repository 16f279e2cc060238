"""Decides whether a segment of a topic is split, or two of them merged (PIP-483). Pure.

A segment is split if a subscription has more registered consumers than the topic has active segments, or if one of its
rates is too high. Two neighbors are merged if all rates of both have been low for a while. Unlike Apache Pulsar
5.0.0-M1, a merge leaves a segment for each consumer: otherwise the next split would undo it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

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


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision depends on, besides the settings; times are of a monotonic clock, in seconds.

    `loads`: of the active segments of which one is known. `cold_since`: when the rates of a segment became low, for
    those whose rates are low. `consumers`: the most that a subscription has.
    """

    layout: Layout
    loads: Mapping[int, Load]
    cold_since: Mapping[int, float]
    consumers: int
    now: float
    last_split: float = NEVER
    last_merge: float = NEVER


def next_change(situation: Situation, rules: ScalingConfig) -> Split | Merge | None:
    if not rules.enabled:
        return None
    return _split(situation, rules) or _merge(situation, rules)


def _split(situation: Situation, rules: ScalingConfig) -> Split | None:
    active = situation.layout.active
    if situation.now - situation.last_split < rules.split_cooldown_seconds or len(active) >= rules.max_segments:
        return None
    candidates = sorted((one for one in active if one.start < one.end), key=lambda one: one.id)

    def load(segment: Segment) -> Load:
        return situation.loads.get(segment.id, NO_LOAD)

    if candidates and situation.consumers > len(active):
        return Split(max(candidates, key=lambda one: load(one).messages_in).id)
    hottest = max(candidates, key=lambda one: _heat(load(one), rules), default=None)
    return Split(hottest.id) if hottest is not None and _heat(load(hottest), rules) > 1 else None


def _heat(load: Load, rules: ScalingConfig) -> float:
    """The highest of the four rates, where 1 is the one above which a segment is split."""
    return max(rate / limit for rate, limit in zip(load, split_limits(rules), strict=True))


def _merge(situation: Situation, rules: ScalingConfig) -> Merge | None:
    active = situation.layout.active
    is_early = situation.now - situation.last_merge < rules.merge_cooldown_seconds
    if is_early or len(active) <= max(rules.min_segments, situation.consumers):
        return None
    depths, latest = merge_depths(situation.layout), situation.now - rules.merge_window_seconds

    def may_merge(segment: Segment) -> bool:
        is_cold = situation.cold_since.get(segment.id, math.inf) <= latest
        return is_cold and depths[segment.id] < rules.max_depth

    def load(pair: tuple[Segment, Segment]) -> float:
        return sum(sum(situation.loads[segment.id]) for segment in pair)

    pairs = [pair for pair in pairwise(active) if all(map(may_merge, pair))]
    quietest = min(pairs, key=load, default=None)
    return None if quietest is None else Merge(quietest[0].id, quietest[1].id)


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
