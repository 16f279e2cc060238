"""A ledger file whose sync failed, written again from the journal."""

from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.disk import Disk
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import ENTRIES, HEADER
from broker_core.storage.records.journal_file import records


def rewrite_ledger(
    disk: Disk, fd: int, directory: Path, first_number: int, ledger_id: int, entries: int, end: int
) -> None:
    """Writes again what the journal files from `first_number` on hold of a ledger, after the checkpoint's end.

    Blocks. The journal may be growing: a group that is not complete yet is not needed yet.
    """
    numbers = (filenames.journal_number(name) for name in disk.list_directory(directory))
    at = end or ledger_file.DATA_START
    expected = entries
    for number in sorted(number for number in numbers if number is not None and number >= first_number):
        for record in records(disk, filenames.journal_file(directory, number), number):
            _, length, kind, _, _, n, owner, first, _, _ = HEADER.unpack_from(record)
            if kind == ENTRIES and owner == ledger_id and first >= expected:  # what damage has taken leaves a gap
                disk.pwrite(fd, record, at)
                at += length
                expected = first + n
