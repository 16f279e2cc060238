"""Journal files: their groups and records, and where synced ones are gone."""

from collections.abc import Iterator
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.errors import DamageReport, StorageError
from broker_core.storage.log.synced_mark import read_mark
from broker_core.storage.records import journal_group
from broker_core.storage.records.journal_file import Window, header_problem
from broker_core.storage.repair.inspection.read_only import LineOrDamage, disk
from broker_core.storage.repair.inspection.record_lines import described


def journal_lines(path: Path) -> Iterator[LineOrDamage]:
    number = filenames.journal_number(path.name) or 0
    fd = disk.open_to_read(path)
    try:
        data = disk.pread(fd, journal_group.FILE_HEADER.size, 0)
        reason = header_problem(path, data, number)
        if reason:
            yield DamageReport(path, 0, reason)
        else:
            yield f"  journal {number}; journal {number - 1} ended at {journal_group.FILE_HEADER.unpack(data)[4]}"
        window = Window(disk, fd, number, _synced_end(path, number) or disk.size(fd))
        yield from _groups(path, window, _surely_synced(path, number))
    except StorageError as error:
        yield DamageReport(path, 0, str(error))
    finally:
        disk.close(fd)


def _synced_end(path: Path, number: int) -> int | None:
    """The end of this journal as the next one names it."""
    following = filenames.journal_file(path.parent, number + 1)
    if not following.exists():
        return None
    data = following.read_bytes()[: journal_group.FILE_HEADER.size]
    return None if header_problem(following, data, number + 1) else int(journal_group.FILE_HEADER.unpack(data)[4])


def _surely_synced(path: Path, number: int) -> int:
    """Up to where the file was synced at least, from `SYNCED`; 0 if that says nothing about this file."""
    mark = read_mark(disk, filenames.synced_file(path.parent.parent))
    return mark.end if mark is not None and mark.number == number else 0


def _groups(path: Path, window: Window, sure: int) -> Iterator[LineOrDamage]:
    """`sure`: a group that ends before it was synced, so it is not a torn tail."""
    at = journal_group.FILE_HEADER.size
    while at < window.end:
        reason, length = window.load_group(at)
        if reason is None:
            yield f"  {at:>10} group of {length} bytes"
            for start, end, *_ in window.records:
                yield f"  {window.base + start:>10}   {described(window.data[start:end])}"
            at += length
            continue
        following = window.next_group(at + 1)
        if following is None and at < sure:
            yield DamageReport(path, at, f"{reason}; synced groups up to {sure} are gone")
            return
        if following is None:
            rest = window.end - at
            yield f"  {at:>10} end of the groups; {rest} bytes of preallocated or torn space"
            return
        yield DamageReport(path, at, reason)
        at = following
    if at < sure:
        yield DamageReport(path, at, f"the file ends before {sure}, up to where it was synced")
