"""Transactions on disk: open ones hide what follows, and no restart shows an aborted entry."""

import asyncio
import contextlib
import errno
import json
import sqlite3
import zlib
from pathlib import Path

import pytest

from broker_core.storage.catalog.transaction_rows import OUTCOMES
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import StorageError
from broker_core.storage.log.retention import Retention
from broker_core.storage.managed_ledger.transaction_log import IDS_AT_A_TIME
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.storage.repair.inspection.dump import dump_lines
from broker_core.storage.repair.rebuild import rebuild
from tests.support.storage import append, contents, crash, entries_of, faulty, opened, reopened, run_of
from tests.support.transactions import append_in, end, transaction

NOTHING = Retention()


async def shown(engine: StorageEngine) -> list[bytes]:
    """The entries with messages that a reader gets."""
    ledger = await engine.open_ledger("t")
    position, entries = EARLIEST, []
    while len(block := await ledger.read(position, 100, 1000)):
        entries += [entry for entry, count in zip(entries_of(block), block.counts, strict=True) if count]
        position = Position(block.ledger_id, block.last_entry_id + 1)
    return entries


async def with_transactions(path: Path) -> StorageEngine:
    """One is committed, one aborted, and one open, with plain entries around them."""
    engine = await opened(path)
    ledger = await engine.open_ledger("t")
    await append_in(ledger, transaction(1), run_of(b"committed"))
    await append_in(ledger, transaction(2), run_of(b"aborted"))
    await append(ledger, run_of(b"plain"))
    await append_in(ledger, transaction(3), run_of(b"open"))
    await append(ledger, run_of(b"behind"))
    await end(engine, 1, commit=True)
    await end(engine, 2, commit=False)
    return engine


async def test_entries_are_hidden_from_the_moment_they_are_appended(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"plain"))
    await append_in(ledger, transaction(1), run_of(b"open"))
    await append(ledger, run_of(b"behind"))
    assert await contents(ledger) == [b"plain"]
    assert ledger.visible_end == ledger.first_position
    assert entries_of(await ledger.read_all(EARLIEST, 10, 1000)) == [b"plain", b"open", b"behind"]
    cached = ledger.read_cached(EARLIEST, 10, 1000)
    assert cached is not None
    assert entries_of(cached) == [b"plain"]
    await end(engine, 1, commit=True)
    assert await contents(ledger) == [b"plain", b"open", b"behind"]
    await engine.close()


async def test_a_clean_restart_keeps_what_is_open_and_what_was_aborted(tmp_path: Path) -> None:
    engine = await with_transactions(tmp_path / "d")
    for _ in range(2):
        engine = await reopened(engine, tmp_path / "d")
        assert await shown(engine) == [b"committed", b"plain"]
        assert [info.id for info in engine.transactions.open()] == [3]
    await end(engine, 3, commit=True)
    assert await shown(engine) == [b"committed", b"plain", b"open", b"behind"]
    await engine.close()


@pytest.mark.parametrize("checkpoint", [False, True])
async def test_a_crash_keeps_what_is_open_and_what_was_aborted(tmp_path: Path, *, checkpoint: bool) -> None:
    engine = await with_transactions(tmp_path / "d")
    if checkpoint:
        await engine.checkpoint()
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    assert await shown(engine) == [b"committed", b"plain"]
    ledger = await engine.open_ledger("t")
    await append_in(ledger, engine.transactions.open()[0], run_of(b"more"))
    await end(engine, 3, commit=False)
    engine = await reopened(engine, copy)
    assert await shown(engine) == [b"committed", b"plain", b"behind"]
    await engine.close()


async def test_the_dump_of_a_directory_shows_the_outcomes_of_transactions(tmp_path: Path) -> None:
    engine = await with_transactions(tmp_path / "d")
    await engine.close()
    (line,) = [line for line in dump_lines(tmp_path / "d") if "transaction_outcomes" in line and "instance {" in line]
    assert [outcome[:2] for outcome in json.loads(line.split(maxsplit=1)[1])["value"]] == [[1, 1], [2, 0]]


async def test_a_checkpoint_in_the_middle_of_a_transaction_changes_nothing(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append_in(ledger, transaction(1), run_of(b"a"))
    await engine.checkpoint()
    await append_in(ledger, transaction(1), run_of(b"b"))
    await end(engine, 1, commit=False)
    await append(ledger, run_of(b"x"))
    copy = crash(tmp_path / "d")
    await engine.close()
    engine = await opened(copy)
    assert await shown(engine) == [b"x"]
    assert engine.transactions.was_committed(1) is False
    await engine.close()


async def test_a_rebuilt_catalog_shows_no_aborted_entry(tmp_path: Path) -> None:
    path = tmp_path / "d"
    engine = await with_transactions(path)
    await engine.close()
    (path / "metadata.sqlite").unlink()
    await asyncio.to_thread(rebuild, path)
    engine = await opened(path)
    assert await shown(engine) == [b"committed", b"plain"]
    await engine.close()


async def test_a_rebuild_without_a_catalog_log_says_that_transactions_are_unknown_and_repeats_no_id(
    tmp_path: Path,
) -> None:
    path = tmp_path / "d"
    engine = await with_transactions(path)
    ids = [await engine.transactions.new_id()]
    for _ in range(2):
        await engine.close()
        (path / "metadata.sqlite").unlink()
        (path / "catalog.log").unlink()
        rebuilt = await asyncio.to_thread(rebuild, path)
        assert rebuilt is not None
        assert any("which transactions were aborted or open" in sentence for sentence in rebuilt.unknown)
        engine = await opened(path)
        ids.append(await engine.transactions.new_id())
    assert ids == sorted(set(ids))
    (name,) = engine.catalog.names
    assert await contents(await engine.open_ledger(name)) == [b"committed", b"aborted", b"plain", b"open", b"behind"]
    await engine.close()


@pytest.mark.parametrize("blob", [b"not deflated", zlib.compress(b"seven b"), zlib.compress(bytes(16))])
async def test_unreadable_outcomes_of_a_salvaged_database_do_not_prevent_a_start(tmp_path: Path, blob: bytes) -> None:
    path = tmp_path / "d"
    engine = await with_transactions(path)
    await engine.close()
    with contextlib.closing(sqlite3.connect(path / "metadata.sqlite")) as connection:
        connection.execute("UPDATE instance SET value = ? WHERE key = ?", (blob, OUTCOMES))
        connection.commit()
    (path / "catalog.log").unlink()
    engine = await opened(path)
    assert engine.transactions.was_committed(1) is None
    assert await shown(engine) == [b"committed", b"plain"]
    await engine.close()


async def test_no_ledger_with_an_open_transaction_is_trimmed(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append_in(ledger, transaction(1), run_of(b"open"))
    await ledger.roll()
    await append(ledger, run_of(b"behind"))
    assert await ledger.trim(NOTHING, 1 << 50) == []
    await end(engine, 1, commit=False)
    first = ledger.first_position.ledger_id
    assert await ledger.trim(NOTHING, 1 << 50) != []
    assert ledger.transactions is not None
    assert first not in ledger.transactions.aborted
    await engine.close()


async def test_the_deletion_of_a_topic_leaves_an_open_transaction_without_entries(tmp_path: Path) -> None:
    engine = await with_transactions(tmp_path / "d")
    await engine.delete_ledger("t")
    assert engine.transactions.all_ranges == 0
    await append(await engine.open_ledger("t"), run_of(b"new"))
    await end(engine, 3, commit=False)
    engine = await reopened(engine, tmp_path / "d")
    assert await shown(engine) == [b"new"]
    assert engine.transactions.open() == []
    await engine.close()


async def test_an_id_is_never_given_out_twice(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ids = [await engine.transactions.new_id() for _ in range(3)]
    copy = crash(tmp_path / "d")
    await engine.close()
    for _ in range(2):
        engine = await opened(copy)
        ids.append(await engine.transactions.new_id())
        await engine.close()
    assert ids == [1, 2, 3, IDS_AT_A_TIME + 1, 2 * IDS_AT_A_TIME + 1]


async def test_a_transaction_whose_outcome_cannot_be_written_stays_open(tmp_path: Path) -> None:
    disk, engine, ledger = await faulty(tmp_path / "d")
    await append_in(ledger, transaction(1), run_of(b"open"))
    disk.failures["sync", ".journal"] = errno.EIO
    with pytest.raises(StorageError):
        await end(engine, 1, commit=True)
    assert await contents(ledger) == []
    disk.failures.clear()
    await end(engine, 1, commit=True)
    assert await contents(ledger) == [b"open"]
    await engine.close()
