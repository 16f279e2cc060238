"""The journal begins a file while a checkpoint removes the older ones."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from broker_core.config.storage import StorageConfig
from tests.support.storage import append, contents, opened, run_of

BLOCKED_SECONDS = 0.2  # how long the journal gets to begin a file, which it must not


class Interrupted(int):
    """A number whose first comparison lets something else run: the removal compares the number of each file with it."""

    meanwhile: Callable[[], None] | None = None

    def __gt__(self, other: int) -> bool:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return int(self) > other


async def test_a_file_that_begins_while_older_ones_are_removed_stays(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(reserve_mb=0))
    loop, journal = asyncio.get_running_loop(), engine.journal
    ledger = await engine.open_ledger("t")
    for entry in b"one", b"two":
        await append(ledger, run_of(entry))
        number = Interrupted(await journal.rotate())

    def append_another() -> None:
        appended = asyncio.run_coroutine_threadsafe(append(ledger, run_of(b"three")), loop)
        with suppress(TimeoutError):
            appended.result(BLOCKED_SECONDS)

    number.meanwhile = append_another
    await asyncio.to_thread(journal.remove_before, number)
    await append(ledger, run_of(b"four"))
    assert await contents(ledger) == [b"one", b"two", b"three", b"four"]
    assert journal.synced_end == (number, journal.live_bytes)  # the only file that is left
    await engine.close()
