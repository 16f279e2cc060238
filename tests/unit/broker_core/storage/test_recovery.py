"""After a crash, everything synced exists once, and IDs continue."""

import asyncio
import errno
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage.errors import StorageError
from broker_core.storage.filenames import ledger_file
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.storage import append, contents, crash, faulty, opened, read_all, run_of


async def test_synced_entries_survive_a_crash(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    for name in "ab":
        ledger = await engine.open_ledger(name)
        for i in range(30):
            await append(ledger, run_of(b"%s%d" % (name.encode(), i), b"-"))
    expected = {name: await read_all(await engine.open_ledger(name)) for name in "ab"}
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    assert engine.damage.reports == []
    assert {name: await read_all(await engine.open_ledger(name)) for name in sorted(engine.catalog.names)} == expected
    await engine.close()


async def test_a_crash_after_a_checkpoint_replays_only_later_entries(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    for i in range(5):
        await append(ledger, run_of(b"%d" % i))
    await engine.checkpoint()
    for i in range(5, 10):
        await append(ledger, run_of(b"%d" % i))
    copy = crash(tmp_path)
    await engine.close()
    assert len(list((copy / "journal").iterdir())) == 1
    engine = await opened(copy)
    assert await contents(await engine.open_ledger("t")) == [b"%d" % i for i in range(10)]
    await engine.close()


async def test_a_killed_recovery_is_repeated(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    for i in range(10):
        await append(ledger, run_of(b"%d" % i))
    copy = crash(tmp_path)
    await engine.close()
    for i in range(10, 14):
        engine = await opened(copy)
        await append(await engine.open_ledger("t"), run_of(b"%d" % i))
        again = crash(copy)
        await engine.close()
        copy = again
    engine = await opened(copy)
    assert engine.damage.reports == []
    assert await contents(await engine.open_ledger("t")) == [b"%d" % i for i in range(14)]
    await engine.close()


async def test_ids_are_never_assigned_twice(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    seen: set[int] = set()
    path = tmp_path
    for round_number in range(4):
        ledger = await engine.open_ledger("t")
        seen.add((await append(ledger, run_of(b"x"))).ledger_id)
        if round_number % 2:
            await engine.delete_ledger("t")
        path = crash(path)
        await engine.close()
        engine = await opened(path)
    assert len(seen) == 4
    await engine.close()


async def test_a_deleted_ledger_stays_deleted(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(b"x"))
    await engine.checkpoint()
    assert ledger_file(engine.path, first.ledger_id).exists()
    await engine.delete_ledger("t")
    assert not engine.exists("t")
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    assert sorted(engine.catalog.names) == []
    assert not ledger_file(engine.path, first.ledger_id).exists()
    assert await contents(await engine.open_ledger("t")) == []
    await engine.close()


async def test_trimmed_ledgers_stay_trimmed(tmp_path: Path) -> None:
    from broker_core.storage.log.retention import Retention

    engine = await opened(tmp_path, StorageConfig(max_entries_per_ledger=2))
    ledger = await engine.open_ledger("t")
    for i in range(6):
        await append(ledger, run_of(b"%d" % i))
    ids = [info.id for info in ledger.ledger_infos()]
    assert await ledger.trim(Retention(0, 0), 0) == ids  # no durable cursor keeps entries
    await append(ledger, run_of(b"new"))
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    assert await contents(await engine.open_ledger("t")) == [b"new"]
    assert engine.damage.reports == []
    await engine.close()


async def test_cursors_survive_a_crash_with_their_gaps(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(max_entries_per_ledger=10))
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST, properties={"k": "v"})
    for i in range(30):
        await append(ledger, run_of(b"%d" % i))
    first, second, third = (info.id for info in ledger.ledger_infos())
    cursor.acknowledge(first, [0, 1, 5])
    cursor.acknowledge(third, [3])
    await cursor.flush()
    await engine.checkpoint()
    cursor.acknowledge(second, [9])
    cursor.acknowledge(first, [2, 3, 4, 6, 7, 8, 9])
    cursor.acknowledge(second, [0])
    await cursor.flush()
    state = (cursor.mark_delete, list(cursor.ack_ranges()), cursor.backlog_entries)
    assert state == (Position(second, 0), [(second, 9, 9), (third, 3, 3)], 17)
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert (cursor.mark_delete, list(cursor.ack_ranges()), cursor.backlog_entries) == state
    assert cursor.properties == {"k": "v"}
    assert cursor.read_position == Position(second, 1)
    await engine.close()


async def test_a_reset_survives_a_crash(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    first = await append(ledger, run_of(*(b"%d" % i for i in range(10))))
    cursor.acknowledge_up_to(first._replace(entry_id=7))
    await cursor.flush()
    await cursor.reset(first._replace(entry_id=3))
    cursor.acknowledge(first.ledger_id, [5])
    await cursor.flush()
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert cursor.read_position == first._replace(entry_id=3)
    assert list(cursor.ack_ranges()) == [(first.ledger_id, 5, 5)]
    await engine.close()


async def test_acks_reach_the_journal_without_a_waiting_caller(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(ack_flush_ms=1))
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    first = await append(ledger, run_of(b"a", b"b"))
    cursor.acknowledge(first.ledger_id, [0])
    async with asyncio.timeout(10):
        while True:
            copy = crash(tmp_path)
            recovered = await opened(copy)
            mark_delete = (await recovered.open_ledger("t")).cursors["s"].mark_delete
            await recovered.close()
            if mark_delete == first:
                break
    await engine.close()


async def test_names_and_properties_survive_a_crash(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("täg/😀 x")
    await ledger.store_properties({"a": "ü"})
    untouched = await engine.open_ledger("never used")
    assert untouched.entries == 0
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    assert sorted(engine.catalog.names) == ["täg/😀 x"]
    assert (await engine.open_ledger("täg/😀 x")).properties == {"a": "ü"}
    await engine.close()


async def test_ids_above_those_of_another_cluster_survive_a_crash(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"before"))
    await ledger.open_above(5000)
    await ledger.open_above(4000)  # which they are already
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert (await append(ledger, run_of(b"after"))).ledger_id > 5000
    assert await contents(ledger) == [b"before", b"after"]
    assert len([info for info in ledger.ledger_infos() if info.id > 5000]) == 2  # the empty one, and that of this start
    await engine.close()


async def test_entries_behind_a_ledger_whose_record_failed_survive_a_crash(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    await append(ledger, run_of(b"before"))
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(StorageError):
        await ledger.open_above(5000)
    disk.failures.clear()
    await ledger.open_above(5000)
    await append(ledger, run_of(b"after"))
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    assert await contents(await engine.open_ledger("t")) == [b"before", b"after"]
    await engine.close()
