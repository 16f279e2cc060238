"""Ledger files, sealed or not, and files of compacted ledgers: their records, and where one is damaged."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.errors import Damaged, DamageReport, StorageError
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import COMPACTED_INDEX, HEADER, INDEX
from broker_core.storage.repair.inspection.read_only import LineOrDamage, disk, reading
from broker_core.storage.repair.inspection.record_lines import described


def ledger_lines(path: Path) -> Iterator[LineOrDamage]:
    yield from _sealed_file(path, INDEX)


def compacted_lines(path: Path) -> Iterator[LineOrDamage]:
    yield from _sealed_file(path, COMPACTED_INDEX)


def _sealed_file(path: Path, index_kind: int) -> Iterator[LineOrDamage]:
    fd = disk.open_to_read(path)
    try:
        data = disk.pread(fd, ledger_file.DATA_START, 0)
        ledger_file.check_header(path, data, filenames.ledger_number(path.with_suffix(".ledger").name) or 0)
        version, _, ledger_id, created_ms = ledger_file.header_fields(data)
        yield f"  ledger {ledger_id} format {version} created {created_ms}"
        end, line = _end_of_data(path, fd, index_kind)
        for offset, buffer, inside in ledger_file.scan(disk, fd, path, ledger_file.DATA_START, end):
            yield f"  {offset:>10} {described(buffer[inside : inside + HEADER.unpack_from(buffer, inside)[1]])}"
        yield line
    except Damaged as damage:
        yield DamageReport(damage.path, damage.offset, damage.reason)
    except StorageError as error:
        yield DamageReport(path, 0, str(error))
    finally:
        disk.close(fd)


def _end_of_data(path: Path, fd: int, index_kind: int) -> tuple[int, str]:
    """The offset at which the records end, and a line about what follows."""
    size = disk.size(fd)
    try:
        offset, index = ledger_file.read_index(disk, fd, path, index_kind)
    except Damaged as damage:
        if index_kind == COMPACTED_INDEX or "not sealed" not in damage.reason:
            raise
        end = _known_end(path)
        return (size if end is None else min(end, size)), f"  {size:>10} end; not sealed"
    return offset, f"  {offset:>10} {described(index)}; sealed"


def _known_end(path: Path) -> int | None:
    """The end of an open ledger as of the last checkpoint, when the file lies in its data directory."""
    database = filenames.metadata_file(path.parent.parent.parent)
    if not database.exists():
        return None
    sql = "SELECT end_offset FROM ledger WHERE id = ?"
    try:
        with reading(database) as connection:
            row = connection.execute(sql, (filenames.ledger_number(path.name),)).fetchone()
    except sqlite3.DatabaseError:
        return None  # its damage is reported with that file
    return max(row[0], ledger_file.DATA_START) if row else ledger_file.DATA_START
