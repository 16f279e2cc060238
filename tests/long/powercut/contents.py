"""The content of a data directory: every entry by position, and every subscription."""

import asyncio
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.engine import StorageEngine
from tests.long.powercut.segments import Kept, read_segments
from tests.long.powercut.transactions import Effects, read_effects

Contents = dict[tuple[int, int], tuple[int, int]]  # (ledger id, entry id) -> (length, crc32) of the entry

Subscriptions = set[tuple[str, str]]  # (managed ledger, subscription)


@dataclass(frozen=True)
class Found:
    entries: Contents
    subscriptions: Subscriptions
    effects: Effects
    segments: Kept


READ_ENTRIES, READ_BYTES = 1000, 4 << 20


async def read_contents(storage: StorageEngine, sources: Collection[tuple[int, int]] = ()) -> Found:
    """`sources`: the positions that transactions acknowledged."""
    found: Contents = {}
    subscriptions: Subscriptions = set()
    for name in sorted(storage.catalog.names):
        ledger = await storage.open_ledger(name)
        subscriptions |= {(name, cursor) for cursor in ledger.cursors}
        position = ledger.first_position
        while block := await ledger.read_all(position, READ_ENTRIES, READ_BYTES):
            for index in range(len(block)):
                entry = block.data[block.starts[index] : block.ends[index]]
                entry_id = block.first_entry_id + index
                found[block.ledger_id, entry_id] = (len(entry), zlib.crc32(entry))
            position = type(position)(block.ledger_id, block.first_entry_id + len(block))
    return Found(found, subscriptions, await read_effects(storage, sources), await read_segments(storage))


def open_and_read(directory: Path, sources: Collection[tuple[int, int]]) -> Found:
    """Opens the directory like a start after the crash and reads all of it. Raises the errors of opening."""

    async def work() -> Found:
        storage = await StorageEngine.open(directory, StorageConfig())
        try:
            if storage.damage.reports:
                raise AssertionError(f"recovery reported damage: {storage.damage.summary()}")
            return await read_contents(storage, sources)
        finally:
            await storage.close()

    return asyncio.run(work())
