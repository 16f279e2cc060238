"""Files of a data directory, damaged on purpose, and what remains of them."""

from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import Damaged
from broker_core.storage.records import journal_group, ledger_file
from broker_core.storage.records.block import HEADER_SIZE, ROW_SIZE
from tests.support.storage import append, contents, crash, opened, run_of

RUNS = 4
ENTRIES = [b"entry %d" % i for i in range(RUNS * 3)]
# What a flipped bit hits, by its offset in a group of a journal, and in a ledger file.
JOURNAL_REGIONS = {
    "group magic": 1,
    "group crc": 5,
    "group number": 9,
    "group offset": 18,
    "group length": 25,
    "record crc": journal_group.GROUP_HEADER.size,
    "record length": journal_group.GROUP_HEADER.size + 5,
    "record header": journal_group.GROUP_HEADER.size + 20,
    "record table": journal_group.GROUP_HEADER.size + HEADER_SIZE + 4,
    "record blob": journal_group.GROUP_HEADER.size + HEADER_SIZE + 3 * ROW_SIZE + 10,
}
LEDGER_REGIONS = {
    "record crc": ledger_file.DATA_START,
    "record length": ledger_file.DATA_START + 5,
    "record header": ledger_file.DATA_START + 20,
    "record table": ledger_file.DATA_START + HEADER_SIZE + 4,
    "record blob": ledger_file.DATA_START + HEADER_SIZE + 3 * ROW_SIZE + 10,
}


async def written(path: Path, *, checkpoint: bool = False) -> Path:
    """A crashed directory with two topics of four runs each, in the journal or in a checkpoint."""
    engine = await opened(path)
    for name in ("t", "other"):
        ledger = await engine.open_ledger(name)
        for i in range(0, len(ENTRIES), 3):
            await append(ledger, run_of(*ENTRIES[i : i + 3]))
    if checkpoint:
        await engine.checkpoint()
    copy = crash(path)
    await engine.close()
    return copy


def journal_of(path: Path, number: int = 1) -> Path:
    return filenames.journal_file(path / "journal", number)


def groups_in(data: bytes | bytearray) -> list[tuple[int, int]]:
    """(offset, end) of the groups of a journal file."""
    found, at = [], journal_group.FILE_HEADER.size
    while data[at : at + 4] == journal_group.GROUP_MAGIC:
        end = (
            at
            + journal_group.GROUP_HEADER.size
            + journal_group.GROUP_HEADER.unpack_from(data, at)[4]
            + journal_group.GROUP_TRAILER.size
        )
        found.append((at, end))
        at = end
    return found


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


async def salvaged(engine: StorageEngine, name: str) -> list[bytes]:
    """The remaining entries of a topic after each loss is accepted."""
    ledger = await engine.open_ledger(name)
    while True:
        try:
            return await contents(ledger)
        except Damaged:
            assert await engine.accept_loss()
