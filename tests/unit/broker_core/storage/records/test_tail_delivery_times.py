"""Delivery times of entries are known for blocks from memory, a ledger file, and the journal."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.config.storage import StorageConfig
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records import block as blocks
from broker_core.storage.records.block import Block, Columns
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.storage.records.tail import joined
from broker_core.storage.repair.inspection.check import find_damage
from broker_core.storage.repair.inspection.dump import dump_lines
from tests.support.storage import MANY, append, crash, opened, run_of

TIMES = st.one_of(st.just(0), st.integers(0, (1 << 64) - 1))
RUNS = st.lists(st.tuples(st.lists(TIMES, min_size=1, max_size=4), st.booleans()), min_size=1, max_size=6)
"""Delivery times of the entries of each run, and whether the run has them."""


def times_of(block: Block) -> list[int]:
    return list(block.delivery_times) or [0] * len(block)


@settings(deadline=None)
@given(RUNS)
def test_merged_blocks_keep_the_delivery_time_of_each_entry(runs: list[tuple[list[int], bool]]) -> None:
    data, found, first = b"", Columns(), 0
    expected: list[int] = []
    parts = []
    for times, delayed in runs:
        n = len(times)
        run = run_of(*[b"abc"] * n, delivery=times if delayed else ())
        head, blob, block = blocks.encode_run(run, 7, first)
        record = head + bytes(blob)
        assert blocks.check(record, 0, len(record)) is None
        data += record
        if delayed:
            found.add_delivery_times(data, len(data), n)
        found.add(data, len(data) - len(record), n, blocks.HEADER.unpack_from(record)[8])
        parts.append(block)
        expected += times if delayed else [0] * n
        first += n
    for block in (found.block(7, 0, data), joined(parts)):
        assert times_of(block) == expected
        assert [block.entry(i) for i in range(first)] == [b"abc"] * first
        assert times_of(block.slice(1, first)) == expected[1:]
        assert len(block.delivery_times) == (first if any(delayed for _, delayed in runs) else 0)


async def fill(ledger: ManagedLedger) -> list[int]:
    await append(ledger, run_of(b"plain"))
    await append(ledger, run_of(b"single", delivery=[11]))
    await append(ledger, run_of(b"a", b"b", b"c", delivery=[0, 22, 0]))
    await append(ledger, run_of(b"d", b"e"))
    await append(ledger, run_of(b"last", delivery=[33]))
    return [0, 11, 0, 22, 0, 0, 0, 33]


async def found_in(ledger: ManagedLedger) -> list[int]:
    times: list[int] = []
    at = EARLIEST
    while len(block := await ledger.read(at, 100, MANY)):
        times += times_of(block)
        at = Position(block.ledger_id, block.last_entry_id).next
    return times


@pytest.mark.parametrize("cache_mb", [32, 0], ids=["from-memory", "from-the-file"])
async def test_a_reader_sees_delivery_times(tmp_path: Path, cache_mb: int) -> None:
    engine = await opened(tmp_path / "d", StorageConfig(reserve_mb=0, cache_mb=cache_mb))
    ledger = await engine.open_ledger("t")
    expected = await fill(ledger)
    if not cache_mb:
        await engine.checkpoint()
    assert await found_in(ledger) == expected
    await engine.close()


@pytest.mark.parametrize("checkpoint", [True, False])
async def test_delivery_times_survive_a_killed_process(tmp_path: Path, checkpoint: bool) -> None:
    engine = await opened(tmp_path / "d")
    expected = await fill(await engine.open_ledger("t"))
    if checkpoint:
        await engine.checkpoint()
    copy = crash(tmp_path / "d")
    await engine.close()
    recovered = await opened(copy)
    assert recovered.damage.reports == []
    assert await found_in(await recovered.open_ledger("t")) == expected
    await recovered.close()


async def test_a_dump_shows_delivery_times(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"a", b"b", delivery=[0, 1234]))
    await engine.close()
    assert find_damage(tmp_path / "d") == []
    assert any("delivery times [0, 1234]" in line for line in dump_lines(tmp_path / "d"))


async def test_delivery_times_do_not_count_as_bytes_of_an_entry(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"12345", delivery=[1]))
    await append(ledger, run_of(b"12", b"345", delivery=[1, 2]))
    assert ledger.size == 10
    await engine.close()
