"""The fields of the journal that its lock guards are never used without it."""

import sys
from pathlib import Path
from typing import Any

from broker_core.config.storage import StorageConfig
from broker_core.storage.journal import Journal
from tests.broker_core.storage.storage import append, opened, run_of

GUARDED = {"_group", "_idle", "_failed", "_stopping", "_rotations", "_live", "_blocks", "_written"}
WITHOUT_LOCK = {"carries_messages"}  # may answer as of a moment ago
unguarded: set[tuple[str, str]] = set()


class WatchedJournal(Journal):
    """Records which functions use a guarded field while the lock is free."""

    def __getattribute__(self, name: str) -> Any:
        if name in GUARDED and not self._lock.locked():
            unguarded.add((name, sys._getframe(1).f_code.co_name))
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in GUARDED and not self._lock.locked():
            unguarded.add((name, sys._getframe(1).f_code.co_name))
        super().__setattr__(name, value)


async def test_each_guarded_field_is_used_under_the_lock(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(reserve_mb=0))
    engine.journal.__class__ = WatchedJournal
    ledger = await engine.open_ledger("t")
    for _ in range(5):
        await append(ledger, run_of(b"entry"))
        await engine.checkpoint()
        assert engine.journal.live_bytes >= 0
        assert engine.journal.synced_end >= (0, 0)
    await engine.close()
    assert {(name, function) for name, function in unguarded if function not in WITHOUT_LOCK} == set()
