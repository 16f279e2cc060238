"""The entries of a sealed ledger file on the broker's disk, for the worker that offloads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from broker_core.storage import ledger_file
from broker_core.storage.block import DELAYED, ENTRIES, HEADER, Block, Columns
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged


def blocks_of_file(disk: Disk, path: Path, ledger_id: int, entries: int, end: int) -> Iterator[Block]:
    """The records of a sealed ledger file, each as a block. Raises Damaged, also where entries are missing."""
    fd = disk.open(path)
    try:
        expected = 0
        for at, data, inside in ledger_file.scan(disk, fd, path, ledger_file.DATA_START, end):
            _, length, kind, flags, _, n, owner, first, base, _ = HEADER.unpack_from(data, inside)
            if kind != ENTRIES or owner != ledger_id or first != expected:
                raise Damaged(path, at, f"entry {expected} of ledger {ledger_id} is missing")
            columns = Columns()
            if flags & DELAYED:
                columns.add_delivery_times(data, inside + length, n)
            columns.add(data, inside, n, base)
            yield columns.block(ledger_id, first, data)
            expected += n
        if expected != entries:
            raise Damaged(path, end, f"the file has {expected} of {entries} entries")
    finally:
        disk.close(fd)
