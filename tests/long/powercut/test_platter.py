"""Tests the model of the disk, since a wrong model would make the power-cut test meaningless."""

import random
from pathlib import Path

import pytest

from tests.long.powercut.calls import (
    Call,
    CallLog,
    Created,
    DirectorySynced,
    Receipt,
    Removed,
    Renamed,
    Resized,
    Synced,
    Written,
)
from tests.long.powercut.platter import Image, Platter, sectors
from tests.long.powercut.recording_disk import RecordingDisk, changed_runs


def settled(*calls: Call) -> dict[str, bytes]:
    platter = Platter()
    for call in calls:
        platter.take(call)
    return contents(platter.settled())


def contents(image: Image) -> dict[str, bytes]:
    return {path: bytes(content.data).ljust(content.size, b"\0") for path, content in image.files.items()}


CREATED = (Created("f", 0), DirectorySynced(".", 1))


def test_a_write_survives_once_it_is_synced() -> None:
    assert settled(*CREATED, Written(0, 0, b"abc")) == {"f": b""}
    assert settled(*CREATED, Written(0, 0, b"abc"), Synced(0, 3)) == {"f": b"abc"}


def test_a_sync_does_not_cover_what_was_written_while_it_ran() -> None:
    assert settled(*CREATED, Written(0, 0, b"abc"), Written(0, 3, b"def"), Synced(0, 3)) == {"f": b"abc"}


def test_a_name_survives_once_its_directory_is_synced() -> None:
    assert settled(Created("f", 0), Written(0, 0, b"abc"), Synced(0, 2)) == {}


def test_a_removed_file_reappears_until_its_directory_is_synced() -> None:
    assert settled(*CREATED, Removed("f")) == {"f": b""}
    assert settled(*CREATED, Removed("f"), DirectorySynced(".", 3)) == {}


def test_a_rename_replaces_the_old_file_once_its_directory_is_synced() -> None:
    old = (*CREATED, Written(0, 0, b"old"), Synced(0, 3))
    new = (Created("g", 1), Written(1, 0, b"new"), Synced(1, 6), Renamed("g", "f"))
    assert settled(*old, *new) == {"f": b"old"}
    assert settled(*old, *new, DirectorySynced(".", 8)) == {"f": b"new"}


def test_preallocated_space_reads_as_zeros() -> None:
    assert settled(*CREATED, Resized(0, 6), Written(0, 1, b"x"), Synced(0, 4)) == {"f": b"\0x\0\0\0\0"}


def test_a_write_is_cut_at_sector_boundaries() -> None:
    assert [(at, len(data)) for at, data in sectors(Written(0, 500, bytes(600)))] == [(500, 12), (512, 512), (1024, 76)]


def test_a_torn_write_leaves_whole_sectors_old_or_new() -> None:
    platter = Platter()
    for call in (*CREATED, Written(0, 0, b"o" * 2048), Synced(0, 3), Written(0, 0, b"n" * 2048)):
        platter.take(call)
    seen = set()
    for seed in range(50):
        data = contents(platter.torn(random.Random(seed)))["f"]
        found = [data[at : at + 512] for at in range(0, 2048, 512)]
        assert set(found) <= {b"o" * 512, b"n" * 512}
        seen.add(bytes(sector[0] for sector in found))
    assert {b"oooo", b"nnnn"} < seen


def test_receipts_are_recorded() -> None:
    platter = Platter()
    platter.take(Receipt(3, 4))
    assert platter.receipts == {(3, 4)}


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        (b"", b"a" * 600, [(0, b"a" * 600)]),
        (b"a" * 1024, b"a" * 512 + b"b" * 512, [(512, b"b" * 512)]),
        (b"a" * 1024, b"a" * 1024, []),
    ],
)
def test_changes_are_found_by_sector(old: bytes, new: bytes, runs: list[tuple[int, bytes]]) -> None:
    assert changed_runs(old, new) == runs


def test_the_recording_of_a_disk_rebuilds_what_it_holds(tmp_path: Path) -> None:
    root, log = tmp_path / "data", CallLog()
    disk = RecordingDisk(root, log)
    disk.make_directory(root)
    fd = disk.open(root / "f", create=True)
    disk.preallocate(fd, 0, 4096)
    disk.pwrite(fd, b"hello", 10)
    disk.sync(fd)
    disk.replace(root / "g", b"replaced")
    connection = disk.connect(root / "m.sqlite")
    connection.execute("CREATE TABLE t(x)")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO t VALUES(1)")
    disk.commit(connection)
    rebuilt = settled(*log.calls)
    for name in ("f", "g", "m.sqlite", "m.sqlite-wal"):
        assert rebuilt[name] == (root / name).read_bytes()
    connection.close()
    disk.close(fd)
