"""Records that share one sync: a group in a journal file, and the callers that wait for it.

File layout (FORMAT.md): a header, then groups. A group's header names its journal and its own offset, so bytes of
another file or of an entry's content are never taken for a group; its trailer is the crc of all its records, so
a torn group is not completed by what its blocks held before.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from crc32c import crc32c

from broker_core.storage import filenames
from broker_core.storage.disk import Disk

FILE_MAGIC = b"PCJOURN1"
FILE_HEADER = struct.Struct("<8sIIQQI")  # magic, format version, 0, number, end of the previous journal, crc
GROUP_MAGIC = b"PCGR"
GROUP_HEADER = struct.Struct("<4sIQQII")  # magic, crc of the following fields, number, offset, length, records
GROUP_TRAILER = struct.Struct("<I")  # crc of all records of the group
AROUND = GROUP_HEADER.size + GROUP_TRAILER.size
_PIECE = 4 << 20
_WHOLE = 8 << 20  # a smaller group is one piece
_LARGE_PARTS = 8 << 10  # bytes on average: parts of that size are not copied
_MOST_PARTS = 1000  # of one call: IOV_MAX is 1024

Done = Callable[[Exception | None], None]


def file_header(number: int, previous_end: int) -> bytes:
    """`previous_end`: journal `number - 1` was synced up to there; the producers of anything after it got an error."""
    body = struct.pack("<8sIIQQ", FILE_MAGIC, filenames.FORMAT_VERSION, 0, number, previous_end)
    return body + struct.pack("<I", crc32c(body))


def group_header(number: int, offset: int, length: int, records: int) -> bytes:
    rest = struct.pack("<QQII", number, offset, length, records)
    return GROUP_MAGIC + struct.pack("<I", crc32c(rest)) + rest


Buffers = list[bytes | memoryview]


def _pieces(parts: Buffers) -> Iterator[Buffers]:
    """The parts, a few MB at a time: a group may be as large as the pressure allows, not twice that."""
    start = size = 0
    for index, part in enumerate(parts):
        size += len(part)
        if size >= _PIECE:
            yield _few(parts[start : index + 1], size)
            start, size = index + 1, 0
    if start < len(parts):
        yield _few(parts[start:], size)


def _few(parts: Buffers, size: int) -> Buffers:
    """Joins the parts, unless they are large: each copy of a batch costs as much as its checksum."""
    large = size >= _LARGE_PARTS * len(parts) and len(parts) <= _MOST_PARTS
    return parts if large else [b"".join(parts)]


def _checksum(piece: Buffers, crc: int = 0) -> int:
    for part in piece:
        crc = crc32c(part, crc)
    return crc


class Appender(Protocol):
    """The managed ledger that appended a run, and gets its result."""

    def confirm(self, appended: Any) -> None: ...

    def fail(self, appended: Any, error: Any) -> None: ...

    def group_ended(self) -> None:
        """After all of its runs in a synced group were confirmed."""


class Group:
    """Records that share one sync. `waiting`, in order: `(appender, appended)` for a run, otherwise `(None, done)`."""

    __slots__ = ("entries", "parts", "size", "waiting")

    def __init__(self) -> None:
        self.entries = 0
        self.parts: Buffers = []
        self.size = 0
        self.waiting: list[tuple[Appender | None, Any]] = []


def write_group(disk: Disk, fd: int, number: int, offset: int, group: Group, *, sync: bool) -> None:
    """Writes it to journal `number`, durable on return if `sync`; one piece, the usual case, by a single call."""
    header = group_header(number, offset, group.size, len(group.waiting))
    if group.size >= _WHOLE:
        _write_pieces(disk, fd, header, offset, group.parts)
        if sync:
            disk.sync(fd)
        return
    piece = _few(group.parts, group.size)
    piece = [header, *piece, GROUP_TRAILER.pack(_checksum(piece))]
    if sync:
        disk.write_synced(fd, piece, offset)
    else:
        disk.pwrite(fd, b"".join(piece), offset)


def _write_pieces(disk: Disk, fd: int, header: bytes, offset: int, parts: Buffers) -> None:
    disk.pwrite(fd, header, offset)
    crc, offset = 0, offset + len(header)
    for piece in _pieces(parts):
        crc = _checksum(piece, crc)
        disk.pwrite(fd, b"".join(piece), offset)
        offset += sum(map(len, piece))
    disk.pwrite(fd, GROUP_TRAILER.pack(crc), offset)
