"""The ledgers of a managed ledger in order, and arithmetic on positions over them.

A position need not exist: (id, entries) of the last ledger is the next to be written, positions in trimmed ledgers
stand for the next existing one, and entry -1 stands before a ledger's first entry.
"""

from bisect import bisect_left, bisect_right

from broker_core.storage.log.retention import LedgerView, LogView
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.position import EARLIEST, Position


class LedgerList:
    def __init__(self, infos: dict[int, LedgerInfo]) -> None:
        self.infos = infos
        self.ids = sorted(infos)
        self.trimmed_to = EARLIEST  # the last entry that is known to be trimmed; a compacted ledger may still have it

    def add(self, info: LedgerInfo) -> None:
        self.infos[info.id] = info
        self.ids.append(info.id)

    def refresh(self) -> None:
        """Brings the list up to date after ledgers were removed from `infos`."""
        self.ids = sorted(self.infos)

    @property
    def entries(self) -> int:
        return sum(info.entries for info in self.infos.values())

    @property
    def messages(self) -> int:
        return sum(info.messages for info in self.infos.values())

    @property
    def size(self) -> int:
        return sum([info.size for info in self.infos.values()])

    def view(self, open_id: int | None, consumed: Position) -> LogView:
        """The state that retention looks at; `open_id` is the ledger that takes entries."""
        infos = [self.infos[i] for i in self.ids]
        return LogView([LedgerView(i.id, i.entries, i.size, i.written_ms, i.id == open_id) for i in infos], consumed)

    def following(self, ledger_id: int) -> int | None:
        """The next ledger after `ledger_id`, which itself may be gone."""
        at = bisect_right(self.ids, ledger_id)
        return self.ids[at] if at < len(self.ids) else None

    def preceding(self, ledger_id: int) -> int | None:
        at = bisect_left(self.ids, ledger_id)
        return self.ids[at - 1] if at else None

    @property
    def last_confirmed(self) -> Position:
        """The last entry; (last ledger, -1) when all are empty; EARLIEST when there is no ledger."""
        for ledger_id in reversed(self.ids):
            if self.infos[ledger_id].entries:
                return Position(ledger_id, self.infos[ledger_id].entries - 1)
        return Position(self.ids[-1], -1) if self.ids else EARLIEST

    @property
    def first_position(self) -> Position:
        """The first existing entry, or the next to be written."""
        return self.next_valid(Position(-1, 0))

    def next_valid(self, position: Position) -> Position:
        """The first entry at or after `position`, or the next to be written."""
        ledger_id: int | None = position.ledger_id
        entry_id = max(0, position.entry_id)
        info = self.infos.get(position.ledger_id)
        while info is None or entry_id >= info.entries:
            ledger_id = self.following(position.ledger_id if ledger_id is None else ledger_id)
            if ledger_id is None:
                break
            info, entry_id = self.infos[ledger_id], 0
        if ledger_id is not None:
            return Position(ledger_id, entry_id)
        if not self.ids:
            return Position(position.ledger_id, entry_id) if position.ledger_id < 0 else Position(-1, 0)
        return Position(self.ids[-1], self.infos[self.ids[-1]].entries)

    def previous(self, position: Position) -> Position:
        """The entry before `position`; (first ledger, -1) when there is none."""
        info = self.infos.get(position.ledger_id)
        if info is not None and position.entry_id > 0 and info.entries:
            return Position(position.ledger_id, min(position.entry_id, info.entries) - 1)
        before = self.preceding(position.ledger_id)
        while before is not None:
            if self.infos[before].entries:
                return Position(before, self.infos[before].entries - 1)
            before = self.preceding(before)
        return Position(self.ids[0], -1) if self.ids else EARLIEST

    def before_reading(self, position: Position) -> Position:
        """The mark-delete position of a cursor that is to read from `position` on.

        A position before the first ledger stays as it is: a compacted ledger may have what was trimmed.
        """
        if position == EARLIEST:
            return EARLIEST
        if not self.ids and position > self.trimmed_to:
            return self.trimmed_to
        if position.ledger_id >= 0 and (not self.ids or position.ledger_id < self.ids[0]):
            return Position(position.ledger_id, max(0, position.entry_id) - 1)
        if not self.ids:
            return EARLIEST
        target = self.next_valid(position)
        return Position(target.ledger_id, target.entry_id - 1)

    def is_valid(self, position: Position) -> bool:
        info = self.infos.get(position.ledger_id)
        return info is not None and 0 <= position.entry_id < info.entries

    def entries_after(self, position: Position) -> int:
        """Existing entries at or after `position`."""
        info = self.infos.get(position.ledger_id)
        total = max(0, info.entries - max(0, position.entry_id)) if info else 0
        if self.ids and position.ledger_id >= self.ids[-1]:  # where most subscriptions are
            return total
        for ledger_id in self.ids[bisect_right(self.ids, position.ledger_id) :]:
            total += self.infos[ledger_id].entries
        return total

    def messages_before(self, ledger_id: int) -> int:
        """Messages of the ledgers before `ledger_id`, as far as they exist."""
        return sum(self.infos[i].messages for i in self.ids[: bisect_left(self.ids, ledger_id)])

    def totals_from(self, ledger_id: int) -> tuple[int, int]:
        """Messages and bytes of the ledgers from `ledger_id` on."""
        if self.ids and ledger_id == self.ids[-1]:  # where most subscriptions are
            info = self.infos[ledger_id]
            return info.messages, info.size
        infos = [self.infos[i] for i in self.ids[bisect_left(self.ids, ledger_id) :]]
        return sum(info.messages for info in infos), sum(info.size for info in infos)

    def advance(self, position: Position, n: int) -> Position:
        """The position `n` existing entries after `position`, at most the next to be written."""
        at = self.next_valid(position)
        while n > 0:
            info = self.infos.get(at.ledger_id)
            left = info.entries - at.entry_id if info else 0
            if n < left:
                return Position(at.ledger_id, at.entry_id + n)
            n -= left
            following = self.next_valid(Position(at.ledger_id, at.entry_id + left))
            if following == at or left == 0:
                return following
            at = following
        return at
