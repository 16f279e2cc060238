"""Compacted ledgers: entries under their original positions."""

import asyncio
import threading
from pathlib import Path

import pytest

from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import Damaged
from broker_core.storage.filenames import compacted_file
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.condition import until
from tests.support.held_disk import HeldReads
from tests.support.storage import append, entries_of, opened, run_of


class HeldWrites(RealDisk):
    """The write to a compacted ledger waits while `go` is clear, and sets `arrived`."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.arrived = threading.Event()
        self.compacted = -1
        self.closed_while_written = False

    def open(self, path: Path, *, create: bool = False) -> int:
        fd = super().open(path, create=create)
        if path.suffix == ".compacted":
            self.compacted = fd
        return fd

    def pwrite(self, fd: int, data: bytes, offset: int) -> None:
        if fd == self.compacted:
            self.arrived.set()
            self.go.wait(20)
        super().pwrite(fd, data, offset)

    def close(self, fd: int) -> None:
        self.closed_while_written |= fd == self.compacted and not self.go.is_set()
        super().close(fd)


SURVIVORS = [Position(3, i) for i in range(0, 3000, 2)] + [Position(7, i) for i in range(10)]


def entry_at(position: Position) -> bytes:
    return b"entry %d:%d" % position + b"." * 100


async def test_entries_are_found_by_the_first_id_at_or_after_a_position(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a"))
    writer = await ledger.create_compacted()
    for position in SURVIVORS:
        writer.append(position, entry_at(position), 1, 99)
        await writer.flush()
    compacted = await writer.seal()
    assert (compacted.entries, compacted.messages, compacted.last_position) == (1510, 1510, Position(7, 9))
    blocks = await compacted.read(Position(3, 2001), 1, 1)
    assert (blocks[0].ledger_id, blocks[0].first_entry_id) == (3, 2002)
    assert await compacted.read(Position(7, 10), 10, 10) == []
    assert [len(block) for block in await compacted.read(Position(5, 0), 100, 1 << 20)] == [10]
    await engine.close()
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    reopened = await ledger.open_compacted(compacted.ledger_id)
    assert reopened is not None
    compacted = reopened
    found, start = {}, EARLIEST
    while blocks := await compacted.read(start, 5000, 1 << 18):
        for block in blocks:
            for i, entry in enumerate(entries_of(block)):
                start = Position(block.ledger_id, block.first_entry_id + i)
                found[start] = entry
        start = start.next
    assert found == {position: entry_at(position) for position in SURVIVORS}
    await compacted.close()
    await engine.close()


async def test_leftovers_of_a_killed_compaction_are_removed_by_the_next(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a"))
    writer = await ledger.create_compacted()
    writer.append(Position(1, 0), b"x", 1, 1)
    await writer.flush()
    leftover = compacted_file(engine.path, writer.ledger_id)
    await engine.close()
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    assert leftover.exists()
    new = await ledger.create_compacted()
    assert new.ledger_id > writer.ledger_id
    assert not leftover.exists()
    await new.abandon()
    await engine.close()


async def test_a_new_result_replaces_the_old_one(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    results = []
    for _ in range(2):
        writer = await ledger.create_compacted()
        writer.append(Position(1, 0), b"x", 1, 1)
        results.append(await writer.seal())
    assert results[0].path.exists()
    await ledger.delete_compacted(results[0])
    assert not results[0].path.exists()
    assert len(await results[1].read(EARLIEST, 1, 1)) == 1
    await results[1].close()
    await engine.close()


async def test_damage_is_recorded_and_skipped_once_it_is_accepted(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a"))
    writer = await ledger.create_compacted()
    for position in SURVIVORS:
        writer.append(position, entry_at(position), 1, 99)
    compacted = await writer.seal()
    data = bytearray(compacted.path.read_bytes())
    data[data.index(entry_at(SURVIVORS[0]))] ^= 1
    compacted.path.write_bytes(data)
    with pytest.raises(Damaged):
        await compacted.read(EARLIEST, 5000, 1 << 20)
    assert [(report.path, report.topic) for report in engine.damage.open] == [(compacted.path, "t")]
    await engine.accept_loss()
    [block, *_] = await compacted.read(EARLIEST, 5000, 1 << 20)
    assert Position(block.ledger_id, block.first_entry_id) > SURVIVORS[0]
    await engine.close()


async def test_a_missing_compacted_ledger_is_recorded(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    with pytest.raises(Damaged, match="compacted ledger is missing"):
        await ledger.open_compacted(77)
    assert [report.reason for report in engine.damage.open] == ["compacted ledger is missing"]
    await engine.accept_loss()
    assert await ledger.open_compacted(77) is None
    await engine.close()


async def test_a_compaction_that_is_canceled_in_a_write_closes_the_file_after_the_write(tmp_path: Path) -> None:
    disk = HeldWrites()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a"))
    writer = await ledger.create_compacted()
    writer.append(Position(1, 0), b"x", 1, 1)

    async def compact() -> None:
        try:
            await writer.seal()
        except BaseException:
            await writer.abandon()
            raise

    compacting = asyncio.ensure_future(compact())
    await asyncio.to_thread(disk.arrived.wait, 20)
    for _ in range(2):
        compacting.cancel()
        await asyncio.sleep(0)
    await engine.read_thread(lambda: None)
    disk.go.set()
    await asyncio.wait([compacting])
    assert compacting.cancelled()
    assert not disk.closed_while_written
    assert not compacted_file(engine.path, writer.ledger_id).exists()
    await engine.close()


async def test_a_read_ends_on_its_own_file_while_the_ledger_is_closed(tmp_path: Path) -> None:
    disk = HeldReads()
    engine = await opened(tmp_path, disk=disk)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a"))
    writer = await ledger.create_compacted()
    writer.append(Position(1, 0), b"kept", 1, 1)
    compacted = await writer.seal()
    disk.hold_after(0)
    reading = asyncio.ensure_future(compacted.read(EARLIEST, 10, 1 << 20))
    await until(disk.arrived.is_set)
    await compacted.close()
    disk.go.set()
    assert [entries_of(block) for block in await reading] == [[b"kept"]]
    with pytest.raises(FileNotFoundError):
        await compacted.read(EARLIEST, 10, 1 << 20)
    await engine.close()
