"""Any of our files as readable lines, and what is wrong with them. Reads only; needs no lock.

`dump_lines` never stops at damage: it says so in a line, and goes on where the next sound part begins.
"""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from broker_core.clock import SystemClock, iso
from broker_core.storage import changes, directory, filenames, journal, ledger_file, migration
from broker_core.storage.ack_ranges import AckWindow
from broker_core.storage.block import (
    ACKS,
    BATCH_ACKS,
    CHANGE,
    COMPACTED,
    COMPACTED_INDEX,
    DELAYED,
    ENTRIES,
    HEADER,
    INDEX,
    PAGE_SUMS,
    read_delivery_times,
)
from broker_core.storage.catalog_log import CatalogLog, decode_commit
from broker_core.storage.damage import DamageRecord
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import Damaged, DamageReport, NotOurDirectory, StorageError
from broker_core.storage.journal_file import Window, header_problem, records
from broker_core.storage.open_batches import inflate_batches
from broker_core.storage.synced_mark import read_mark

_KINDS = {
    ENTRIES: "entries",
    CHANGE: "change",
    ACKS: "acks",
    BATCH_ACKS: "batch acks",
    INDEX: "index",
    COMPACTED: "compacted",
    COMPACTED_INDEX: "index",
}


class _LookOnly(RealDisk):
    def open(self, path: Path, *, create: bool = False) -> int:
        return self.open_to_read(path)


_disk = _LookOnly()

Found = str | DamageReport  # a line, or damage where it lies


def dump_lines(path: Path) -> Iterator[str]:
    """The lines of a file, or of all files of a data directory."""
    for found in _walk(path):
        yield f"DAMAGE {found}" if isinstance(found, DamageReport) else found


def find_damage(path: Path) -> list[DamageReport]:
    """Everything that cannot be trusted in a file or a data directory; every checksum is verified.

    Of a directory also what was found before, and lost by it; but nothing that an operator has accepted as lost.
    """
    damage = [found for found in _walk(path) if isinstance(found, DamageReport)]
    if not path.is_dir():
        return damage
    if not damage:
        damage = [*_missing(path), *_missing_journals(path)]
    record = recorded_damage(path)
    known = {(place.path, place.offset) for place in record.reports}
    return record.open + [place for place in damage if (place.path, place.offset) not in known]


def is_in_use(path: Path) -> bool:
    """Whether a broker uses that data directory, so that its files change during a check."""
    return path.is_dir() and _disk.is_locked(filenames.lock_file(path))


def recorded_damage(directory: Path) -> DamageRecord:
    """What is on record in a directory, also in one that is in use."""
    record = DamageRecord(_disk, directory, SystemClock().wall_ms)
    record.load()
    return record


def stored_documents(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Kind, key and value of every document in a data directory or its database; none of one that cannot be read."""
    database = filenames.metadata_file(path) if path.is_dir() else path
    if database.suffix != ".sqlite" or not database.exists():
        return
    try:
        with _reading(database) as connection:
            rows = connection.execute("SELECT kind, key, doc FROM document ORDER BY kind, key").fetchall()
        for kind, key, doc in rows:
            yield kind, key, json.loads(doc)
    except (sqlite3.DatabaseError, ValueError):
        return  # which `find_damage` reports


def _walk(path: Path) -> Iterator[Found]:
    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_dir():
        if _handler(path) is None:
            raise NotOurDirectory(f"{path} is no file of a data directory")
        yield from _file(path)
        return
    marker = filenames.format_file(path)
    if not marker.exists():
        repair = f"; {migration.REPAIR.format(path)}" if directory.has_data(_disk, path, path / "journal") else ""
        yield DamageReport(path, 0, f"no FORMAT file: not a data directory{repair}")
        return
    if filenames.lock_file(path).is_dir():
        yield DamageReport(filenames.lock_file(path), 0, "a directory, not the lock of a data directory; remove it")
    yield from _file(marker)
    first = _first_journal(path)
    for file in sorted(path.glob("**/*")):
        number = filenames.journal_number(file.name)
        if file.is_file() and file != marker and (number is None or number >= first):
            yield from _file(file)


def _file(path: Path) -> Iterator[Found]:
    handler = _handler(path)
    if handler is not None:
        with contextlib.suppress(FileNotFoundError):  # a broker has deleted it since it was listed
            yield f"{path} ({path.stat().st_size} bytes)"
            yield from handler(path)


def _handler(path: Path) -> Callable[[Path], Iterator[Found]] | None:
    if path.name == filenames.format_file(path.parent).name:
        return _marker
    if path.name == filenames.damage_file(path.parent).name:
        return _damage
    if path.name == filenames.catalog_log(path.parent).name:
        return _catalog_log
    handlers = {".journal": _journal, ".ledger": _ledger, ".compacted": _compacted, ".sqlite": _metadata}
    return handlers.get(path.suffix)


def _marker(path: Path) -> Iterator[Found]:
    version = filenames.parse_format(path.read_text("utf-8", "replace"))
    if version is None or version > filenames.FORMAT_VERSION:
        fault = "not a FORMAT file of pulsarctl" if version is None else f"format {version}"
        readable = f"this release reads formats up to {filenames.FORMAT_VERSION}"
        repair = migration.REPAIR.format(path.parent)
        yield DamageReport(path, 0, f"{fault}; {repair if version is None else readable}")
    else:
        yield f"  format {version}"


def _damage(path: Path) -> Iterator[Found]:
    for place in recorded_damage(path.parent).places:
        state = f"accepted at {iso(place.accepted_ms)}" if place.accepted_ms else "not accepted"
        yield f"  found at {iso(place.found_ms)}, {state}: {place.report}"


# ---- journal


def _journal(path: Path) -> Iterator[Found]:
    number = filenames.journal_number(path.name) or 0
    fd = _disk.open_to_read(path)
    try:
        data = _disk.pread(fd, journal.FILE_HEADER.size, 0)
        reason = header_problem(path, data, number)
        if reason:
            yield DamageReport(path, 0, reason)
        else:
            yield f"  journal {number}; journal {number - 1} ended at {journal.FILE_HEADER.unpack(data)[4]}"
        window = Window(_disk, fd, number, _synced_end(path, number) or _disk.size(fd))
        yield from _groups(path, window, _surely_synced(path, number))
    except StorageError as error:
        yield DamageReport(path, 0, str(error))
    finally:
        _disk.close(fd)


def _synced_end(path: Path, number: int) -> int | None:
    """What the next journal says of this one."""
    following = filenames.journal_file(path.parent, number + 1)
    if not following.exists():
        return None
    data = following.read_bytes()[: journal.FILE_HEADER.size]
    return None if header_problem(following, data, number + 1) else int(journal.FILE_HEADER.unpack(data)[4])


def _surely_synced(path: Path, number: int) -> int:
    """Up to where the file was synced at least, from `SYNCED`; 0 if that says nothing about this file."""
    mark = read_mark(_disk, filenames.synced_file(path.parent.parent))
    return mark.end if mark is not None and mark.number == number else 0


def _groups(path: Path, window: Window, sure: int) -> Iterator[Found]:
    """`sure`: what ends before it was synced, so it is no torn tail."""
    at = journal.FILE_HEADER.size
    while at < window.end:
        reason, length = window.load_group(at)
        if reason is None:
            yield f"  {at:>10} group of {length} bytes"
            for start, end, *_ in window.records:
                yield f"  {window.base + start:>10}   {_described(window.data[start:end])}"
            at += length
            continue
        following = window.next_group(at + 1)
        if following is None and at < sure:
            yield DamageReport(path, at, f"{reason}; synced groups up to {sure} are gone")
            return
        if following is None:
            rest = window.end - at
            yield f"  {at:>10} end of the groups; {rest} bytes of preallocated or torn space"
            return
        yield DamageReport(path, at, reason)
        at = following
    if at < sure:
        yield DamageReport(path, at, f"the file ends before {sure}, up to where it was synced")


def _described(record: bytes) -> str:
    crc, length, kind, flags, _, n, ledger_id, first, _, _ = HEADER.unpack_from(record)
    text = f"{_KINDS.get(kind, f'kind {kind}')} {length} bytes crc {crc:08x}"
    if kind == ENTRIES:
        _, messages, size, newest_ms = ledger_file.table_totals(record, 0)
        delayed = f" delivery times {read_delivery_times(record, length, n).tolist()}" if flags & DELAYED else ""
        entries = f"{ledger_id}:{first}..{first + n - 1}"
        return f"{text} {entries} {messages} messages {size} bytes newest {newest_ms}{delayed}"
    if kind == CHANGE:
        return f"{text} {json.dumps(changes.parse(record), ensure_ascii=False)}"
    if kind == ACKS:
        return f"{text} {changes.describe_acks(record)}"
    if kind == BATCH_ACKS:
        return f"{text} {changes.describe_batch_acks(record)}"
    return f"{text} of {ledger_id}: {n} rows"


# ---- ledgers


def _ledger(path: Path) -> Iterator[Found]:
    yield from _sealed_file(path, INDEX)


def _compacted(path: Path) -> Iterator[Found]:
    yield from _sealed_file(path, COMPACTED_INDEX)


def _sealed_file(path: Path, index_kind: int) -> Iterator[Found]:
    fd = _disk.open_to_read(path)
    try:
        data = _disk.pread(fd, ledger_file.DATA_START, 0)
        ledger_file.check_header(path, data, filenames.ledger_number(path.with_suffix(".ledger").name) or 0)
        version, _, ledger_id, created_ms = ledger_file.header_fields(data)
        yield f"  ledger {ledger_id} format {version} created {created_ms}"
        end, line = _end_of_data(path, fd, index_kind)
        for offset, buffer, inside in ledger_file.scan(_disk, fd, path, ledger_file.DATA_START, end):
            yield f"  {offset:>10} {_described(buffer[inside : inside + HEADER.unpack_from(buffer, inside)[1]])}"
        yield line
    except Damaged as damage:
        yield DamageReport(damage.path, damage.offset, damage.reason)
    except StorageError as error:
        yield DamageReport(path, 0, str(error))
    finally:
        _disk.close(fd)


def _end_of_data(path: Path, fd: int, index_kind: int) -> tuple[int, str]:
    """Where the records end, and what to say of the rest."""
    size = _disk.size(fd)
    try:
        offset, index = ledger_file.read_index(_disk, fd, path, index_kind)
    except Damaged as damage:
        if index_kind == COMPACTED_INDEX or "not sealed" not in damage.reason:
            raise
        end = _known_end(path)
        return (size if end is None else min(end, size)), f"  {size:>10} end; not sealed"
    return offset, f"  {offset:>10} {_described(index)}; sealed"


def _known_end(path: Path) -> int | None:
    """The end of an open ledger as of the last checkpoint, when the file lies in its data directory."""
    database = filenames.metadata_file(path.parent.parent.parent)
    if not database.exists():
        return None
    sql = "SELECT end_offset FROM ledger WHERE id = ?"
    try:
        with _reading(database) as connection:
            row = connection.execute(sql, (filenames.ledger_number(path.name),)).fetchone()
    except sqlite3.DatabaseError:
        return None  # which is reported where that file is looked at
    return max(row[0], ledger_file.DATA_START) if row else ledger_file.DATA_START


# ---- metadata


def _catalog_log(path: Path) -> Iterator[Found]:
    catalog_log = CatalogLog(_disk, path)
    state = catalog_log.read()
    for record in catalog_log.records():
        n, first = HEADER.unpack_from(record)[5], HEADER.unpack_from(record)[7]
        if HEADER.unpack_from(record)[2] == PAGE_SUMS:
            yield f"  sums of {n} pages"
            continue
        for change in decode_commit(record):
            values = [value if not isinstance(value, bytes) else f"{len(value)} bytes" for value in change.values]
            yield f"  commit {first} {'put' if change.put else 'delete'} {change.table} {json.dumps(values)}"
    if state.problem is not None:
        yield f"  {state.end:>10} end of the records; {path.stat().st_size - state.end} bytes are torn or damaged"


class _reading:
    """A connection that changes nothing, also in a directory that is in use."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *exception: object) -> None:
        self._connection.close()


def _metadata(path: Path) -> Iterator[Found]:
    try:
        with _reading(path) as connection:
            for (problem,) in connection.execute("PRAGMA integrity_check"):
                if problem != "ok":
                    yield DamageReport(path, 0, " ".join(problem.split()))
            yield from _against_log(path, connection)
            tables = [
                name
                for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            ]
            for table in tables:
                yield from _table(connection, table)
    except sqlite3.DatabaseError as error:
        yield DamageReport(path, 0, str(error))


def _against_log(path: Path, connection: sqlite3.Connection) -> Iterator[DamageReport]:
    """Where the database and the catalog log disagree."""
    catalog_log = CatalogLog(_disk, filenames.catalog_log(path.parent))
    if not catalog_log.exists:
        return
    state = catalog_log.read()
    row = connection.execute("SELECT value FROM instance WHERE key = 'commit'").fetchone()
    number = int(row[0]) if row else 0
    if state.commit + 1 < number:  # a crash may tear the last commit
        lacks = f"commits {state.commit + 1} to {number} are missing"
        yield DamageReport(catalog_log.path, state.end, state.problem.reason if state.problem else lacks)
    if state.commit > number:
        yield DamageReport(path, 0, f"commits {number + 1} to {state.commit} are missing")
    elif state.commit == number and state.problem is None and not catalog_log.equals(connection):
        yield DamageReport(path, 0, f"its rows are not those of {catalog_log.path.name}")


def _table(connection: sqlite3.Connection, table: str) -> Iterator[Found]:
    cursor = connection.execute(f'SELECT * FROM "{table}"')
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        values = dict(zip(columns, row, strict=True))
        if table == "ack_window":
            window = AckWindow.decode(values["base"], values["acked"])
            values["acked"] = [[a, b - 1] for a, b in window.acked_ranges(0)]
        if table == "ack_batches":
            batches = inflate_batches(values["open"], values["batches"])
            values["open"] = {entry_id: changes.describe_batch(batch) for entry_id, batch in batches.items()}
        yield f"  {table} {json.dumps(values, ensure_ascii=False)}"


def _first_journal(directory: Path) -> int:
    database = filenames.metadata_file(directory)
    try:
        with _reading(database) as connection:
            row = connection.execute("SELECT value FROM instance WHERE key = 'first_journal'").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return int(row[0]) if row else 0


def _missing_journals(directory: Path) -> Iterator[DamageReport]:
    """Journal files between the last checkpoint and the last sync that `SYNCED` names."""
    mark = read_mark(_disk, filenames.synced_file(directory))
    journals = directory / "journal"
    first = _first_journal(directory) or 1  # before the first checkpoint
    for number in range(first, mark.number + 1) if mark is not None and journals.is_dir() else ():
        path = filenames.journal_file(journals, number)
        if not path.exists():
            yield DamageReport(path, 0, "journal file is missing")


def _missing(directory: Path) -> list[DamageReport]:
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
        if number is not None and number >= _first_journal(directory):
            with contextlib.suppress(FileNotFoundError):  # a checkpoint has ended
                for record in records(_disk, path, number):
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
    with _reading(filenames.metadata_file(directory)) as connection:
        return {i for (i,) in connection.execute("SELECT id FROM ledger WHERE owner = ?", (change["owner"],))}


def _missing_of_checkpoint(directory: Path) -> Iterator[DamageReport]:
    """Ledger files that the last checkpoint counts on, and that are gone or too short."""
    database = filenames.metadata_file(directory)
    try:
        with _reading(database) as connection:
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
