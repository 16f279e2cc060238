"""Reading the entries of a ledger file, past what is damaged in it: only the damaged records are lost.

Blocking; in a reader thread. Every record is verified, so what is handed out is what was written.
"""

from pathlib import Path

from crc32c import crc32c

from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged, Lost
from broker_core.storage.log import salvage
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import DELAYED, ENTRIES, HEADER, HEADER_SIZE, Block, Columns, check
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.spans import Spans

_SMALL = 4096


def load_spans(disk: Disk, fd: int, path: Path, info: LedgerInfo) -> tuple[Spans, list[Damaged]]:
    """The index of a ledger, from the end of its file or from its records, and the damage met on the way."""
    problems: list[Damaged] = []
    try:
        ledger_file.check_header(path, disk.pread(fd, ledger_file.DATA_START, 0), info.id)
    except Damaged as damage:
        problems.append(damage)  # the records name their ledger, too
    spans = ledger_file.read_footer(disk, fd, path, info)
    if spans is not None:
        return spans, problems
    spans = Spans()
    spans.add(0, ledger_file.DATA_START, 0, 0, 0)  # also when no record is left
    messages = size = 0
    for offset, data, inside in salvage.survey(disk, fd, path, info, problems.append):
        _, count, entry_bytes, newest = ledger_file.table_totals(data, inside)
        spans.add(HEADER.unpack_from(data, inside)[7], offset, messages, size, newest)
        messages, size = messages + count, size + entry_bytes
    return spans, problems


class Stretch:
    """A part of a ledger file to be read: the bytes [start, end), which begin with entry `first`.

    `stop` is the first entry after the stretch; `entries` is the number of entries in the whole file.
    """

    def __init__(self, path: Path, ledger_id: int, first: int, stop: int, entries: int, start: int, end: int) -> None:
        self.path = path
        self.ledger_id = ledger_id
        self.first = first
        self.stop = stop
        self.entries = entries
        self.start = start
        self.end = end

    def read(self, disk: Disk, fd: int, entry_id: int) -> Block:
        """The entries around `entry_id` that lie in one piece, as many as there are. Raises Damaged when it is lost."""
        data = disk.pread(fd, self.end - self.start, self.start)
        first, at = self.first, 0
        while True:
            columns, expected, stop = self._sound(data, at, first)
            if expected > entry_id:
                return columns.block(self.ledger_id, first, data)
            following = self._following(data, stop, expected)
            next_first = self.stop if following is None else HEADER.unpack_from(data, following)[7]
            if following is None or next_first > entry_id:
                raise self._damage(disk, fd, data, stop, Lost(self.ledger_id, expected, next_first - 1))
            first, at = next_first, following

    def _sound(self, data: bytes, at: int, first: int) -> tuple[Columns, int, int]:
        """The rows of the sound records from `at` on, the entry after them, and where they end."""
        columns = Columns()
        size, expected = len(data), first
        while size - at >= HEADER_SIZE:
            crc, length, kind, flags, _, n, owner, record_first, base, _ = HEADER.unpack_from(data, at)
            stop = at + length
            # Small records are copied for their checksum: that is faster than a view of them.
            if not HEADER_SIZE <= length <= size - at or (
                crc32c(data[at + 4 : stop]) != crc if length < _SMALL else check(data, at, size)
            ):
                break
            if kind != ENTRIES or owner != self.ledger_id or record_first != expected:
                break
            if flags & DELAYED:
                columns.add_delivery_times(data, stop, n)
            columns.add(data, at, n, base)
            expected += n
            at = stop
        return columns, expected, at

    def _following(self, data: bytes, at: int, expected: int) -> int | None:
        """The offset at which reading continues after damage: `at` if only entries are missing, or a later one."""
        if check(data, at, len(data)) is None:
            _, _, kind, _, _, _, owner, first, _, _ = HEADER.unpack_from(data, at)
            if kind == ENTRIES and owner == self.ledger_id and first > expected:
                return at
        return salvage.resume(data, at, len(data), self.ledger_id, expected)

    def _damage(self, disk: Disk, fd: int, data: bytes, at: int, lost: Lost) -> Damaged:
        if len(data) < self.end - self.start:
            offset = min(self.start + len(data), disk.size(fd))
            lost = Lost(self.ledger_id, lost.first, self.entries - 1) if lost.last + 1 == self.stop else lost
            return Damaged(self.path, offset, f"file ends before its {self.end} bytes", lost)
        reason = check(data, at, len(data)) if at < len(data) else None
        reason = reason or f"entries {lost.first} to {lost.last} are lost"
        return Damaged(self.path, self.start + at, reason, lost)
