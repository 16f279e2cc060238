"""What there is to read, cut into tasks: ranges of entries of one ledger of one topic partition. Pure.

The input is a broker's `internalStats`, one answer for each topic partition, so ledgers and cursors are of the same
moment. A task gets the acknowledged ranges of its own entries and nothing of the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pulsarctl.tables.ack_holes import AckedRanges, Cursor, LedgerPosition
from pulsarctl.tables.bounds import FIRST, LAST, Bound
from pulsarctl.values.message_ids import parse_message_id

TASK_BYTES_MAX = 64 * 1024 * 1024
EARLIER_LEDGERS = 8  # in which the beginning of a chunked message is looked for
TASK_ENTRIES_MIN = 100  # below that a task is mostly its own start


class LedgerLocation(NamedTuple):
    """Where entries of a sealed ledger are: in the file `path`, or in the object `copy` of a tier store, or neither."""

    path: str = ""
    copy: str = ""


LocationOf = Callable[[str, int], LedgerLocation]


WITH_THE_BROKER = LedgerLocation()


def with_the_broker(topic: str, ledger_id: int) -> LedgerLocation:
    return WITH_THE_BROKER


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """Which entries of a range a subscription still has before it: those above `after` and not in `acked`.

    `open_batches`, by entry: bit i says that it has message i of the batch before it. It has all of other batches.
    """

    subscription: str
    after: int
    acked: AckedRanges
    open_batches: Mapping[int, int] = field(default_factory=dict)

    def wants(self, entry_id: int) -> bool:
        return entry_id > self.after and entry_id not in self.acked

    def between(self, first: int, last: int) -> "Unacknowledged":
        """Only what concerns entries `first` to `last`."""
        batches = {entry_id: bits for entry_id, bits in self.open_batches.items() if first <= entry_id <= last}
        return replace(self, acked=self.acked.between(first, last), open_batches=batches)

    def wanted_of_batch(self, entry_id: int, count: int) -> int:
        """How many of the messages of that entry it has before it."""
        bits = self.open_batches.get(entry_id, -1)
        return (bits & (1 << count) - 1).bit_count()

    def wanted_rows(self, entry_id: int, batch_indexes: Sequence[int]) -> Sequence[int]:
        """Which of the messages with these indexes in that entry it has before it; -1 stands for the whole entry."""
        bits = self.open_batches.get(entry_id, -1)
        return [row for row, index in enumerate(batch_indexes) if index < 0 or bits >> index & 1]


class EntrySpan(NamedTuple):
    """Entries `first <= entry <= last` of one ledger. `place` without a name: the broker has them."""

    ledger_id: int
    first: int
    last: int
    place: LedgerLocation = WITH_THE_BROKER


@dataclass(frozen=True, slots=True)
class LedgerRange:
    """Entries `first <= entry <= last` of one ledger; `size` is about how many bytes they are.

    With `subscriptions` an entry counts once for each that wants it, without (None) once. Only messages published at
    `since_ms` or later, and at `until_ms` or earlier, belong to it. `before` are the messages of the batch `first` that
    do not belong to it, and `through` is the last index of the batch `last` that does (-1: all). A chunked message may
    begin before `first`: at entry `floor` of this ledger, or in one of the `earlier` spans, nearest first. `place` says
    where the entries are read; without a name, the broker is asked.
    """

    topic: str
    ledger_id: int
    first: int
    last: int
    size: int
    subscriptions: tuple[Unacknowledged, ...] | None
    since_ms: int | None = None
    until_ms: int | None = None
    before: int = 0
    through: int = -1
    floor: int = 0
    earlier: tuple[EntrySpan, ...] = ()
    place: LedgerLocation = WITH_THE_BROKER

    @property
    def span(self) -> EntrySpan:
        return EntrySpan(self.ledger_id, self.first, self.last, self.place)

    def looking_back(self, whole: "LedgerRange") -> "LedgerRange":
        """The same range, in which a chunked message may have begun as early as in `whole`."""
        return replace(self, floor=whole.first, earlier=whole.earlier)

    @property
    def entries(self) -> int:
        return self.last - self.first + 1


def ranges_of_topic(
    topic: str,
    stats: Mapping[str, Any],
    *,
    subscriptions: Sequence[str] | None,
    start: Bound = FIRST,
    end: Bound = LAST,
    begin: Bound | None = None,
    place_of: LocationOf = with_the_broker,
) -> Iterator[LedgerRange]:
    """The ranges between `start` and `end`, both included, that hold something to read, at most one for each ledger.

    `begin` is where the first run started, if this one continues it: its chunked messages may have begun there.
    `place_of` finds the file or the copy of a sealed ledger.
    `subscriptions` names those whose unacknowledged entries are wanted; None: all entries there are.
    """
    cursors = None if subscriptions is None else _cursors(stats, subscriptions)
    if "visibleEnd" in stats:  # transactions: only the broker knows what was aborted
        place_of, end = with_the_broker, _earlier(end, stats["visibleEnd"])
    earlier: list[EntrySpan] = []
    for ledger in stats["ledgers"]:
        whole = replace(_whole(topic, ledger, stats, place_of), since_ms=start.time_ms, until_ms=end.time_ms)
        cut = _cut(whole, start, end)
        readable = _cut(whole, start if begin is None else min(begin, start, key=_position), end)
        if cut is not None and readable is not None:
            cut = replace(cut, floor=readable.first, earlier=tuple(earlier))
        if readable is not None:
            earlier = [readable.span, *earlier[: EARLIER_LEDGERS - 1]]
        if cut is not None and cursors is not None:
            cut = _only_wanted(cut, cursors)
        if cut is not None:
            yield cut


def _cursors(stats: Mapping[str, Any], subscriptions: Sequence[str]) -> dict[str, Cursor]:
    return {name: Cursor.from_stats(stats["cursors"][name]) for name in subscriptions if name in stats["cursors"]}


def _whole(topic: str, ledger: Mapping[str, Any], stats: Mapping[str, Any], place_of: LocationOf) -> LedgerRange:
    """All entries of a ledger. The broker has those of the open one."""
    ledger_id, last_confirmed = ledger["ledgerId"], parse_message_id(stats["lastConfirmedEntry"]).position
    if ledger_id == last_confirmed[0] and not ledger["entries"]:  # a sealed one has their number
        size = max(ledger["size"], stats["currentLedgerSize"])
        return LedgerRange(topic, ledger_id, 0, last_confirmed[1], size, None)
    place = place_of(topic, ledger_id)
    return LedgerRange(topic, ledger_id, 0, ledger["entries"] - 1, ledger["size"], None, place=place)


def split(ranges: Iterable[LedgerRange], *, tasks_min: int, entries_max: int) -> list[LedgerRange]:
    """Cuts ranges so that there are at least `tasks_min`, where there is enough to read, and none is too large."""
    ranges = list(ranges)
    total = sum(ledger_range.entries for ledger_range in ranges)
    fair_share = max(total // max(tasks_min, 1), TASK_ENTRIES_MIN)
    entries_max = max(min(entries_max, fair_share), 1)
    return [part for ledger_range in ranges for part in _pieces(ledger_range, entries_max)]


def _earlier(end: Bound, visible_end: str) -> Bound:
    """The end, but no later than what consumers may get."""
    ledger_id, _, entry_id = visible_end.partition(":")
    position = int(ledger_id), int(entry_id)
    return end if end.position <= position else replace(end, position=position, batch_index=-1)


def _position(bound: Bound) -> LedgerPosition:
    return bound.position


def _cut(whole: LedgerRange, start: Bound, end: Bound) -> LedgerRange | None:
    first, last = whole.first, whole.last
    if start.position[0] >= whole.ledger_id:
        first = max(start.position[1], 0) if start.position[0] == whole.ledger_id else last + 1
    if end.position[0] <= whole.ledger_id:
        last = min(end.position[1], last) if end.position[0] == whole.ledger_id else -1
    cut = _narrowed(whole, first, last)
    if cut is not None and start.position == (cut.ledger_id, first):
        cut = replace(cut, before=max(start.batch_index, 0))
    if cut is not None and end.position == (cut.ledger_id, last):
        cut = replace(cut, through=end.batch_index)
    return cut


def _only_wanted(whole: LedgerRange, cursors: Mapping[str, Cursor]) -> LedgerRange | None:
    wanting = []
    for name, cursor in cursors.items():
        after, acked = cursor.in_ledger(whole.ledger_id)
        if after < whole.last:
            wanting.append(Unacknowledged(name, after, acked, cursor.open_batches.get(whole.ledger_id, {})))
    if not wanting:
        return None
    first = max(whole.first, min(unacknowledged.after for unacknowledged in wanting) + 1)
    narrowed = _narrowed(whole, first, whole.last)
    return None if narrowed is None else replace(narrowed, subscriptions=tuple(wanting))


def _narrowed(whole: LedgerRange, first: int, last: int) -> LedgerRange | None:
    """The part from `first` to `last`, with its share of the size; None when it is empty."""
    if first > last or whole.entries < 1:
        return None
    size = whole.size * (last - first + 1) // whole.entries
    before = whole.before if first == whole.first else 0
    through = whole.through if last == whole.last else -1
    return replace(whole, first=first, last=last, size=size, before=before, through=through)


def _pieces(whole: LedgerRange, entries_max: int) -> Iterator[LedgerRange]:
    count = max(-(-whole.entries // entries_max), -(-whole.size // TASK_BYTES_MAX))
    count = min(count, whole.entries)
    for index in range(count):
        first = whole.first + whole.entries * index // count
        last = whole.first + whole.entries * (index + 1) // count - 1
        piece = _narrowed(whole, first, last)
        assert piece is not None, "no more pieces than entries"
        if whole.subscriptions is not None:
            own = (unacknowledged.between(first, last) for unacknowledged in whole.subscriptions)
            piece = replace(
                piece, subscriptions=tuple(unacknowledged for unacknowledged in own if unacknowledged.after < last)
            )
        if piece.subscriptions != ():
            yield piece
