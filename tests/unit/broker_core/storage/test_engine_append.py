"""Appending and reading back, from memory and from files."""

import asyncio
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.records.position import Position
from tests.support.storage import append, contents, entries_of, opened, read_all, run_of


async def test_entries_are_read_as_they_were_appended(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(b"a", b"", b"ccc", counts=[1, 5, 2], times=[7, 8, 9]))
    block = ledger.read_cached(first, 10, 1000)
    assert block is not None
    assert entries_of(block) == [b"a", b"", b"ccc"]
    assert list(block.counts) == [1, 5, 2]
    assert list(block.publish_times) == [7, 8, 9]
    assert (ledger.entries, ledger.messages, ledger.size) == (3, 8, 4)
    await engine.close()


async def test_entries_survive_a_clean_stop(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    for i in range(10):
        await append(ledger, run_of(b"%d" % i))
    await append(ledger, run_of(*(b"x%d" % i for i in range(2000))))
    expected = await read_all(ledger)
    await engine.close()
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    assert await read_all(ledger) == expected
    assert (await append(ledger, run_of(b"new"))).ledger_id > expected[-1][0].ledger_id
    assert (await contents(ledger))[-1] == b"new"
    await engine.close()


async def test_ledgers_roll_by_entries(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(max_entries_per_ledger=10))
    ledger = await engine.open_ledger("t")
    for i in range(25):
        await append(ledger, run_of(b"%d" % i))
    assert [info.entries for info in ledger.ledger_infos()] == [10, 10, 5]
    assert await contents(ledger) == [b"%d" % i for i in range(25)]
    await engine.close()


async def test_acknowledged_entries_stay_acknowledged(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s")
    first = await append(ledger, run_of(*(b"%d" % i for i in range(10)), counts=[2] * 10))
    assert cursor.acknowledge(first.ledger_id, [0, 1, 2]) == 3
    assert cursor.acknowledge(first.ledger_id, [5, 7]) == 2
    assert cursor.mark_delete == Position(first.ledger_id, 2)
    assert (cursor.backlog_entries, cursor.backlog_messages, cursor.backlog_bytes) == (5, 10, 5)
    await engine.close()
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s")
    assert cursor.mark_delete == Position(first.ledger_id, 2)
    assert list(cursor.ack_ranges()) == [(first.ledger_id, 5, 5), (first.ledger_id, 7, 7)]
    await cursor.measure()
    assert (cursor.backlog_entries, cursor.backlog_messages, cursor.backlog_bytes) == (5, 10, 5)
    await engine.close()


async def test_nothing_is_readable_before_it_is_synced(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    synced = asyncio.Event()
    first = ledger.append(run_of(b"a"), lambda position, error: synced.set())
    assert len(await ledger.read(first, 1, 1)) == 0
    await synced.wait()
    assert len(await ledger.read(first, 1, 1)) == 1
    await engine.close()
