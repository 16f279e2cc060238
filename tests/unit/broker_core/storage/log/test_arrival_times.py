"""The broker knows when it got each entry, from memory and from files."""

from dataclasses import dataclass
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.block import AGE_MAX
from tests.support.clocks import StillClock
from tests.support.storage import append, opened, run_of

NO_CACHE = StorageConfig(cache_mb=0, reserve_mb=0)


@dataclass
class SetClock(StillClock):
    """A user sets the wall clock; timers do not notice."""

    jump_ms: int = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.jump_ms


async def written(ledger: ManagedLedger, clock: SetClock, *runs: int) -> list[int]:
    """Appends runs of that many entries, a second apart; returns when each entry arrived."""
    expected = []
    for entries in runs:
        clock.seconds += 1
        await append(ledger, run_of(*[b"x"] * entries))
        expected += [clock.wall_ms()] * entries
    return expected


async def test_entries_have_the_time_at_which_their_run_arrived(tmp_path: Path) -> None:
    clock = SetClock()
    engine = await opened(tmp_path, clock=clock)
    ledger = await engine.open_ledger("t")
    expected = await written(ledger, clock, 1, 3, 1, 2)
    ledger_id = ledger.last_confirmed.ledger_id
    assert ledger.arrival_times.cached(ledger_id, 0, 7) == expected
    assert ledger.arrival_times.cached(ledger_id, 2, 5) == expected[2:5]
    assert ledger.arrival_times.cached(ledger_id, 2, 8) is None
    await engine.close()
    engine = await opened(tmp_path, NO_CACHE, clock=clock)
    ledger = await engine.open_ledger("t")
    assert await ledger.arrival_times.read(ledger_id, 0, 7) == expected
    assert await ledger.arrival_times.read(ledger_id, 3, 6) == expected[3:6]
    await engine.close()


async def test_times_are_found_far_into_a_ledger(tmp_path: Path) -> None:
    clock = SetClock()
    engine = await opened(tmp_path, clock=clock)
    ledger = await engine.open_ledger("t")
    expected = await written(ledger, clock, *[400] * 12)
    ledger_id = ledger.last_confirmed.ledger_id
    await engine.close()
    engine = await opened(tmp_path, NO_CACHE, clock=clock)
    ledger = await engine.open_ledger("t")
    assert await ledger.arrival_times.read(ledger_id, 3900, 4700) == expected[3900:4700]
    await engine.close()


async def test_a_clock_that_is_set_leaves_times_unknown_not_wrong(tmp_path: Path) -> None:
    clock = SetClock()
    engine = await opened(tmp_path, clock=clock)
    ledger = await engine.open_ledger("t")
    [first] = await written(ledger, clock, 1)
    ledger_id = ledger.last_confirmed.ledger_id
    for jump in (-3600_000, AGE_MAX + 7200_000):
        clock.jump_ms = jump
        await append(ledger, run_of(b"x"))
    assert await ledger.arrival_times.read(ledger_id, 0, 3) == [first, 0, 0]
    await engine.close()


async def test_a_ledger_that_is_gone_has_no_times(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    ledger = await engine.open_ledger("t")
    assert await ledger.arrival_times.read(7, 0, 2) == [0, 0]
    await engine.close()
