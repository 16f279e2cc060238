"""Files of a data directory, damaged on purpose, and what remains of them."""

from pathlib import Path

from broker_core.storage import filenames, journal_group
from broker_core.storage.engine import StorageEngine
from broker_core.storage.errors import Damaged
from tests.broker_core.storage.storage import contents


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
