"""Nanoseconds per message of the storage engine: append in runs of 60 and of 1, read, acknowledge.

    python -m tests.long.bench.storage [seconds per row, default 1]

Wall time of the event loop's thread in our own code, on the real disk in a temporary directory, with journal syncs.
`append` is the call alone; `append + confirm` adds the work on the event loop after the sync.
"""

import asyncio
import gc
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import StorageError
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records import changes
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.storage import Run, run_of

PAYLOAD = 120


def print_row(name: str, values: list[float], unit: str = "ns/msg") -> None:
    print(f"{name:42} {statistics.median(values):10.0f} {unit}   (best {min(values):.0f})")  # a report


async def settled(engine: StorageEngine) -> None:
    await engine.journal.synced(changes.nothing())


async def measure_append(engine: StorageEngine, name: str, run: Run, runs: int, rounds: int) -> None:
    ledger = await engine.open_ledger(name)
    n = len(run.starts)
    calls: list[float] = []
    totals: list[float] = []
    for _ in range(rounds):
        ledger.append(run, lambda position, error: None)
        await settled(engine)
        start = time.thread_time_ns()
        for _ in range(runs):
            ledger.append(run, lambda position, error: None)
        calls.append((time.thread_time_ns() - start) / (runs * n))
        await settled(engine)
        totals.append((time.thread_time_ns() - start) / (runs * n))
    print_row(f"append, runs of {n}", calls)
    print_row(f"append + confirm, runs of {n}", totals)


def tell(future: asyncio.Future[None], position: Position | None, error: StorageError | None) -> None:
    future.set_result(None)


async def measure_sync(engine: StorageEngine) -> None:
    ledger = await engine.open_ledger("sync")
    run = run_of(b"x" * PAYLOAD)
    waits: list[float] = []
    for _ in range(1000):
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        start = time.perf_counter_ns()
        ledger.append(run, partial(tell, future))
        await future
        waits.append((time.perf_counter_ns() - start) / 1000)
    print_row("one append at a time, until synced", waits, "us")


async def measure_read(ledger: ManagedLedger, name: str) -> None:
    values: list[float] = []
    for _ in range(5):
        position, count = EARLIEST, 0
        start = time.process_time_ns()
        while count < 50_000 and len(block := await ledger.read(position, 1000, 1 << 20)):
            count += len(block)
            position = Position(block.ledger_id, block.last_entry_id + 1)
        values.append((time.process_time_ns() - start) / max(1, count))
    print_row(name, values)


async def measure_acks(ledger: ManagedLedger, name: str, shape: Callable[[int], list[list[int]]]) -> None:
    first = ledger.first_position
    values: list[float] = []
    for round_number in range(5):
        cursor = await ledger.open_cursor(f"{name}{round_number}", initial=EARLIEST)
        batches = shape(20_000)
        start = time.thread_time_ns()
        acked = sum(cursor.acknowledge(first.ledger_id, ids) for ids in batches)
        values.append((time.thread_time_ns() - start) / acked)
        await cursor.flush()
    print_row(name, values)


async def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}")  # a report
    gc.disable()
    with tempfile.TemporaryDirectory() as directory:
        engine = await StorageEngine.open(Path(directory), StorageConfig(cache_mb=8))
        await measure_append(engine, "sixty", run_of(*(b"x" * PAYLOAD for _ in range(60))), 400, 20)
        await measure_append(engine, "one", run_of(b"x" * PAYLOAD), 4000, 20)
        await measure_sync(engine)
        await engine.checkpoint()
        await measure_read(await engine.open_ledger("sixty"), "read from files, runs of 60")
        await measure_read(await engine.open_ledger("one"), "read from files, runs of 1")
        acked = await engine.open_ledger("sixty")
        await measure_acks(
            acked, "ack, in order, 400 ids", lambda n: [list(range(i, i + 400)) for i in range(0, n, 400)]
        )
        await measure_acks(acked, "ack, in order, one id", lambda n: [[i] for i in range(n)])
        await measure_acks(
            acked, "ack, every second, 400 ids", lambda n: [list(range(i, i + 800, 2)) for i in range(0, n, 800)]
        )
        await measure_acks(acked, "ack, reversed, one id", lambda n: [[n - 1 - i] for i in range(n)])
        await engine.close()


if __name__ == "__main__":
    asyncio.run(main(), debug="-d" in sys.argv)
