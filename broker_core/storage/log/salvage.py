"""Finds where sound records continue after a damaged one.

A record's own length says it, unless that is what is damaged; then the bytes are searched. An entry's content may look
like a record, by chance or on purpose, so a place counts only if from there on one sound record with
consecutive entries follows the other, up to an end that is known.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged, Lost
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import ENTRIES, HEADER, HEADER_SIZE, check
from broker_core.storage.records.catalog import LedgerInfo

_KIND_AT = 8
_KIND = re.compile(rb"(?=\x01[\x00\x01]\x00\x00)", re.DOTALL)  # kind 1, flags, 0: in the header of a record of entries
_SEARCHED = 8 << 20  # bytes after the damage


def resume(data: bytes, at: int, stop: int, ledger_id: int, expected: int, *, whole: bool = True) -> int | None:
    """The offset in `data` of the first record after the damaged one at `at` that can be trusted.

    `expected`: the first entry of the damaged record. `whole`: the records end at `stop`, else one may be cut there.
    """
    if stop - at >= HEADER_SIZE:
        following = at + int(HEADER.unpack_from(data, at)[1])
        if at < following < stop and _follows(data, following, stop, ledger_id, expected, whole=whole):
            return following
    for match in _KIND.finditer(data, at + 1 + _KIND_AT, stop):
        start = match.start() - _KIND_AT
        if _follows(data, start, stop, ledger_id, expected, whole=whole):
            return start
    return None


def _follows(data: bytes, at: int, stop: int, ledger_id: int, expected: int, *, whole: bool) -> bool:
    """Whether sound records of later entries of the ledger stand from `at` on."""
    start = at
    while stop - at >= HEADER_SIZE:
        _, length, kind, _, _, n, owner, first, _, _ = HEADER.unpack_from(data, at)
        in_order = first > expected if at == start else first >= expected
        if kind != ENTRIES or owner != ledger_id or not in_order or length < HEADER_SIZE:
            return False
        if at + length > stop:
            return not whole and at > start
        if check(data, at, stop) is not None:
            return False
        expected = first + n
        at += length
    return at == stop or (not whole and at > start)


def survey(
    disk: Disk, fd: int, path: Path, info: LedgerInfo, on_damage: Callable[[Damaged], None]
) -> Iterator[tuple[int, bytes, int]]:
    """The sound records of a ledger file up to `info.end`, as from `scan`; damage goes to `on_damage`. Blocks."""
    at, expected = ledger_file.DATA_START, 0
    while at < info.end:
        try:
            for offset, data, inside in ledger_file.scan(disk, fd, path, at, info.end):
                _, length, _, _, _, n, _, first, _, _ = HEADER.unpack_from(data, inside)
                at, expected = offset + length, first + n
                yield offset, data, inside
            return
        except Damaged as damage:
            data = disk.pread(fd, min(_SEARCHED, info.end - at), at)
            following = resume(data, 0, len(data), info.id, expected, whole=at + len(data) == info.end)
            first = info.entries if following is None else HEADER.unpack_from(data, following)[7]
            on_damage(Damaged(path, damage.offset, damage.reason, Lost(info.id, expected, first - 1)))
            if following is None:
                return
            at += following
