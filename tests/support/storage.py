"""Shared by the storage tests: runs of entries, an open engine, waiting for appends."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import StorageError
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.block import Block
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.condition import PATIENCE_SECONDS
from tests.support.faulty_disk import FaultyDisk

MANY = 1 << 30


@dataclass
class Run:
    """Entries as the wire layer passes them: slices of one chunk."""

    data: bytes
    starts: list[int]
    ends: list[int]
    counts: list[int] = field(default_factory=list)
    publish_times: list[int] = field(default_factory=list)
    delivery_times: list[int] = field(default_factory=list)


def run_of(
    *entries: bytes,
    counts: Sequence[int] = (),
    times: Sequence[int] = (),
    delivery: Sequence[int] = (),
    gap: int = 20,
) -> Run:
    """A run with `gap` other bytes before each entry, as between the messages of a chunk."""
    data = b""
    starts, ends = [], []
    for entry in entries:
        data += b"\xee" * gap
        starts.append(len(data))
        data += entry
        ends.append(len(data))
    n = len(entries)
    publish_times = list(times) or list(range(1000, 1000 + n))
    return Run(data, starts, ends, list(counts) or [1] * n, publish_times, list(delivery))


async def append(ledger: ManagedLedger, run: Run) -> Position:
    """Appends and waits for the sync; raises the error that `done` receives."""
    future: asyncio.Future[Position] = asyncio.get_running_loop().create_future()

    def done(position: Position | None, error: StorageError | None) -> None:
        if position is None:
            assert error is not None
            future.set_exception(error)
        else:
            future.set_result(position)

    ledger.append(run, done)
    return await asyncio.wait_for(future, PATIENCE_SECONDS)


def entries_of(block: Block) -> list[bytes]:
    return [block.entry(i) for i in range(len(block))]


async def read_all(
    ledger: ManagedLedger, start: Position = EARLIEST, max_entries: int = 100
) -> list[tuple[Position, bytes]]:
    """All readable entries with their positions."""
    found: list[tuple[Position, bytes]] = []
    while len(block := await ledger.read(start, max_entries, MANY)):
        found += [(Position(block.ledger_id, block.first_entry_id + i), e) for i, e in enumerate(entries_of(block))]
        start = found[-1][0].next
    return found


async def contents(ledger: ManagedLedger) -> list[bytes]:
    return [entry for _, entry in await read_all(ledger)]


async def opened(path: Path, config: StorageConfig | None = None, **options: object) -> StorageEngine:
    config = config or StorageConfig(reserve_mb=0)
    return await StorageEngine.open(path, config, **options)  # type: ignore[arg-type]  # passes on


async def reopened(engine: StorageEngine, path: Path) -> StorageEngine:
    await engine.close()
    return await opened(path)


async def faulty(path: Path) -> tuple[FaultyDisk, StorageEngine, ManagedLedger]:
    """An open engine with one ledger, and its disk, which fails when the test says so."""
    disk = FaultyDisk()
    engine = await opened(path, disk=disk)
    return disk, engine, await engine.open_ledger("t")


def crash(path: Path) -> Path:
    """A copy of the directory as a killed process leaves it."""
    copy = path.with_name(path.name + ".crashed")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy, copy_function=_copy_sparse, ignore=shutil.ignore_patterns("RESERVE*"))
    return copy


def _copy_sparse(source: str, target: str) -> None:
    """Keeps preallocated space unwritten, as in the source."""
    try:
        data = Path(source).read_bytes()
    except FileNotFoundError:
        return  # removed since the directory was listed
    with Path(target).open("wb") as file:
        file.write(data.rstrip(b"\0"))
        file.truncate(len(data))
