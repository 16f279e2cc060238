"""How much of a ledger file one read takes: more for readers that go forward, and no more than the cache can hold."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.block import Block
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import append, opened, run_of

ENTRIES, SIZE = 400, 10_000
ASKED_BYTES = 256 << 10
ASKED = (1000, ASKED_BYTES)  # as dispatchers do


class CountingDisk(FaultyDisk):
    """`taken` has the sizes of reads since it was cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[int] = []

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        self.taken.append(len(data))
        return data


@asynccontextmanager
async def stored(directory: Path, cache_mb: int = 32) -> AsyncIterator[tuple[ManagedLedger, CountingDisk]]:
    """4 MB of entries that are in the file only, and whose index is in memory."""
    engine = await opened(directory)
    ledger = await engine.open_ledger("t")
    for _ in range(ENTRIES // 10):
        await append(ledger, run_of(*(b"x" * SIZE for _ in range(10))))
    await engine.close()
    disk = CountingDisk()
    engine = await opened(directory, StorageConfig(cache_mb=cache_mb), disk=disk)
    ledger = await engine.open_ledger("t")
    await ledger.read(EARLIEST, *ASKED)
    disk.taken.clear()
    yield ledger, disk
    await engine.close()


async def all_of(ledger: ManagedLedger) -> list[Block]:
    blocks, at = [], EARLIEST
    while len(block := await ledger.read(at, *ASKED)):
        blocks.append(block)
        at = Position(block.ledger_id, block.last_entry_id + 1)
    return blocks


async def test_a_reader_that_goes_forward_takes_a_mebibyte_at_once(tmp_path: Path) -> None:
    async with stored(tmp_path) as (ledger, disk):
        assert sum(map(len, await all_of(ledger))) == ENTRIES
        assert len(disk.taken) <= 5
        assert max(disk.taken) <= 1 << 20


async def test_what_one_read_returns_does_not_keep_what_was_read_ahead(tmp_path: Path) -> None:
    async with stored(tmp_path) as (ledger, disk):
        first = await ledger.read(EARLIEST, *ASKED)
        following = await ledger.read(Position(first.ledger_id, first.last_entry_id + 1), *ASKED)
        assert max(disk.taken) > 2 * following.size
        assert len(following.data) <= 2 * following.size
        assert following.entry(len(following) - 1) == b"x" * SIZE


async def test_a_read_somewhere_else_takes_no_more_than_it_asks_for(tmp_path: Path) -> None:
    async with stored(tmp_path) as (ledger, disk):
        first = await ledger.read(EARLIEST, *ASKED)
        disk.taken.clear()
        await ledger.read(Position(first.ledger_id, 300), *ASKED)
        assert disk.taken
        assert max(disk.taken) <= ASKED_BYTES


async def test_a_cache_without_room_is_not_filled_with_what_is_read_ahead(tmp_path: Path) -> None:
    async with stored(tmp_path, cache_mb=1) as (ledger, disk):
        assert sum(map(len, await all_of(ledger))) == ENTRIES
        assert max(disk.taken) <= ASKED_BYTES
