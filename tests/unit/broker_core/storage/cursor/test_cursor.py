"""A cursor, step by step. test_engine_model.py has the property tests."""

import asyncio
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage.errors import Closed, StorageError
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.storage.records.spans import SPAN_ENTRIES
from tests.support.condition import until
from tests.support.held_disk import HeldReads
from tests.support.storage import append, crash, opened, run_of


async def test_an_entry_below_mark_delete_is_not_acknowledged_twice(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(*[b"x"] * 10))
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    cursor.acknowledge(first.ledger_id, [5])
    cursor.acknowledge_up_to(first._replace(entry_id=2))
    assert cursor.acknowledge(first.ledger_id, [1]) == 0
    assert cursor.acknowledge(first.ledger_id, [1, 3]) == 1
    await engine.close()


async def test_a_cumulative_acknowledgment_before_a_ledger_ends_in_the_previous_one(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(b"a", b"b"))
    await ledger.roll()
    second = await append(ledger, run_of(b"c", counts=[3]))
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    assert cursor.acknowledge_up_to(Position(second.ledger_id, -1)) == 2
    assert cursor.mark_delete == first.next
    await engine.close()


async def test_holes_that_are_closed_since_the_checkpoint_do_not_count_after_a_crash(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    first = await append(ledger, run_of(b"a", b"b", b"c"))
    await ledger.roll()
    await append(ledger, run_of(b"d", b"e"))
    cursor.acknowledge(first.ledger_id, [1])
    await engine.checkpoint()
    cursor.acknowledge_up_to(first._replace(entry_id=2))
    await cursor.flush()
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert (cursor.backlog_entries, list(cursor.ack_ranges()), cursor.info.windows) == (2, [], {})
    await engine.close()


async def test_acknowledged_messages_of_a_batch_survive_a_failed_journal_write(tmp_path: Path) -> None:
    """The next records contain what the lost ones held."""
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    place = await append(ledger, run_of(b"a", b"b", b"c", counts=[3, 3, 3]))
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    cursor.acknowledge_indexes(place, 0b110)
    cursor.acknowledge(place.ledger_id, [2])
    cursor.take_acks()
    cursor.acks_written(StorageError("lost"))
    cursor.acknowledge_indexes(place.next, 0b011)
    await cursor.flush()
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert [batch.bits for _, _, batch in cursor.open_batches] == [0b110, 0b011]
    assert cursor.is_acknowledged(place._replace(entry_id=2))
    await engine.close()


async def test_acknowledging_the_end_of_a_batch_with_unknown_size_survives_a_crash(tmp_path: Path) -> None:
    """Acknowledged messages count only once the batch size is known; they are on disk before that."""
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    place = await append(ledger, run_of(b"a", counts=[5]))
    await ledger.open_cursor("s", initial=EARLIEST)
    await engine.close()
    engine = await opened(tmp_path / "d")
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert cursor.acknowledge_indexes(place, 0b00011) == (0, False)  # not in memory, and the client sent no size
    await cursor.flush()
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    await cursor.measure()
    assert cursor.backlog_messages == 2
    await engine.close()


async def test_a_backlog_measurement_is_discarded_when_its_cursor_is_reset(tmp_path: Path) -> None:
    """The second ledger has as many acknowledged entries as before, but different ones with fewer messages."""
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a"))
    await ledger.roll()
    place = await append(ledger, run_of(b"b", b"c", counts=[1, 4]))
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    cursor.acknowledge(place.ledger_id, [1])
    await engine.close()
    engine = await opened(tmp_path)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    measuring = asyncio.ensure_future(cursor.measure())
    await asyncio.sleep(0)  # it waits for the index of the first ledger
    await cursor.reset(place.next)
    await measuring
    await cursor.measure()
    assert cursor.backlog_messages == 4
    await engine.close()


async def test_a_cursor_of_an_unloaded_log_does_not_move_that_of_the_next_load(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(b"a", b"b", b"c"))
    old = await ledger.open_cursor("s", initial=EARLIEST)
    await ledger.close()
    cursor = (await engine.open_ledger("t")).cursors["s"]
    with pytest.raises(Closed):
        old.expire_to(first.next)
    with pytest.raises(Closed):
        old.skip(2)
    with pytest.raises(Closed):
        await old.reset(first.next)
    cursor.acknowledge(first.ledger_id, [0])
    assert (cursor.mark_delete, cursor.backlog_entries) == (first, 2)
    await engine.close()


async def deleted_at_read(directory: Path, read: int) -> bool:
    """Deletes the topic during that read of a measurement; False if the measurement has fewer reads."""
    disk = HeldReads()
    engine = await opened(directory, StorageConfig(cache_mb=0, reserve_mb=0), disk=disk)
    ledger = await engine.open_ledger("t")
    disk.hold_after(read)
    measuring = asyncio.ensure_future(ledger.cursors["s"].measure())
    await until(lambda: disk.arrived.is_set() or measuring.done())
    if held := disk.arrived.is_set():
        await engine.delete_ledger("t")
    disk.go.set()
    await measuring
    await engine.close()
    return held


async def test_a_topic_may_be_deleted_at_any_read_of_a_backlog_measurement(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    for _ in range(3):
        place = await append(ledger, run_of(*[b"x"] * SPAN_ENTRIES))
    cursor.acknowledge(place.ledger_id, list(range(1, 3 * SPAN_ENTRIES, 2)))
    await engine.close()
    reads = 0
    while await deleted_at_read(crash(tmp_path / "d"), reads):
        reads += 1
    assert reads >= 3  # one for each span


async def test_the_backlog_of_a_deleted_topic_is_nothing(tmp_path: Path) -> None:
    """A cursor may wait for its measurement while its topic is deleted."""
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    await append(ledger, run_of(b"a"))
    await ledger.roll()
    await append(ledger, run_of(b"b"))
    await engine.delete_ledger("t")
    await cursor.measure()
    assert (cursor.backlog_entries, cursor.backlog_messages, cursor.backlog_bytes) == (0, 0, 0)
    await engine.close()


async def test_a_batch_with_unknown_size_is_done_when_no_existing_message_is_open(
    tmp_path: Path,
) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    place = await append(ledger, run_of(b"a", b"b", counts=[2, 3]))
    await ledger.open_cursor("s", initial=EARLIEST)
    await engine.close()
    engine = await opened(tmp_path)
    cursor = (await engine.open_ledger("t")).cursors["s"]
    assert cursor.acknowledge_indexes(place, 0b1100)[1] is False
    await cursor.measure()
    assert cursor.is_acknowledged(place)
    assert (cursor.backlog_entries, cursor.backlog_messages) == (1, 3)
    await engine.close()


@pytest.mark.parametrize("flushed", [False, True], ids=["unwritten", "being written"])
async def test_a_deleted_cursor_stays_deleted_whatever_it_acknowledged_before(tmp_path: Path, flushed: bool) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(*[b"x"] * 10))
    cursor = await ledger.open_cursor("gone", initial=EARLIEST)
    await ledger.open_cursor("kept", initial=EARLIEST)
    await engine.checkpoint()
    cursor.acknowledge_up_to(first)
    if flushed:
        cursor.write_acks()
    await ledger.delete_cursor("gone")
    cursor.acknowledge_up_to(first._replace(entry_id=5))
    cursor.write_acks()
    await engine.close()
    engine = await opened(tmp_path / "d")
    assert list((await engine.open_ledger("t")).cursors) == ["kept"]
    await engine.close()
