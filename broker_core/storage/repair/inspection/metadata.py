"""The metadata database and the catalog log: their rows and commits, and where the two disagree."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from broker_core.storage import filenames
from broker_core.storage.catalog.catalog_log import CatalogLog, decode_commit
from broker_core.storage.catalog.transaction_rows import OUTCOMES, inflate_outcomes, inflate_ranges
from broker_core.storage.errors import DamageReport
from broker_core.storage.records import changes
from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.block import HEADER, PAGE_SUMS
from broker_core.storage.records.open_batches import inflate_batches
from broker_core.storage.repair.inspection.read_only import LineOrDamage, disk, reading


def catalog_log_lines(path: Path) -> Iterator[LineOrDamage]:
    catalog_log = CatalogLog(disk, path)
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


def database_lines(path: Path) -> Iterator[LineOrDamage]:
    try:
        with reading(path) as connection:
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
    """The differences between the database and the catalog log."""
    catalog_log = CatalogLog(disk, filenames.catalog_log(path.parent))
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


def _table(connection: sqlite3.Connection, table: str) -> Iterator[LineOrDamage]:
    cursor = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608  # one of `tables.TABLES`
    columns = [column[0] for column in cursor.description]
    for row in cursor:
        values = dict(zip(columns, row, strict=True))
        if table == "ack_window":
            window = AckWindow.decode(values["base"], values["acked"])
            values["acked"] = [[a, b - 1] for a, b in window.acked_ranges(0)]
        if table == "ack_batches":
            batches = inflate_batches(values["open"], values["batches"])
            values["open"] = {entry_id: changes.describe_batch(batch) for entry_id, batch in batches.items()}
        if table == "aborted_entries":
            values["ranges"] = inflate_ranges(values["ranges"])
        if values.get("key") == OUTCOMES:
            values["value"] = inflate_outcomes(values["value"])
        yield f"  {table} {json.dumps(values, ensure_ascii=False)}"


def stored_documents(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Kind, key and value of every document in a data directory or its database; none of one that cannot be read."""
    database = filenames.metadata_file(path) if path.is_dir() else path
    if database.suffix != ".sqlite" or not database.exists():
        return
    try:
        with reading(database) as connection:
            rows = connection.execute("SELECT kind, key, doc FROM document ORDER BY kind, key").fetchall()
        for kind, key, doc in rows:
            yield kind, key, json.loads(doc)
    except (sqlite3.DatabaseError, ValueError):
        return  # `find_damage` reports it


def first_journal(directory: Path) -> int:
    database = filenames.metadata_file(directory)
    try:
        with reading(database) as connection:
            row = connection.execute("SELECT value FROM instance WHERE key = 'first_journal'").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return int(row[0]) if row else 0
