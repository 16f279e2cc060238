"""Every entry in a data directory, by position."""

import asyncio
import zlib
from pathlib import Path

from broker_core.config import StorageConfig
from broker_core.storage.factory import ManagedLedgerFactory

Contents = dict[tuple[int, int], tuple[int, int]]  # (ledger id, entry id) -> (length, crc32) of the entry

READ_ENTRIES, READ_BYTES = 1000, 4 << 20


async def read_contents(storage: ManagedLedgerFactory) -> Contents:
    found: Contents = {}
    for name in storage.ledger_names():
        ledger = await storage.open_ledger(name)
        position = ledger.first_position
        while block := await ledger.read(position, READ_ENTRIES, READ_BYTES):
            for index in range(len(block)):
                entry = block.data[block.starts[index] : block.ends[index]]
                entry_id = block.first_entry_id + index
                found[block.ledger_id, entry_id] = (len(entry), zlib.crc32(entry))
            position = type(position)(block.ledger_id, block.first_entry_id + len(block))
    return found


def open_and_read(directory: Path) -> Contents:
    """Opens the directory as a start after the crash would, and reads all of it. Raises what opening raises."""

    async def work() -> Contents:
        storage = await ManagedLedgerFactory.open(directory, StorageConfig())
        try:
            if storage.damage:
                raise AssertionError(f"recovery reported damage: {storage.damage}")
            return await read_contents(storage)
        finally:
            await storage.close()

    return asyncio.run(work())
