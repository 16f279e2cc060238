"""Which stream consumer reads which segment. Pure.

Each segment has one consumer. No consumer has two segments more than another one. A segment stays with its consumer as
long as that holds, so a consumer that joins or leaves moves only the segments that it gets or had.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping


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
