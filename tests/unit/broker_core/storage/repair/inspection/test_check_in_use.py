"""A check of a directory whose files come and go: what a broker has deleted is not reported as lost."""

from pathlib import Path

from broker_core.storage.engine import StorageEngine
from broker_core.storage.log.retention import Retention
from broker_core.storage.repair.inspection.check import find_damage, is_in_use
from tests.support.storage import append, crash, opened, run_of


async def trimmed(path: Path) -> StorageEngine:
    """An engine that has deleted a ledger which its last checkpoint knows."""
    engine = await opened(path)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s")
    await append(ledger, run_of(b"0"))
    await ledger.roll()
    await append(ledger, run_of(b"1"))
    await engine.checkpoint()
    cursor.acknowledge_up_to(ledger.last_confirmed)
    assert await ledger.trim(Retention(), engine.clock.wall_ms())
    return engine


async def test_a_trimmed_ledger_is_not_missing(tmp_path: Path) -> None:
    engine = await trimmed(tmp_path / "data")
    assert find_damage(engine.path) == []
    await engine.close()


async def test_a_ledger_that_was_trimmed_before_a_crash_is_not_missing(tmp_path: Path) -> None:
    engine = await trimmed(tmp_path / "data")
    copy = crash(engine.path)
    await engine.close()
    assert find_damage(copy) == []


async def test_the_ledgers_of_a_deleted_topic_are_not_missing(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "data")
    await append(await engine.open_ledger("t"), run_of(b"0"))
    await engine.checkpoint()
    await engine.delete_ledger("t")
    assert find_damage(engine.path) == []
    await engine.close()


async def test_only_a_running_broker_uses_a_directory(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "data")
    assert is_in_use(engine.path)
    await engine.close()
    assert not is_in_use(engine.path)
