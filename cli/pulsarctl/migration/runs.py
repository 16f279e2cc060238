"""The mapping of entries of the source to entries of the copy. Pure.

Entries are numbered from 0 in the order of the topic. The source may lack some: the broker does not deliver markers of
transactions and of replicated subscriptions. The copy has none of these gaps.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pulsarctl.backlog.ledgers import Ledger

Position = tuple[int, int]  # ledger ID, entry ID


@dataclass(slots=True)
class Run:
    """Consecutive entries of one ledger. `number` is that of the first."""

    ledger_id: int
    first: int
    count: int
    number: int


class Runs:
    """The entries of a partition, in runs; they are added in order."""

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self.count = 0

    @classmethod
    def of_ledgers(cls, ledgers: Sequence[Ledger]) -> "Runs":
        """The runs of a topic without gaps."""
        runs = cls()
        for ledger in ledgers:
            if ledger.last >= 0:
                runs._runs.append(Run(ledger.id, 0, ledger.last + 1, runs.count))
                runs.count += ledger.last + 1
        return runs

    def add(self, ledger_id: int, entry_id: int) -> None:
        last = self._runs[-1] if self._runs else None
        if last is not None and (last.ledger_id, last.first + last.count) == (ledger_id, entry_id):
            last.count += 1
        else:
            self._runs.append(Run(ledger_id, entry_id, 1, self.count))
        self.count += 1

    def up_to(self, position: Position) -> int:
        """The number of entries at or before a position."""
        index = bisect_right(self._runs, position, key=_start) - 1
        if index < 0:
            return 0
        run = self._runs[index]
        inside = position[1] - run.first + 1 if position[0] == run.ledger_id else run.count
        return run.number + min(inside, run.count)

    def position(self, number: int) -> Position:
        """Raises IndexError for a number that does not exist."""
        index = bisect_right(self._runs, number, key=lambda run: run.number) - 1
        if not 0 <= number < self.count:
            raise IndexError(number)
        run = self._runs[index]
        return run.ledger_id, run.first + number - run.number

    def is_above(self, other: "Runs", first: int) -> bool:
        """Whether each entry from number `first` on has a greater position here than in `other`.

        Between the beginnings of runs, both positions grow by one from entry to entry.
        """
        count = min(self.count, other.count)
        starts = [run.number for runs in (self, other) for run in runs._runs]
        return all(self.position(n) > other.position(n) for n in (first, *starts) if first <= n < count)

    def numbers(self, ledger_id: int, first: int, last: int) -> Iterator[int]:
        """The numbers of the entries `first` to `last` of a ledger, as far as they exist."""
        begin = self.up_to((ledger_id, first - 1))
        yield from range(begin, self.up_to((ledger_id, last)))


def _start(run: Run) -> Position:
    return run.ledger_id, run.first
