"""How far the journal was synced, in a file of its own: `SYNCED`.

The end of the last journal file would otherwise be known from its groups alone, and a damaged last group would
look like one that a crash has torn. The mark is written a moment after a sync and never synced itself, so it may
be old: everything before it was synced, and what follows it may have been.
"""

from pathlib import Path
from typing import NamedTuple

from crc32c import crc32c

from broker_core.storage.disk import Disk

_TEXT = "journal {:010d} is synced up to {:015d} "


class Mark(NamedTuple):
    number: int  # of the journal file
    end: int  # offset in it


def write_mark(disk: Disk, path: Path, mark: Mark) -> None:
    """Blocks. Raises OSError."""
    text = _TEXT.format(*mark).encode()
    fd = disk.open(path, create=True)
    try:
        disk.pwrite(fd, text + b"%08x\n" % crc32c(text), 0)
    finally:
        disk.close(fd)


def read_mark(disk: Disk, path: Path) -> Mark | None:
    """Blocks. None where there is no mark, or none that can be trusted: then the groups alone tell."""
    if not disk.exists(path):
        return None
    fd = disk.open(path)
    try:
        data = disk.pread(fd, 200, 0)
    finally:
        disk.close(fd)
    text = data[: len(_TEXT.format(0, 0))]
    if data[len(text) :] != b"%08x\n" % crc32c(text):
        return None
    words = text.split()
    return Mark(int(words[1]), int(words[6]))
