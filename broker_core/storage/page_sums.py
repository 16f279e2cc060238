"""Checksums of the pages of metadata.sqlite, which SQLite itself does not keep.

They are taken whenever the write-ahead log has been merged into the database. Until the next time only a merge
changes the database file, and whatever that may touch is in the write-ahead log: any other page has to match.
"""

import struct
from array import array

from crc32c import crc32c

PAGE = 4096
_WAL_HEADER = struct.Struct(">IIIIIIII")  # magic, format, page size, sequence, two salts, two checksums
_FRAME = struct.Struct(">IIIIII")  # page number, pages of the database, two salts, two checksums
_WAL_MAGIC = (0x377F0682, 0x377F0683)


def sums_of(database: bytes) -> "array[int]":
    return array("I", [crc32c(database[at : at + PAGE]) for at in range(0, len(database), PAGE)])


def first_difference(database: bytes, sums: "array[int]", wal: bytes) -> int | None:
    """Offset of the first page that is neither what it was when `sums` were taken nor replaced by the log `wal`."""
    replaced = pages_in(wal)
    for index, (found, wanted) in enumerate(zip(_padded(database, len(sums)), sums, strict=True)):
        if found != wanted and index + 1 not in replaced:
            return index * PAGE
    return None


def _padded(database: bytes, pages: int) -> list[int | None]:
    found: list[int | None] = list(sums_of(database[: pages * PAGE]))
    return found + [None] * (pages - len(found))


def pages_in(wal: bytes) -> set[int]:
    """The numbers of the pages in a write-ahead log; frames of an earlier use of the file do not count.

    Whether SQLite accepts the frames is not checked: a commit that it drops is missed by its number.
    """
    if len(wal) < _WAL_HEADER.size:
        return set()
    magic, _, size, _, *salts, _, _ = _WAL_HEADER.unpack_from(wal)
    if magic not in _WAL_MAGIC or size != PAGE:
        return set()
    pages = set()
    for at in range(_WAL_HEADER.size, len(wal) - _FRAME.size - PAGE + 1, _FRAME.size + PAGE):
        page, _, *found, _, _ = _FRAME.unpack_from(wal, at)
        if found != salts:
            break
        pages.add(page)
    return pages
