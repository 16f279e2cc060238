"""Changes of cursors and properties: one that fails, or comes too late, leaves in force what was."""

import asyncio
import errno
from pathlib import Path

import pytest

from broker_core.storage.errors import Closed, Fenced, StorageError
from broker_core.storage.log.retention import Retention
from broker_core.storage.records.position import Position
from tests.support.storage import append, contents, crash, faulty, opened, reopened, run_of


async def test_a_cursor_that_cannot_be_written_does_not_exist(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(Fenced):
        await ledger.open_cursor("s")
    disk.failures.clear()
    assert ledger.cursors == {}
    await ledger.open_cursor("s")
    await append(ledger, run_of(b"a"))
    engine = await reopened(engine, tmp_path)
    assert list((await engine.open_ledger("t")).cursors) == ["s"]
    await engine.close()


async def test_a_cursor_whose_deletion_fails_stays(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    cursor = await ledger.open_cursor("s")
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(Fenced):
        await ledger.delete_cursor("s")
    disk.failures.clear()
    first = await append(ledger, run_of(b"a", b"b"))
    cursor.acknowledge(first.ledger_id, [0])
    engine = await reopened(engine, tmp_path)
    assert (await engine.open_ledger("t")).cursors["s"].mark_delete == first
    await engine.close()


async def test_a_cursor_whose_reset_fails_is_where_it_was(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    cursor = await ledger.open_cursor("s")
    first = await append(ledger, run_of(*(b"%d" % i for i in range(10)), counts=[4] * 10))
    cursor.acknowledge(first.ledger_id, [0, 3, 4])
    cursor.acknowledge_indexes(Position(first.ledger_id, 6), 0b0110)
    disk.failures["sync", ".journal"] = errno.EIO
    places: list[Position] = []
    with pytest.raises(Fenced):
        await cursor.reset(Position(first.ledger_id, 8), moved=lambda: places.append(cursor.read_position))
    disk.failures.clear()
    assert [place.entry_id for place in places] == [8, 1]
    engine = await reopened(engine, tmp_path)
    for one in (cursor, (await engine.open_ledger("t")).cursors["s"]):
        assert one.mark_delete == first
        assert list(one.ack_ranges()) == [(first.ledger_id, 3, 4)]
        assert [(entry_id, batch.bits) for _, entry_id, batch in one.open_batches] == [(6, 0b0110)]
    await engine.close()


async def test_a_cursor_is_opened_after_the_deletion_of_its_namesake(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    old = await ledger.open_cursor("s")
    deletion = asyncio.create_task(ledger.delete_cursor("s"))
    await asyncio.sleep(0)
    new = await ledger.open_cursor("s")
    assert new is not old
    await deletion
    assert ledger.cursors == {"s": new}
    await engine.close()


async def test_cursor_properties_whose_record_failed_are_not_in_force(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    cursor = await ledger.open_cursor("s", properties={"owner": "a"})
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(Fenced):
        await ledger.set_cursor_properties("s", {"owner": "b"})
    disk.failures.clear()
    assert cursor.properties == {"owner": "a"}
    engine = await reopened(engine, tmp_path)
    assert (await engine.open_ledger("t")).cursors["s"].properties == {"owner": "a"}
    await engine.close()


async def test_acks_of_a_failed_group_are_written_with_the_next_group(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    cursor = await ledger.open_cursor("s")
    first = await append(ledger, run_of(*(b"%d" % i for i in range(10))))
    disk.failures["sync", ".journal"] = errno.EIO
    cursor.acknowledge(first.ledger_id, [0, 3, 4])
    with pytest.raises(Fenced):
        await cursor.flush()
    disk.failures.clear()
    await cursor.flush()
    copy = crash(tmp_path)
    await engine.close()
    engine = await opened(copy)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert cursor.mark_delete == first
    assert list(cursor.ack_ranges()) == [(first.ledger_id, 3, 4)]
    await engine.close()


async def test_properties_whose_record_failed_are_not_in_force_and_never_come_into_force(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path)
    await ledger.store_properties({"phase": "in-use", "team": "a"})
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(StorageError):
        await ledger.store_properties({"phase": "moved"})
    disk.failures.clear()
    assert ledger.properties == {"phase": "in-use", "team": "a"}
    engine = await reopened(engine, tmp_path)
    assert (await engine.open_ledger("t")).properties == {"phase": "in-use", "team": "a"}
    await engine.close()


async def test_a_deleted_log_stores_no_properties_so_that_checkpoints_go_on(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"one"))
    await engine.delete_ledger("t")
    with pytest.raises(Closed):
        await ledger.store_properties({"phase": "moved"})
    await engine.checkpoint()
    await engine.close()


async def test_a_closed_log_neither_trims_nor_changes_its_cursors(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await ledger.open_cursor("s")
    await append(ledger, run_of(b"not acknowledged"))
    await ledger.roll()
    await ledger.close()
    for change in (
        ledger.trim(Retention(), now_ms=1 << 50),
        ledger.delete_cursor("s"),
        ledger.set_cursor_properties("s", {"owner": "late"}),
    ):
        with pytest.raises(Closed):
            await change
    engine = await reopened(engine, tmp_path)
    ledger = await engine.open_ledger("t")
    assert await contents(ledger) == [b"not acknowledged"]
    assert ledger.cursors["s"].properties == {}
    await engine.close()
