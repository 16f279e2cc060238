"""Recovery at a start, before the first append: replays the journal over the last checkpoint.

The state after a crash is a function of the checkpoint (metadata.sqlite and the ledger files up to the end offsets
that it names) and of the journal files since. Replay changes neither metadata.sqlite nor the journal, and writes
ledger files only after those ends: a kill in the middle of it changes nothing. The journal files go at the next
checkpoint.

A journal ends where no valid group follows. If a valid group or another journal file follows an invalid group, the
invalid one was synced once and is damage: it is reported, and ledgers keep a gap where it held entries.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.disk import Disk
from broker_core.storage.errors import DamageReport, Lost
from broker_core.storage.log import salvage
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.log.synced_mark import Mark
from broker_core.storage.records import changes, journal_group, ledger_file, transaction_changes
from broker_core.storage.records.block import ACKS, BATCH_ACKS, CHANGE, ENTRIES, HEADER, HEADER_SIZE, ROW_SIZE, check
from broker_core.storage.records.catalog import Catalog, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.journal_file import Window, header_problem

_FLUSH = 1 << 20
_FLUSH_ALL = 32 << 20


@dataclass(slots=True, eq=False, repr=False)
class _Replayed:
    """A ledger that the journal continues: what was read and is not written yet."""

    owner: int
    info: LedgerInfo
    path: Path
    parts: list[bytes] = field(default_factory=list)
    buffered: int = 0


class Recovery:
    """Blocks; runs in a thread before anything else does."""

    def __init__(
        self,
        disk: Disk,
        files: OpenFiles,
        catalog: Catalog,
        load_info: Callable[[int], ManagedLedgerInfo | None],
        find_owner: Callable[[int], int | None],
        ledger_path: Callable[[int], Path],
        report: Callable[[DamageReport], None],
    ) -> None:
        self._disk = disk
        self._files = files
        self._catalog = catalog
        self._load_info = load_info
        self._find_owner = find_owner
        self._ledger_path = ledger_path
        self._report = report
        self._ledgers: dict[int, _Replayed | None] = {}
        self._owners: dict[int, int] = {}
        self._buffered = 0
        self._removed_compacted: list[int] = []
        self._sure: Mark | None = None
        self._is_damaged = False
        self._hints: list[tuple[int, int, int]] = []  # ledger, first entry, entries of damaged records
        self._strays: dict[int, tuple[int, int]] = {}  # entries of ledgers that are not known, first and last
        self.journals: dict[int, int] = {}  # number -> bytes
        self.next_number = 1
        self.tail_end = 0  # of the last journal file: nothing after it was ever synced

    def replay(self, directory: Path, first_number: int, mark: Mark | None = None) -> None:
        """Journal files before `first_number` belong to an older checkpoint, and are left for the next to remove.

        `mark` says how far the journal was synced at least.
        """
        listed = (filenames.journal_number(name) for name in self._disk.list_directory(directory))
        numbers = sorted(number for number in listed if number is not None)
        for number in numbers:
            self.journals[number] = 0
        numbers = [number for number in numbers if number >= first_number]
        headers = {number: self._header(filenames.journal_file(directory, number), number) for number in numbers}
        self._sure = mark
        last = max([first_number - 1, *numbers, *([mark.number] if mark is not None else [])])
        for number in range(first_number, last + 1):
            path = filenames.journal_file(directory, number)
            if number in headers:
                self._replay_file(path, number, headers.get(number + 1))
            else:
                self._damaged(DamageReport(path, 0, "journal file is missing"))
        self.next_number = last + 1
        self._report_losses()
        transaction_changes.hold_acks(self._catalog, self._load)
        for ledger_id in self._catalog.removed_ledgers:
            self._disk.remove(self._ledger_path(ledger_id))
        for ledger_id in self._removed_compacted:
            self._disk.remove(filenames.compacted_of(self._ledger_path(ledger_id)))
        self._flush_all()

    def _damaged(self, report: DamageReport) -> None:
        self._is_damaged = True
        self._report(report)

    def _report_losses(self) -> None:
        """Reports what the damaged records say themselves, unless sound records contradict them."""
        for ledger_id, first, n in self._hints:
            replayed = self._ledgers.get(ledger_id) or self._start(ledger_id)
            if replayed is not None and replayed.info.entries == first:
                self._lose(replayed, first + n)
        for ledger_id, (first, last) in sorted(self._strays.items()):
            reason = "the record that says whose ledger it is, is lost"
            self._damaged(DamageReport(self._ledger_path(ledger_id), 0, reason, "", Lost(ledger_id, first, last)))

    def _lose(self, replayed: _Replayed, until: int) -> None:
        """Entries of a ledger up to `until` - 1 are gone: a gap is kept in their place."""
        info = replayed.info
        lost = Lost(info.id, info.entries, until - 1)
        offset = info.end if info.end > ledger_file.DATA_START else 0
        name = self._catalog.infos[replayed.owner].name
        reason = f"entries {lost.first} to {lost.last} are lost"
        self._damaged(DamageReport(replayed.path, offset, reason, name, lost))
        info.entries = until

    def _load(self, managed_ledger_id: int) -> ManagedLedgerInfo | None:
        info = self._catalog.infos.get(managed_ledger_id)
        if info is None and managed_ledger_id not in self._catalog.removed:
            info = self._load_info(managed_ledger_id)
            if info is not None:
                self._catalog.infos[managed_ledger_id] = info
        if info is not None:
            for ledger_id in info.ledgers:
                self._owners[ledger_id] = managed_ledger_id
        return info

    # ---- journal files

    def _header(self, path: Path, number: int) -> int | None:
        """The end of the journal before this one; None when the header is missing, as if the file were missing."""
        fd = self._disk.open(path)
        try:
            data = self._disk.pread(fd, journal_group.FILE_HEADER.size, 0)
        finally:
            self._disk.close(fd)
        return None if header_problem(path, data, number) else int(journal_group.FILE_HEADER.unpack(data)[4])

    def _replay_file(self, path: Path, number: int, synced_end: int | None) -> None:
        """`synced_end`: the file was synced up to there, says the next one; None: this is the last file."""
        sure = self._sure.end if self._sure is not None and self._sure.number == number else 0
        fd = self._disk.open(path)
        try:
            size = self._disk.size(fd)
            if synced_end is not None:
                synced_end = sure = max(synced_end, sure)
            end = size if synced_end is None else min(size, synced_end)
            window = Window(self._disk, fd, number, end)
            reason = header_problem(path, self._disk.pread(fd, journal_group.FILE_HEADER.size, 0), number)
            if reason and (sure or window.next_group(0) is not None):
                self._damaged(DamageReport(path, 0, reason))
            self.tail_end = self._replay_groups(path, window, min(sure, end))
        finally:
            self._disk.close(fd)
        self.journals[number] = end
        if size < sure:
            self.tail_end = sure
            self._damaged(DamageReport(path, size, f"file ends before its {sure} bytes"))

    def _replay_groups(self, path: Path, window: "Window", sure: int) -> int:
        """Returns the end of what counts. Up to `sure` it was synced: there every group has to be good."""
        at = journal_group.FILE_HEADER.size
        while at < window.end:
            reason, length = window.load_group(at)
            if reason is None:
                for place in window.records:
                    self._replay_record(window.data, *place)
                at += length
                continue
            following = window.next_group(at + 1)
            if following is None and at >= sure:
                break  # what a crash leaves after the last sync: leftovers, or a part of a group
            stop = sure if following is None else following
            data = window.load(at, stop - at)
            self._damaged(DamageReport(path, at, reason))
            self._replay_sound(data, len(data))
            at = stop
        return at

    def _replay_sound(self, data: bytes, stop: int) -> None:
        """Replays the sound records of a damaged group that was synced once: each has a checksum of its own."""
        at = journal_group.GROUP_HEADER.size
        while stop - at >= HEADER_SIZE:
            _, length, kind, _, _, n, ledger_id, first, _, _ = HEADER.unpack_from(data, at)
            if check(data, at, stop) is None:
                self._replay_record(data, at, at + length, kind, n, ledger_id, first)
            elif not HEADER_SIZE <= length <= stop - at:
                return
            elif kind == ENTRIES and n * ROW_SIZE <= length:
                self._hints.append((ledger_id, first, n))
            at += length

    def _replay_record(self, data: bytes, at: int, end: int, kind: int, n: int, ledger_id: int, first: int) -> None:
        if kind == ENTRIES:
            self._replay_entries(data, at, end, n, ledger_id, first)
        elif kind == CHANGE:
            self._replay_change(data[at:end])
        elif kind in (ACKS, BATCH_ACKS):
            changes.apply_acks(self._catalog, self._load, data[at:end])

    # ---- records

    def _replay_entries(self, data: bytes, at: int, end: int, n: int, ledger_id: int, first: int) -> None:
        replayed = self._ledgers.get(ledger_id)
        if replayed is None:
            replayed = self._start(ledger_id)
        if replayed is None:
            self._note_stray(ledger_id, first, first + n - 1)
            return
        if first + n <= replayed.info.entries:
            return  # part of the checkpoint already
        info = replayed.info
        if first != info.entries:
            self._lose(replayed, first)
        _, messages, size, newest_ms = ledger_file.table_totals(data, at)
        info.entries += n
        info.messages += messages
        info.size += size
        if newest_ms > info.newest_ms:
            info.newest_ms = newest_ms
        info.end += end - at
        replayed.parts.append(data[at:end])
        replayed.buffered += end - at
        self._buffered += end - at
        if replayed.buffered >= _FLUSH:
            self._flush(replayed)
        elif self._buffered >= _FLUSH_ALL:
            self._flush_all()

    def _note_stray(self, ledger_id: int, first: int, last: int) -> None:
        """Notes entries of an unknown ledger: it was deleted since, or its record is among those that were lost."""
        if self._is_damaged and ledger_id not in self._catalog.removed_ledgers:
            low, high = self._strays.get(ledger_id, (first, last))
            self._strays[ledger_id] = min(low, first), max(high, last)

    def _start(self, ledger_id: int) -> _Replayed | None:
        """Begins a ledger at its first record in the journal, with what the checkpoint says about it."""
        owner = self._owners.get(ledger_id)
        if owner is None and ledger_id not in self._catalog.removed_ledgers:
            owner = self._find_owner(ledger_id)
        info = self._load(owner) if owner is not None else None
        ledger = info.ledgers.get(ledger_id) if info else None
        if info is None or ledger is None:
            return None
        if ledger.end == 0:
            ledger.end = ledger_file.DATA_START
        replayed = _Replayed(info.id, ledger, self._ledger_path(ledger_id))
        self._ledgers[ledger_id] = replayed
        self._catalog.ledger_changed(info.id, ledger)
        return replayed

    def _replay_change(self, record: bytes) -> None:
        values = changes.parse(record)
        if (apply := transaction_changes.APPLY.get(values["op"])) is not None:
            apply(self._catalog, self._load, values)
            return
        if values["op"] == "seal":
            self._truncate(values["id"], values["entries"])
        if values["op"] == "delete" and (info := self._load(values["owner"])) is not None:
            self._removed_compacted += info.compacted
        changes.apply_change(self._catalog, self._load, values)
        if values["op"] == "ledger":
            self._owners[values["id"]] = values["owner"]
        removed = values["ids"] if values["op"] == "trim" else ()
        if values["op"] == "offload" and "end" in values:
            removed = [values["id"]]  # its file was written again as a whole: an older release may not have waited
        for ledger_id in removed:
            if (replayed := self._ledgers.pop(ledger_id, None)) is not None:
                self._buffered -= replayed.buffered

    def _truncate(self, ledger_id: int, entries: int) -> None:
        """Entries whose sync failed were refused, and may be in the journal all the same: the seal says the end."""
        replayed = self._ledgers.get(ledger_id)
        if replayed is None or replayed.info.entries <= entries:
            return
        self._flush(replayed)
        info = replayed.info
        messages = size = 0
        with self._files.use(replayed.path) as fd:
            for at, data, inside in salvage.survey(self._disk, fd, replayed.path, info, lambda _: None):
                if HEADER.unpack_from(data, inside)[7] >= entries:
                    info.entries, info.messages, info.size, info.end = entries, messages, size, at
                    return
                _, count, entry_bytes, _ = ledger_file.table_totals(data, inside)
                messages, size = messages + count, size + entry_bytes

    def _flush_all(self) -> None:
        for replayed in self._ledgers.values():
            if replayed is not None:
                self._flush(replayed)

    def _flush(self, replayed: _Replayed) -> None:
        info = replayed.info
        offset = info.end - replayed.buffered
        parts, replayed.parts = replayed.parts, []
        info.written_ms = max(info.written_ms, info.newest_ms)  # the closest to the truth that is known
        self._buffered -= replayed.buffered
        replayed.buffered = 0
        if not parts or info.id in self._catalog.removed_ledgers:
            return
        if offset == ledger_file.DATA_START:
            parts.insert(0, ledger_file.file_header(info.id, info.created_ms))
            offset = 0
            self._disk.make_directory(replayed.path.parent)
        data = b"".join(parts)
        with self._files.use(replayed.path, create=True) as fd:
            # After a kill (other than after a power cut) the file mostly holds it already.
            if self._disk.pread(fd, len(data), offset) != data:
                self._disk.pwrite(fd, data, offset)

    @property
    def written(self) -> dict[int, Path]:
        """Ledger files that replay wrote to, and their ledgers; the next checkpoint syncs them."""
        return {replayed.info.id: replayed.path for replayed in self._ledgers.values() if replayed is not None}
