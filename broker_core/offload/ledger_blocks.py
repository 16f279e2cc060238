"""The entries of a sealed ledger file on the broker's disk, for the worker that offloads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from broker_core.storage.disk import Disk
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import DELAYED, HEADER, Block, Columns
from broker_core.storage.records.catalog import LedgerInfo


def blocks_of_file(disk: Disk, path: Path, ledger_id: int, entries: int, end: int) -> Iterator[Block]:
    """The records of a sealed ledger file, each as a block. Raises Damaged, also where entries are missing."""
    fd = disk.open(path)
    try:
        info = LedgerInfo(ledger_id, 0, entries=entries, end=end)
        for data, inside in ledger_file.entry_records(disk, fd, path, info):
            _, length, _, flags, _, n, _, first, base, _ = HEADER.unpack_from(data, inside)
            columns = Columns()
            if flags & DELAYED:
                columns.add_delivery_times(data, inside + length, n)
            columns.add(data, inside, n, base)
            yield columns.block(ledger_id, first, data)
    finally:
        disk.close(fd)
