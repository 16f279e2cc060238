"""Brings an older data directory to the format of this release, in place.

Each step takes a directory from one version to the next. A step may be killed at any point and is then repeated from
its beginning, so it must be idempotent; only after it the FORMAT file names the new version.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.catalog.database import refused
from broker_core.storage.catalog.tables import BATCH_TABLE, OFFLOAD_TABLES, TRANSACTION_TABLES, TRIMMED_TABLE
from broker_core.storage.disk import Disk
from broker_core.storage.errors import FormatTooNew, NotOurDirectory

Step = Callable[[Disk, Path], None]


def _add_batch_table(disk: Disk, directory: Path) -> None:
    """The files are read as they are: the newer version only uses what the older one left at 0."""
    database = filenames.metadata_file(directory)
    with refused(database), contextlib.closing(disk.connect(database)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(BATCH_TABLE)
        disk.commit(connection)


def _nothing(disk: Disk, directory: Path) -> None:
    """The new version only keeps older releases from a directory that they would read in part.

    3: a start without a catalog log begins one. 7: acknowledgments in transactions.
    """


def _add_tables(statements: Sequence[str], disk: Disk, directory: Path) -> None:
    """A directory that lost its database gets one with these tables from `pulsarctl storage rebuild`."""
    database = filenames.metadata_file(directory)
    if not disk.exists(database):
        return
    with refused(database), contextlib.closing(disk.connect(database)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements:
            connection.execute(statement)
        disk.commit(connection)


REPAIR = "if a broker wrote this directory, run 'pulsarctl storage rebuild {}'"
OLDEST = 1

STEPS: Mapping[int, Step] = {
    1: _add_batch_table,
    2: _nothing,
    3: partial(_add_tables, OFFLOAD_TABLES),
    4: partial(_add_tables, (TRIMMED_TABLE,)),
    5: partial(_add_tables, TRANSACTION_TABLES),
    6: _nothing,
}  # version -> the step that makes the next version from it


def migrate(
    disk: Disk, directory: Path, steps: Mapping[int, Step] = STEPS, target: int = filenames.FORMAT_VERSION
) -> None:
    """Blocks. Raises FormatTooNew, NotOurDirectory. The caller holds the directory's lock."""
    version = check_version(disk, directory, target)
    while version < target:
        steps[version](disk, directory)
        version += 1
        write_version(disk, directory, version)


def check_version(disk: Disk, directory: Path, target: int = filenames.FORMAT_VERSION) -> int:
    """The version of the directory. Raises FormatTooNew, NotOurDirectory."""
    version = read_version(disk, directory)
    if version > target:
        raise FormatTooNew(directory, version, target)
    return version


def read_version(disk: Disk, directory: Path) -> int:
    path = filenames.format_file(directory)
    fd = disk.open(path)
    try:
        version = filenames.parse_format(disk.pread(fd, 100, 0).decode("utf-8", "replace"))
    finally:
        disk.close(fd)
    if version is None or version < 1:
        raise NotOurDirectory(f"{path} is not a FORMAT file of pulsarctl; {REPAIR.format(directory)}")
    return version


def write_version(disk: Disk, directory: Path, version: int) -> None:
    disk.replace(filenames.format_file(directory), filenames.FORMAT_TEXT.format(version).encode())
