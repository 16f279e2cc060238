"""Checks what stream consumers got: nothing lost, each key in order, and one owner of a segment at a time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

MOST_SHOWN = 10


class Delivery(NamedTuple):
    """`since`: when its consumer got the segment. Times are of one clock, in ns."""

    at: int
    segment: str
    since: int
    key: str
    number: int
    consumer: str

    @classmethod
    def parse(cls, line: str, consumer: str) -> Delivery | None:
        """None for a line that a kill cut off."""
        parts = line.split(" ")
        if len(parts) != 5 or not line.endswith("\n"):
            return None
        return cls(int(parts[0]), parts[1], int(parts[2]), parts[3], int(parts[4]), consumer)


@dataclass
class Verdict:
    """`repeated` is allowed: what a killed consumer had not acknowledged comes again."""

    deliveries: int = 0
    repeated: int = 0
    lost: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.lost and not self.faults


def judge(deliveries: Iterable[Delivery], published: Mapping[str, int]) -> Verdict:
    """`published`: how many messages each key has, numbered from 0."""
    ordered = sorted(deliveries)
    verdict = Verdict(deliveries=len(ordered))
    last: dict[str, int] = {}
    distinct = {(one.key, one.number) for one in ordered}
    for one in ordered:
        before = last.get(one.key, -1)
        if one.number <= before:
            verdict.repeated += 1
        elif one.number > before + 1:
            _note(verdict, f"key {one.key}: {one.consumer} got {one.number} of {one.segment} after {before}")
        last[one.key] = max(before, one.number)
    verdict.lost = sum(published.values()) - len(distinct)
    _check_owners(ordered, verdict)
    return verdict


def _check_owners(ordered: list[Delivery], verdict: Verdict) -> None:
    spans: dict[str, dict[tuple[int, str], int]] = {}
    for one in ordered:
        spans.setdefault(one.segment, {})[one.since, one.consumer] = one.at
    for segment, owners in spans.items():
        timeline = sorted(owners.items())
        for ((_, first), end), ((start, second), _) in pairwise(timeline):
            if start < end:
                _note(verdict, f"segment {segment}: {first} was still reading when {second} began")


def _note(verdict: Verdict, fault: str) -> None:
    if len(verdict.faults) < MOST_SHOWN:
        verdict.faults.append(fault)
