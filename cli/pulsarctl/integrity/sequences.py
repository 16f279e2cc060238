"""The sequence IDs of each producer in one partition: which are repeated, and which are out of order. Pure.

Producers count up, so what was seen is a few spans of numbers. A producer without deduplication starts at 0 again when
it restarts under its name; that is a restart and no repetition.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

SPANS_MAX = 10_000
EXAMPLES_MAX = 5
HIGHEST = (1 << 64) - 1


@dataclass(slots=True)
class Sequence:
    """The sequence IDs of one producer in one partition. `spans` are (first, last), in order, with gaps in between.

    They are those since the last restart, and `head` has those before the first one.
    `is_whole` False: there were too many spans to remember, so repetitions may be missing.
    """

    spans: list[tuple[int, int]] = field(default_factory=list)
    head: list[tuple[int, int]] = field(default_factory=list)
    messages: int = 0
    repeated: int = 0
    late: int = 0
    restarts: int = 0
    is_whole: bool = True
    examples: list[str] = field(default_factory=list)

    def add(self, sequence_id: int, message_id: str) -> None:
        self.messages += 1
        if self.spans and sequence_id == self.spans[-1][1] + 1:
            self.spans[-1] = (self.spans[-1][0], sequence_id)
        elif not self.spans or sequence_id > self.spans[-1][1]:
            self._put(sequence_id, sequence_id)
        elif sequence_id == 0 and self.spans[-1][1] > 0:
            self._restart([(0, 0)])
        else:
            self._put_late(sequence_id, message_id)

    def merge(self, later: "Sequence") -> None:
        """`later` is what follows in the same partition."""
        self.messages += later.messages
        self.repeated += later.repeated
        self.late += later.late
        self.is_whole &= later.is_whole
        head = later.head if later.restarts else later.spans
        if head and head[0][0] == 0 and self.spans and self.spans[-1][1] > 0:
            self._restart(head)
        else:
            for first, last in head:
                self._join(first, last)
        if later.restarts:
            self._restart(later.spans)
            self.restarts += later.restarts - 1
        self.examples = [*self.examples, *later.examples][:EXAMPLES_MAX]

    def _restart(self, spans: list[tuple[int, int]]) -> None:
        if not self.restarts:
            self.head = self.spans
        self.restarts += 1
        self.spans = list(spans)

    def _put_late(self, sequence_id: int, message_id: str) -> None:
        place = bisect_right(self.spans, (sequence_id, HIGHEST)) - 1
        if place >= 0 and self.spans[place][1] >= sequence_id:
            self.repeated += 1
        else:
            self.late += 1
            self._put(sequence_id, sequence_id)
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(message_id)

    def _join(self, first: int, last: int) -> None:
        overlaps = list(self._overlaps(first, last))
        if overlaps:
            self.repeated += sum(min(last, b) - max(first, a) + 1 for a, b in overlaps)
        elif self.spans and last < self.spans[-1][0]:
            self.late += last - first + 1
        self._put(first, last)

    def _overlaps(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        start = max(bisect_right(self.spans, (first, HIGHEST)) - 1, 0)
        for span in self.spans[start:]:
            if span[0] > last:
                return
            if span[1] >= first:
                yield span

    def _put(self, first: int, last: int) -> None:
        """Joins the spans that it touches; the others stay where they are, because there may be thousands."""
        start = end = bisect_right(self.spans, (first, HIGHEST))
        while start and self.spans[start - 1][1] >= first - 1:
            start -= 1
            first, last = self.spans[start][0], max(last, self.spans[start][1])
        while end < len(self.spans) and self.spans[end][0] <= last + 1:
            last = max(last, self.spans[end][1])
            end += 1
        self.spans[start:end] = [(first, last)]
        if len(self.spans) > SPANS_MAX:
            self.is_whole = False
            del self.spans[0]
