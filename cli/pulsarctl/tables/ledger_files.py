"""Entries of sealed ledgers from the files of a pulsarctl data directory, without the broker (storage/FORMAT.md).

A sealed file never changes. It has an index, with which several tasks read one file at once. Every record is
verified by its checksum. A ledger that is open, or not yet written completely, is read through the broker instead.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from broker_core.names import ledger_name, parse_topic
from broker_core.storage import filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import Damaged
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import ENTRIES, HEADER, HEADER_SIZE, INDEX, ROW_SIZE
from broker_core.storage.records.spans import POINT_SIZE, Spans
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.missing_entries import HoleCheck
from pulsarctl.tables.protobuf_columns import Array

# Many rows at once cost less each, and a record of large messages that does not fit is read twice. A larger
# window does not fit in the processor's caches.
WINDOW_BYTES = 3 << 20
_TOTALS_SIZE = 7 * 8  # in the index record, in front of the points

_disk = RealDisk()


class LedgerFiles:
    """The sealed ledgers of one data directory, as of its last checkpoint."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        database = filenames.metadata_file(directory)
        if not database.exists():
            raise UsageProblem(
                f"option data_directory: {directory} is not a data directory of pulsarctl",
                hint="use the directory of `pulsarctl standalone`; every task must be able to read it",
            )
        try:
            connection = sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)
            with connection:
                self._names = dict(connection.execute("SELECT id, name FROM managed_ledger"))
                self._owners = dict(connection.execute("SELECT id, owner FROM ledger WHERE sealed_ms > 0"))
            connection.close()
        except sqlite3.Error as error:
            raise CliError(f"cannot read {database}: {error}") from error

    def path_of(self, topic: str, ledger_id: int) -> str:
        """The file of a sealed ledger of this topic, or an empty text: read it through the broker."""
        if self._names.get(self._owners.get(ledger_id)) != ledger_name(parse_topic(topic)):
            return ""
        path = filenames.ledger_file(self._directory, ledger_id)
        return str(path) if path.exists() else ""


class LedgerFileReader:
    """Reads entries `first` to `last` of one file, without the ranges of entries in `aborted`."""

    def __init__(
        self,
        path: str,
        topic: str,
        ledger_id: int,
        first: int,
        last: int,
        missing: HoleCheck,
        aborted: Sequence[Sequence[int]] = (),
    ) -> None:
        self._aborted = aborted
        self._path = Path(path)
        self._topic = topic
        self._ledger_id = ledger_id
        self._first = first
        self._last = last
        self._missing = missing

    def runs(self) -> Iterator[EntryRun]:
        """Raises `DamagedEntry`, `DataLoss`, and `CliError` for a file that cannot be opened."""
        try:
            fd = _disk.open_to_read(self._path)
        except OSError as error:
            raise CliError(
                f"cannot read {self._path}: {error.strerror}",
                hint="every task must be able to read data_directory; or leave it out to read through the broker",
            ) from error
        try:
            yield from self._runs(fd)
        except Damaged as damage:
            raise DamagedEntry(f"cannot read ledger {self._ledger_id} of {self._topic}: {damage}") from damage
        finally:
            os.close(fd)

    def _runs(self, fd: int) -> Iterator[EntryRun]:
        ledger_file.check_header(self._path, _disk.pread(fd, ledger_file.DATA_START, 0), self._ledger_id)
        end, index = ledger_file.read_index(_disk, fd, self._path, INDEX)
        count = HEADER.unpack_from(index)[5]
        at = HEADER_SIZE + _TOTALS_SIZE
        spans = Spans.decode(memoryview(index)[at : at + POINT_SIZE * count], count)
        start = spans.offset[max(spans.find(self._first), 0)] if count else end
        expected, window = self._first, _Window(b"")
        for _, data, inside in ledger_file.scan(_disk, fd, self._path, start, end, WINDOW_BYTES):
            _, _, kind, _, _, n, owner, first, base, _ = HEADER.unpack_from(data, inside)
            if kind != ENTRIES or owner != self._ledger_id or first + n <= self._first:
                continue
            if first > self._last:
                break
            if data is not window.data:
                yield from self._run(window)
                window = _Window(data)
            if first > expected:
                self._missing.check(self._ledger_id, expected, min(first - 1, self._last))
            window.add(inside, first, n, base)
            expected = first + n
        yield from self._run(window)
        if expected <= self._last:
            self._missing.check(self._ledger_id, expected, self._last)

    def _run(self, window: "_Window") -> Iterator[EntryRun]:
        """What the window has of the range, without markers and aborted messages, which no reader gets."""
        if not window.tables:
            return
        entry_ids, starts, ends, messages = window.columns()
        chosen = (entry_ids >= self._first) & (entry_ids <= self._last) & (messages > 0)
        for begin, end in self._aborted:
            chosen &= (entry_ids < begin) | (entry_ids > end)
        if not chosen.all():
            entry_ids, starts, ends = entry_ids[chosen], starts[chosen], ends[chosen]
        if len(entry_ids):
            yield EntryRun(self._topic, self._ledger_id, entry_ids, window.data, starts, ends, verify=False)


class _Window:
    """The tables of the records in one piece of the file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tables: list[Array] = []  # starts, ends, and numbers of messages
        self._firsts: list[int] = []
        self._shifts: list[int] = []

    def add(self, inside: int, first: int, n: int, base: int) -> None:
        at = inside + HEADER_SIZE
        self.tables.append(np.ndarray((3, n), "<u4", self.data, at))
        self._firsts.append(first)
        self._shifts.append(at + ROW_SIZE * n - base)

    def columns(self) -> tuple[Array, Array, Array, Array]:
        """Entry IDs, starts, ends, and numbers of messages."""
        sizes = np.array([table.shape[1] for table in self.tables])
        starts, ends, messages = np.concatenate(self.tables, axis=1).astype(np.int64)
        shifts = np.repeat(self._shifts, sizes)
        offsets = np.repeat(np.array(self._firsts) - (np.cumsum(sizes) - sizes), sizes)
        return np.arange(len(starts)) + offsets, starts + shifts, ends + shifts, messages
