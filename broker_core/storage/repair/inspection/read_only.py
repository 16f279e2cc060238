"""Access to the files of a data directory that changes nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import DamageReport


class _LookOnly(RealDisk):
    def open(self, path: Path, *, create: bool = False) -> int:
        return self.open_to_read(path)


disk = _LookOnly()

LineOrDamage = str | DamageReport  # a line, or damage where it lies


@contextmanager
def reading(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing, also in a directory that is in use."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        yield connection
