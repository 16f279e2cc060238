"""A tracker with a reader that works like a dispatcher, compared with the expected deliveries."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.config.features import DelayedConfig
from broker_core.dispatch.delayed.alarms import Alarms
from broker_core.dispatch.delayed.bucket_files import BucketFiles
from broker_core.dispatch.delayed.services import DelayedServices
from broker_core.dispatch.delayed.tracker import DelayedTracker, ranges_without
from broker_core.metadata.policies.values import DelayedDelivery
from broker_core.storage.disk import RealDisk
from broker_core.storage.records.block import Block
from broker_core.storage.records.position import Position
from tests.unit.broker_core.dispatch.delayed.work import Work

LEDGER = 7
FAR_MS = 10_000_000

PUBLISH = st.tuples(st.just("publish"), st.integers(0, 60))
ACTIONS = st.one_of(
    PUBLISH,
    PUBLISH,
    st.tuples(st.just("read"), st.integers(1, 3)),
    st.tuples(st.just("due"), st.integers(1, 8)),
    st.tuples(st.just("clock"), st.integers(-40, 60)),
    st.tuples(st.just("acknowledge"), st.integers(0, 60)),
    st.tuples(st.just("expire"), st.integers(0, 60)),
    st.tuples(st.just("start over"), st.just(0)),
    st.tuples(st.just("disk"), st.just(0)),
    st.tuples(st.just("switch"), st.just(0)),
)


@dataclass
class SetClock:
    now_ms: int = 1000

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic(self) -> float:
        return 0.0

    def elapsed(self) -> float:
        return 0.0


@dataclass
class Reader:
    """One consumer of a subscription; every delivery is checked as it happens."""

    directory: Path
    strict: bool
    clock: SetClock = field(default_factory=SetClock)
    times: list[int] = field(default_factory=list)
    acknowledged: set[int] = field(default_factory=set)
    delivered: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.work = Work()
        config = DelayedConfig(strict=self.strict, lookahead=0, bucket_rows=5, chunk_rows=2)
        self.files = BucketFiles(RealDisk(), self.directory)
        self.services = DelayedServices(config, self.clock, self.work.spawn, Alarms(self.clock), self.files)
        self.tick_ms = 10
        self.in_force = SimpleNamespace(current=SimpleNamespace())
        self.use_policy(active=True)
        self.cursor = SimpleNamespace(read_position=Position(LEDGER, 0))
        self.tracker = self._new_tracker()

    def use_policy(self, *, active: bool) -> None:
        self.active = active
        self.in_force.current.delayed_delivery = DelayedDelivery(self.tick_ms, active=active, max_delay_ms=0)

    def wake(self) -> None:
        """Looks for due entries when the test says so."""

    def _new_tracker(self) -> DelayedTracker:
        return DelayedTracker(self.services, cast(Any, self.in_force), cast(Any, self.cursor), self.wake)

    async def act(self, what: str, number: int) -> None:
        if what == "publish":
            self.times.append(self.clock.now_ms + number if number % 3 else 0)
        elif what == "read":
            self.read(number)
        elif what == "due":
            self.deliver_due(number)
        elif what == "clock":
            self.clock.now_ms += number
        elif what == "acknowledge" and self.times:
            number %= len(self.times)
            self.acknowledged.add(number)
            self.tracker.discard(LEDGER, [number])
        elif what == "expire" and self.times:
            number %= len(self.times)
            self.acknowledged |= set(range(number + 1))
            self.tracker.discard_up_to(Position(LEDGER, number))
        elif what == "start over":
            self.start_over()
        elif what == "disk":
            await self.work.done()
        elif what == "switch":
            self.use_policy(active=not self.active)
        assert self.tracker.count <= len(set(range(len(self.times))) - self.acknowledged - self.delivered)

    def start_over(self) -> None:
        self.tracker.close()
        self.tracker = self._new_tracker()
        self.delivered.clear()
        self.cursor.read_position = Position(LEDGER, 0)

    def read(self, most: int) -> None:
        """Reads what is available, delivers at most `most` entries, and continues after them next time."""
        first = self.cursor.read_position.entry_id
        times = self.times[first:]
        if not times:
            return
        zeros = [0] * len(times)
        block = Block(LEDGER, first, b"", zeros, zeros, zeros, zeros, times if any(times) else ())
        index = 0
        for a, b in self._open_ranges(block):
            for index in range(a, b):
                if most == 0:
                    self.cursor.read_position = Position(LEDGER, first + index)
                    return
                self._deliver(first + index)
                most -= 1
        self.cursor.read_position = Position(LEDGER, first + len(times))

    def _open_ranges(self, block: Block) -> list[tuple[int, int]]:
        first = block.first_entry_id
        acknowledged = [i for i in range(len(block)) if first + i in self.acknowledged]
        open_ranges = ranges_without(0, len(block), acknowledged)
        if not block.delivery_times:
            return open_ranges
        return [found for a, b in open_ranges for found in self.tracker.hold_back(block, a, b)]

    def deliver_due(self, most: int) -> None:
        if self.tracker.has_due:
            for ledger_id, entry_id in self.tracker.take_due(most):
                assert ledger_id == LEDGER
                if entry_id not in self.acknowledged:
                    self._deliver(entry_id)

    def _deliver(self, entry_id: int) -> None:
        assert entry_id not in self.delivered, "twice"
        latest = self.clock.now_ms + (0 if self.strict else self.tick_ms)
        assert not self.active or self.times[entry_id] <= latest, "early"
        self.delivered.add(entry_id)

    async def deliver_everything(self) -> None:
        self.clock.now_ms += FAR_MS
        for _ in range(len(self.times) + 10):
            self.read(1000)
            self.deliver_due(1000)
            await self.work.done()

    async def close(self) -> None:
        self.tracker.close()
        await self.work.done()
        await self.files.close()


async def run(actions: list[tuple[str, int]], *, strict: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        reader = Reader(Path(directory) / "delayed", strict)
        try:
            for what, number in actions:
                await reader.act(what, number)
            await reader.deliver_everything()
            assert reader.tracker.count == 0
            assert not set(range(len(reader.times))) - reader.delivered - reader.acknowledged
        finally:
            await reader.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTIONS, min_size=10, max_size=60), st.booleans())
def test_every_entry_is_delivered_once_and_never_early(actions: list[tuple[str, int]], strict: bool) -> None:
    asyncio.run(run(actions, strict=strict))


async def test_an_entry_delayed_ahead_of_the_reader_is_not_delivered_twice(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "delayed", strict=True)
    for action in [("publish", 0), ("publish", 0), ("publish", 20), ("publish", 0), ("read", 1)]:
        await reader.act(*action)
    assert (reader.tracker.count, reader.cursor.read_position.entry_id) == (1, 1)
    for action in [("clock", 30), ("due", 8), ("read", 8)]:
        await reader.act(*action)
    assert reader.delivered == {0, 1, 2, 3}
    await reader.close()


async def test_a_reader_that_reaches_a_due_entry_takes_it(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "delayed", strict=True)
    for action in [("publish", 0), ("publish", 0), ("publish", 20), ("read", 1), ("clock", 30), ("read", 8)]:
        await reader.act(*action)
    assert reader.delivered == {0, 1, 2}
    assert reader.tracker.count == 0
    await reader.close()


async def test_what_is_held_back_is_delivered_once_when_delayed_delivery_is_switched_off(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "delayed", strict=True)
    for action in [("publish", 20), ("publish", 0), ("publish", 0), ("publish", 20), ("read", 1)]:
        await reader.act(*action)
    assert (reader.delivered, reader.cursor.read_position.entry_id) == ({1}, 2)
    for action in [("switch", 0), ("due", 8), ("read", 8)]:
        await reader.act(*action)
    assert (reader.delivered, reader.tracker.count) == ({0, 1, 2, 3}, 0)
    for action in [("clock", 30), ("due", 8)]:
        await reader.act(*action)
    await reader.close()


async def test_rows_of_released_entries_do_not_block_the_others(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "delayed", strict=True)
    for _ in range(200):
        await reader.act("publish", 20)
    await reader.act("read", 8)
    await reader.act("expire", 198)
    await reader.act("clock", 30)
    for _ in range(200):
        await reader.act("due", 1)
        await reader.act("disk", 0)
    assert reader.delivered == {199}
    await reader.close()


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(0, 20), st.sets(st.integers(0, 19)))
def test_ranges_with_gaps_contain_all_other_numbers(first: int, length: int, numbers: set[int]) -> None:
    left_out = sorted(number for number in numbers if first <= number < first + length)
    ranges = ranges_without(first, first + length, left_out)
    found = [number for a, b in ranges for number in range(a, b)]
    assert found == [number for number in range(first, first + length) if number not in left_out]
    assert all(a < b for a, b in ranges)
