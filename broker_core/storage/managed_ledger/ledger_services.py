"""The services that the managed ledgers of one data directory share, and the life of their ledgers' files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from broker_core.clock import Clock
from broker_core.config.storage import StorageConfig
from broker_core.storage import filenames
from broker_core.storage.cursor.ack_journal import AckJournal
from broker_core.storage.damage import DamageRecord
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged
from broker_core.storage.log.cache import BlockCache
from broker_core.storage.log.journal import Journal
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.log.reader import Reader
from broker_core.storage.log.writer import Writer
from broker_core.storage.managed_ledger.checkpoint import Checkpoints
from broker_core.storage.pressure import Pressure
from broker_core.storage.records import changes
from broker_core.storage.records.catalog import Catalog
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.space import DiskSpace
from broker_core.storage.watch import DirectoryWatch

T = TypeVar("T")


class ReadThread(Protocol):
    """Runs `work` in a reader thread."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


class GroupTimes:
    """The time as of the last synced group: `now` monotonic in seconds, `wall_ms` wall time."""

    __slots__ = ("now", "wall_ms")

    def __init__(self, clock: Clock) -> None:
        self.now = clock.monotonic()
        self.wall_ms = clock.wall_ms()

    def renew(self, clock: Clock) -> None:
        self.now = clock.monotonic()
        self.wall_ms = clock.wall_ms()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LedgerServices:
    """`record_damage` records damage that a read met, and returns whether to pass over it."""

    path: Path
    config: StorageConfig
    clock: Clock
    times: GroupTimes
    disk: Disk
    journal: Journal
    acks: AckJournal
    catalog: Catalog
    checkpoints: Checkpoints
    cache: BlockCache
    reader: Reader
    writer: Writer
    files: OpenFiles
    pressure: Pressure
    space: DiskSpace
    watch: DirectoryWatch
    damage: DamageRecord
    read_thread: ReadThread
    record_damage: Callable[[str, Damaged], bool]

    def ledger_path(self, ledger_id: int) -> Path:
        return filenames.ledger_file(self.path, ledger_id)

    def compacted_path(self, ledger_id: int) -> Path:
        return filenames.compacted_file(self.path, ledger_id)

    async def synced(self) -> None:
        """Waits until everything added to the journal so far is durable."""
        await self.journal.synced(changes.nothing())

    def ledger_changed(self, owner_id: int, ledger: Ledger) -> None:
        """Notes a ledger with its first new entries since the last checkpoint."""
        ledger.changed = True
        self.catalog.ledger_changed(owner_id, ledger.info)
        self.checkpoints.ledger_changed(ledger)

    def ledger_sealed(self, owner_id: int, ledger: Ledger) -> None:
        self.catalog.ledger_changed(owner_id, ledger.info)
        if ledger.info.entries:
            self.checkpoints.ledger_changed(ledger)
            self.writer.seal(ledger)
            self.reader.indexed(ledger)

    def ledger_removed(self, ledger: Ledger) -> None:
        """Deletes the file of a ledger that has left the catalog."""
        ledger.removed = True
        self.cache.forget(ledger)
        self.reader.forget(ledger)
        if ledger.info.copy is not None:
            self.reader.copies.forget(ledger.info.copy)
        self.checkpoints.ledger_removed(ledger)
        self.writer.remove(ledger)

    async def delete_file(self, ledger: Ledger) -> None:
        """Deletes the file of a ledger that is read from its copy; it is gone on return. Raises OSError."""
        self.checkpoints.ledger_removed(ledger)
        await asyncio.wrap_future(self.writer.remove(ledger))

    async def write_out(self, ledgers: Iterable[Ledger]) -> None:
        """Everything of the ledgers is in their files on return, or if that fails, what the journal has confirmed."""
        try:
            await self.synced()
        finally:
            for ledger in ledgers:
                self.writer.flush(ledger)
            await self.writer.barrier()

    def release(self, ledgers: Iterable[Ledger]) -> None:
        """Frees the memory and files of ledgers that were written out."""
        for ledger in ledgers:
            self.cache.forget(ledger)
            self.reader.forget(ledger)
            self.files.forget(ledger.path)
