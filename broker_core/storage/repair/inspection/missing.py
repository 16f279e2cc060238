"""Files that the last checkpoint or the last sync counts on, and that are gone or too short."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.errors import DamageReport
from broker_core.storage.log.synced_mark import read_mark
from broker_core.storage.records import changes
from broker_core.storage.records.block import CHANGE, HEADER
from broker_core.storage.records.journal_file import records
from broker_core.storage.repair.inspection.metadata import first_journal
from broker_core.storage.repair.inspection.read_only import disk, reading


def missing_journals(directory: Path) -> Iterator[DamageReport]:
    """Journal files between the last checkpoint and the last sync that `SYNCED` names."""
    mark = read_mark(disk, filenames.synced_file(directory))
    journals = directory / "journal"
    first = first_journal(directory) or 1  # before the first checkpoint
    for number in range(first, mark.number + 1) if mark is not None and journals.is_dir() else ():
        path = filenames.journal_file(journals, number)
        if not path.exists():
            yield DamageReport(path, 0, "journal file is missing")


def missing_ledgers(directory: Path) -> list[DamageReport]:
    """Ledger files that are gone or too short, and that the journal does not know to be removed.

    A ledger that was trimmed stays in the database until the next checkpoint. The second look is for a checkpoint that
    ends during the first, and takes the journal with it.
    """
    suspects = list(_missing_of_checkpoint(directory))
    if not suspects:
        return []
    removed = _removed_since_checkpoint(directory)
    still = {place.path for place in _missing_of_checkpoint(directory)}
    return [
        place for place in suspects if place.path in still and filenames.ledger_number(place.path.name) not in removed
    ]


def _removed_since_checkpoint(directory: Path) -> set[int]:
    """The ledgers whose removal is in the journal."""
    removed: set[int] = set()
    for path in sorted((directory / "journal").glob("*.journal")):
        number = filenames.journal_number(path.name)
        if number is not None and number >= first_journal(directory):
            with contextlib.suppress(FileNotFoundError):  # a checkpoint has ended
                for record in records(disk, path, number):
                    removed |= _removed_by(directory, record)
    return removed


def _removed_by(directory: Path, record: bytes) -> set[int]:
    if HEADER.unpack_from(record)[2] != CHANGE:
        return set()
    change = changes.parse(record)
    if change["op"] == "trim":
        return set(change["ids"])
    if change["op"] != "delete":
        return set()
    with reading(filenames.metadata_file(directory)) as connection:
        return {i for (i,) in connection.execute("SELECT id FROM ledger WHERE owner = ?", (change["owner"],))}


def _missing_of_checkpoint(directory: Path) -> Iterator[DamageReport]:
    """Ledger files that the last checkpoint counts on, and that are gone or too short."""
    database = filenames.metadata_file(directory)
    try:
        with reading(database) as connection:
            rows = connection.execute("SELECT id, end_offset FROM ledger WHERE entries > 0").fetchall()
            offloaded = set(_offloaded(connection))
    except sqlite3.DatabaseError as error:
        yield DamageReport(database, 0, str(error))
        return
    for ledger_id, end in rows:
        if ledger_id in offloaded:
            continue
        path = filenames.ledger_file(directory, ledger_id)
        if not path.exists():
            yield DamageReport(path, 0, "ledger file is missing")
        elif path.stat().st_size < end:
            yield DamageReport(path, path.stat().st_size, f"file ends before its {end} bytes")


def _offloaded(connection: sqlite3.Connection) -> Iterator[int]:
    """Ledgers whose file was deleted in favor of a copy in tiered storage; older formats have none."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'offload'").fetchone():
        for (ledger_id,) in connection.execute("SELECT ledger FROM offload WHERE local_gone AND owner != 0"):
            yield ledger_id
