"""Ledgers that are on disk and that a rebuilt catalog does not know, or knows too little about.

A ledger file tells all about itself, except its owner. The journal may name that; a managed ledger whose name
is not known gets one that says so, in the default namespace, and all its entries can be read.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from broker_core.clock import SystemClock
from broker_core.storage import filenames
from broker_core.storage.catalog import tables
from broker_core.storage.catalog.catalog_rows import ledger_row
from broker_core.storage.catalog.transaction_rows import IDS_END
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged
from broker_core.storage.records import changes, ledger_file
from broker_core.storage.records.block import CHANGE, ENTRIES, HEADER
from broker_core.storage.records.catalog import Change, LedgerInfo
from broker_core.storage.records.journal_file import records

RECOVERED = "public/default/persistent/recovered-{}"  # the id of a managed ledger or, where none is known, a ledger


def adopt_strays(disk: Disk, path: Path, journals: Path, connection: sqlite3.Connection) -> list[str]:
    """Completes the tables; returns what could not be known. Blocks. Raises OSError."""
    owners = _Owners(disk, journals)
    unknown = _place_journal(disk, journals, connection)
    known = {row[0]: row[1] for row in connection.execute("SELECT id, owner FROM ledger")}
    adopted: dict[int, list[int]] = {}
    highest = max([0, *known, *known.values(), *owners.seen])
    for ledger_id, file in _files(disk, path):
        highest = max(highest, ledger_id)
        owner = known.get(ledger_id, owners.by_ledger.get(ledger_id, 0))
        if ledger_id not in known and owner in owners.named:
            continue  # the journal has all of it
        info = _measured(disk, file, ledger_id)
        if info is not None and info.entries and _is_more(connection, info):
            tables.execute(connection, ledger_row(owner or ledger_id, info))
            if ledger_id not in known:
                adopted.setdefault(owner or ledger_id, []).append(ledger_id)
    _raise(connection, "next_id", highest + 1)
    _raise(connection, IDS_END, SystemClock().wall_ms())  # no broker gives out 1,000 IDs a second for long
    return unknown + list(_named(connection, adopted))


class _Owners:
    """The owners of ledgers, as the journal names them."""

    def __init__(self, disk: Disk, directory: Path) -> None:
        self.by_ledger: dict[int, int] = {}  # ledger -> managed ledger
        self.named: set[int] = set()  # managed ledgers that the journal registers
        self.seen: set[int] = set()  # ids of any kind
        for number in _numbers(disk, directory):
            for record in records(disk, filenames.journal_file(directory, number), number):
                if HEADER.unpack_from(record)[2] == CHANGE:
                    self._note(changes.parse(record))

    def _note(self, values: Change) -> None:
        self.seen |= {values["owner"], values.get("id", 0), values.get("cursor", 0)}
        if values["op"] == "managed-ledger":
            self.named.add(values["owner"])
        elif values["op"] in ("ledger", "seal"):
            self.by_ledger[values["id"]] = values["owner"]


def _numbers(disk: Disk, directory: Path) -> list[int]:
    if not disk.exists(directory):
        return []
    numbers = (filenames.journal_number(name) for name in disk.list_directory(directory))
    return sorted(number for number in numbers if number is not None)


def unexplained(disk: Disk, path: Path, journals: Path, connection: sqlite3.Connection) -> str:
    """The sign that commits, or later journal files, are lost; "" without any. Blocks. Raises OSError.

    A checkpoint removes journal files only after its commit, and ids that the tables do not count are in the journal.
    """
    row = connection.execute("SELECT value FROM instance WHERE key = 'next_id'").fetchone()
    next_id, seen = (row[0] if row else 1), _Owners(disk, journals).seen
    later = [ledger_id for ledger_id, _ in _files(disk, path) if ledger_id >= next_id and ledger_id not in seen]
    return _gap(disk, journals, connection) or (f"ledger {later[0]} is not known" if later else "")


def _gap(disk: Disk, directory: Path, connection: sqlite3.Connection) -> str:
    numbers = _numbers(disk, directory)
    first = _first_journal(connection) or 1
    return f"journal files {first} to {numbers[0] - 1} are gone" if numbers and first < numbers[0] else ""


def _place_journal(disk: Disk, directory: Path, connection: sqlite3.Connection) -> list[str]:
    """Sets the journal file that a start begins with, if the tables do not name it: the first one there is."""
    numbers = _numbers(disk, directory)
    if numbers and _first_journal(connection) is None:
        tables.execute(connection, tables.put("instance", "first_journal", numbers[0]))
    gap = _gap(disk, directory, connection)
    return [f"{gap}: acknowledgments and changes of topics in them are not known"] if gap else []


def _first_journal(connection: sqlite3.Connection) -> int | None:
    row = connection.execute("SELECT value FROM instance WHERE key = 'first_journal'").fetchone()
    return None if row is None else int(row[0])


def _files(disk: Disk, path: Path) -> Iterator[tuple[int, Path]]:
    root = filenames.ledgers_directory(path)
    for folder in sorted(disk.list_directory(root)) if disk.exists(root) else ():
        for name in sorted(disk.list_directory(root / folder)):
            ledger_id = filenames.ledger_number(name)
            if ledger_id is not None:
                yield ledger_id, root / folder / name


def _measured(disk: Disk, path: Path, ledger_id: int) -> LedgerInfo | None:
    """The info that the file itself gives: its records up to the first that cannot be trusted."""
    fd = disk.open(path)
    try:
        data = disk.pread(fd, ledger_file.DATA_START, 0)
        ledger_file.check_header(path, data, ledger_id)
        info = LedgerInfo(ledger_id, ledger_file.header_fields(data)[3], end=ledger_file.DATA_START)
        _count(disk, fd, path, info)
        return info
    except Damaged:
        return None
    finally:
        disk.close(fd)


def _count(disk: Disk, fd: int, path: Path, info: LedgerInfo) -> None:
    with contextlib.suppress(Damaged):
        for offset, data, inside in ledger_file.scan(disk, fd, path, info.end, disk.size(fd)):
            _, length, kind, _, _, _, owner, first, _, _ = HEADER.unpack_from(data, inside)
            if kind != ENTRIES or owner != info.id or first != info.entries:
                break
            n, messages, size, newest_ms = ledger_file.table_totals(data, inside)
            info.entries, info.messages, info.size = info.entries + n, info.messages + messages, info.size + size
            info.end = offset + length
            info.newest_ms = info.written_ms = max(info.newest_ms, newest_ms)


def _is_more(connection: sqlite3.Connection, info: LedgerInfo) -> bool:
    row = connection.execute("SELECT entries FROM ledger WHERE id = ?", (info.id,)).fetchone()
    return row is None or row[0] < info.entries


def _raise(connection: sqlite3.Connection, key: str, at_least: int) -> None:
    row = connection.execute("SELECT value FROM instance WHERE key = ?", (key,)).fetchone()
    tables.execute(connection, tables.put("instance", key, max(at_least, row[0] if row else 1)))


def _named(connection: sqlite3.Connection, adopted: dict[int, list[int]]) -> Iterator[str]:
    """Gives managed ledgers that have no name one, and says so."""
    for owner, ledgers in adopted.items():
        if connection.execute("SELECT 1 FROM managed_ledger WHERE id = ?", (owner,)).fetchone():
            continue
        name = RECOVERED.format(owner)
        tables.execute(connection, tables.put("managed_ledger", owner, name, "{}", "[]", None, None))
        which = "ledger " + ", ".join(map(str, ledgers)) if len(ledgers) == 1 else f"ledgers {ledgers}"
        yield f"the topic of {which} is not known: its messages are in {name}"
