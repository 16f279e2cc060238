"""Every message has an index: the number of messages that its topic got before it, whatever was deleted since."""

import asyncio
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage.log.retention import Retention
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.position import EARLIEST, LATEST, Position
from broker_core.storage.records.spans import SPAN_ENTRIES
from tests.support.held_disk import HeldReads
from tests.support.storage import append, crash, opened, run_of

NOTHING_KEPT = Retention()


async def place_of(ledger: ManagedLedger, index: int) -> Position | None:
    found = await ledger.message_index.find(index)
    return None if found is None else found.position


async def indexes(ledger: ManagedLedger) -> list[tuple[Position, int | None]]:
    """Each entry with the messages before it."""
    found = []
    at = ledger.first_position
    while len(block := await ledger.read(at, 1, 1)):
        position = Position(block.ledger_id, block.first_entry_id)
        found.append((position, await ledger.message_index.before(position)))
        at = position.next
    return found


async def test_an_entry_is_found_by_the_index_of_each_of_its_messages(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(max_entries_per_ledger=3, reserve_mb=0))
    ledger = await engine.open_ledger("t")
    for counts in ([1, 5, 2], [3, 0, 1], [4]):  # 0: a marker, which has a position and no message
        await append(ledger, run_of(*[b"x"] * len(counts), counts=counts))
    entries = await indexes(ledger)
    assert [before for _, before in entries] == [0, 1, 6, 8, 11, 11, 12]
    assert [await place_of(ledger, index) for index in (0, 1, 5, 6, 7, 8, 10, 11, 12, 15)] == [
        entries[row][0] for row in (0, 1, 1, 2, 2, 3, 3, 5, 6, 6)
    ]
    assert await ledger.message_index.find(16) is None
    assert ledger.message_index.next == 16
    await engine.close()


@pytest.mark.parametrize("cache_mb", [0, 32])
async def test_an_index_is_found_far_into_a_ledger_after_a_restart(tmp_path: Path, cache_mb: int) -> None:
    config = StorageConfig(cache_mb=cache_mb, reserve_mb=0)
    engine = await opened(tmp_path, config)
    ledger = await engine.open_ledger("t")
    many = 3 * SPAN_ENTRIES
    for _ in range(many // 256):
        await append(ledger, run_of(*[b"x"] * 256, counts=[2] * 256))
    ledger_id = ledger.last_confirmed.ledger_id
    place = Position(ledger_id, 2500)
    assert (await ledger.message_index.before(place), await place_of(ledger, 5001)) == (5000, place)
    await engine.close()
    engine = await opened(tmp_path, config)
    ledger = await engine.open_ledger("t")
    assert (await ledger.message_index.before(place), await place_of(ledger, 5001)) == (5000, place)
    await engine.close()


@pytest.mark.parametrize("checkpoints", [False, True])
async def test_indexes_continue_after_ledgers_are_deleted_and_after_a_crash(tmp_path: Path, checkpoints: bool) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"1", b"2", counts=[3, 4]))
    await ledger.trim(NOTHING_KEPT, 1 << 50)
    await append(ledger, run_of(b"3"))
    if checkpoints:
        await engine.checkpoint()
    await ledger.trim(NOTHING_KEPT, 1 << 50)
    await append(ledger, run_of(b"4", counts=[2]))
    expected = await indexes(ledger)
    assert [before for _, before in expected] == [8]
    assert await ledger.message_index.find(7) == (expected[0][0], 8, 2)  # trimmed: the oldest one that there is
    assert await ledger.message_index.find(10) is None
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert await indexes(ledger) == expected
    assert ledger.message_index.next == 10
    await engine.close()


async def test_the_next_topic_of_a_name_counts_from_zero(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"1"))
    await ledger.trim(NOTHING_KEPT, 1 << 50)
    await engine.checkpoint()
    await engine.delete_ledger("t")
    await engine.checkpoint()
    await engine.close()
    engine = await opened(tmp_path)
    assert (await engine.open_ledger("t")).message_index.next == 0
    await engine.close()


async def test_a_ledger_that_is_gone_has_no_indexes(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    assert await ledger.message_index.find(0) is None
    assert await ledger.message_index.before(EARLIEST) is None
    assert await ledger.message_index.before(LATEST) is None
    await engine.close()


async def test_an_index_whose_ledger_is_trimmed_during_the_search_finds_the_oldest_entry(tmp_path: Path) -> None:
    config, disk = StorageConfig(max_entries_per_ledger=1, cache_mb=0, reserve_mb=0), HeldReads()
    engine = await opened(tmp_path, config, disk=disk)
    ledger = await engine.open_ledger("t")
    for entry in (b"1", b"2", b"3"):
        await append(ledger, run_of(entry))
    await engine.close()
    engine = await opened(tmp_path, config, disk=disk)
    ledger = await engine.open_ledger("t")
    (_, oldest_kept, _) = [position for position, _ in await indexes(ledger)]
    await ledger.open_cursor("s", initial=oldest_kept)
    disk.hold_after(0)
    search = asyncio.create_task(ledger.message_index.find(0))
    await asyncio.to_thread(disk.arrived.wait, 20)
    await ledger.trim(NOTHING_KEPT, 1 << 50)
    disk.go.set()
    assert await search == (oldest_kept, 1, 1)
    await engine.close()
