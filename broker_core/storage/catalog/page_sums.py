"""Checksums of the pages of metadata.sqlite, which SQLite itself does not keep.

They are taken whenever the write-ahead log has been merged into the database. Until the next time only a merge
changes the database file, and whatever that may touch is in the write-ahead log: any other page has to match.
"""

import struct
from array import array
from collections.abc import Callable, Container, Iterable

from crc32c import crc32c

PAGE = 4096
_WAL_HEADER = struct.Struct(">IIIIIIII")  # magic, format, page size, sequence, two salts, two checksums
_FRAME = struct.Struct(">IIIIII")  # page number, pages of the database, two salts, two checksums
_WAL_MAGIC = (0x377F0682, 0x377F0683)


def sums_of(blocks: Iterable[bytes]) -> "array[int]":
    """The sums of the pages of a database, given in blocks of whole pages."""
    sums = array("I")
    for block in blocks:
        pages = memoryview(block)
        sums.extend([crc32c(pages[at : at + PAGE]) for at in range(0, len(pages), PAGE)])
    return sums


def first_difference(current: "array[int]", sums: "array[int]", replaced: Container[int]) -> int | None:
    """Offset of the first page that is neither what it was when `sums` were taken nor among those `replaced` since."""
    for index, checksum in enumerate(sums):
        if (index >= len(current) or current[index] != checksum) and index + 1 not in replaced:
            return index * PAGE
    return None


def pages_in(read: Callable[[int, int], bytes], size: int) -> set[int]:
    """The numbers of the pages in a write-ahead log; frames of an earlier use of the file do not count.

    `read` takes a length and an offset in the file of that size. Whether SQLite accepts the frames is not checked: a
    commit that it drops is missed by its number.
    """
    if size < _WAL_HEADER.size:
        return set()
    magic, _, page_size, _, *salts, _, _ = _WAL_HEADER.unpack(read(_WAL_HEADER.size, 0))
    if magic not in _WAL_MAGIC or page_size != PAGE:
        return set()
    pages = set()
    for at in range(_WAL_HEADER.size, size - _FRAME.size - PAGE + 1, _FRAME.size + PAGE):
        page, _, *frame_salts, _, _ = _FRAME.unpack(read(_FRAME.size, at))
        if frame_salts != salts:
            break
        pages.add(page)
    return pages
