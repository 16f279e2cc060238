"""Which stream consumers read which segment. Pure.

Each segment has one consumer. No consumer has two segments more than another one. A segment stays with its consumer as
long as that holds, so a consumer that joins or leaves moves only the segments that it gets or had. Consumers for which
no segment is left can share those of others.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence


def shared(segments: Iterable[int], consumers: Iterable[str], owners: Mapping[int, str]) -> dict[int, str]:
    """The consumer of each segment; empty without consumers. `segments` in the order of assignments.

    `owners`: the consumers that the segments have now, as far as they have one.
    """
    ordered, names = list(segments), sorted(consumers)
    if not names:
        return {}
    least, extra = divmod(len(ordered), len(names))
    result, counts = {}, dict.fromkeys(names, 0)
    for segment in ordered:
        owner = owners.get(segment)
        if owner in counts and counts[owner] < least + (extra > 0):
            if counts[owner] == least:
                extra -= 1
            result[segment] = owner
            counts[owner] += 1
    least_first = [(counts[name], name) for name in names]
    heapq.heapify(least_first)
    for segment in ordered:
        if segment not in result:
            count, result[segment] = least_first[0]
            heapq.heapreplace(least_first, (count + 1, result[segment]))
    return {segment: result[segment] for segment in ordered}


Sharers = Mapping[int, Sequence[str]]


def spread(
    buckets: Mapping[int, int], consumers: Collection[str], able: Collection[str], now: Sharers
) -> dict[int, tuple[str, ...]]:
    """The consumers of each segment; several of them share it by entry buckets.

    `buckets`: their number in each segment, in the order of assignments; a segment has at most as many consumers.
    `able`: the consumers that can share. `now`: the consumers that the segments have. Those that find no room wait.
    """
    first = {segment: next((name for name in names if name in consumers), "") for segment, names in now.items()}
    owners = shared(buckets, consumers, first)
    surplus = {name for name in consumers if name in able} - set(owners.values())
    room = {segment: buckets[segment] - 1 for segment, owner in owners.items() if owner in able}
    kept = _kept(room, surplus, now)
    more = _even(room, len(surplus), kept)
    joined = {segment: kept[segment][:count] for segment, count in more.items()}
    left = sorted(surplus.difference(*joined.values()), reverse=True)
    for segment, count in more.items():
        while len(joined[segment]) < count:
            joined[segment].append(left.pop())
    return {segment: (owner, *joined.get(segment, ())) for segment, owner in owners.items()}


def _kept(segments: Iterable[int], surplus: Collection[str], now: Sharers) -> dict[int, list[str]]:
    """The surplus consumers that each segment has now. Only the first segment keeps one that several have."""
    kept, free = {}, set(surplus)
    for segment in segments:
        kept[segment] = [name for name in dict.fromkeys(now.get(segment, ())) if name in free]
        free.difference_update(kept[segment])
    return kept


def _even(room: Mapping[int, int], consumers: int, kept: Sharers) -> dict[int, int]:
    """How many more consumers each segment gets; one that would keep more of them comes first."""
    counts = dict.fromkeys(room, 0)
    least_first = [(0, -len(kept[segment]), at, segment) for at, segment in enumerate(room) if room[segment]]
    heapq.heapify(least_first)
    while consumers and least_first:
        count, keeps, at, segment = heapq.heappop(least_first)
        counts[segment] = count + 1
        consumers -= 1
        if count + 1 < room[segment]:
            heapq.heappush(least_first, (count + 1, keeps, at, segment))
    return counts
