"""The managed ledgers that are open: each is loaded once, and only one load or deletion of a name runs at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.disk import Disk
from broker_core.storage.errors import Closed, DamageReport, Fenced, Lost, StorageError
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.catalog import ManagedLedgerInfo
from broker_core.storage.records.ledger_file import Ledger

LoadInfo = Callable[[int], Awaitable[ManagedLedgerInfo | None]]


class OpenLedgers:
    def __init__(
        self,
        services: LedgerServices,
        load_info: LoadInfo,
        report: Callable[[Iterable[DamageReport]], None],
    ) -> None:
        """`load_info` reads what is stored about a managed ledger; `report` records damage."""
        self._services = services
        self._catalog = services.catalog
        self._load_info = load_info
        self._report = report
        self._loaded: dict[str, ManagedLedger] = {}
        self._loading: dict[str, asyncio.Future[None]] = {}
        self._closed = False

    async def open(self, name: str) -> ManagedLedger:
        """The managed ledger of that name. A new one leaves no trace before its first append, cursor or property."""
        async with self._loads(name):
            ledger = self._loaded.get(name)
            if ledger is None or not ledger.is_open:
                if self._closed:
                    raise Closed("the storage is closed")
                ledger = self._loaded[name] = await self._load(name)
            return ledger

    @contextlib.asynccontextmanager
    async def _loads(self, name: str) -> AsyncIterator[None]:
        """Allows one load or deletion of a name at a time."""
        while name in self._loading:
            await asyncio.wait([self._loading[name]])
        future = self._loading[name] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._loading[name]
            future.set_result(None)

    async def _load(self, name: str) -> ManagedLedger:
        info = await self._known(name)
        if info is None:
            return self._new(ManagedLedgerInfo(self._catalog.new_id(), name), {})
        ledgers = self._ledgers_of(info)
        self._report(await self._services.read_thread(partial(self._short_files, name, list(ledgers.values()))))
        for ledger in ledgers.values():
            if not ledger.info.sealed_ms:
                # It is from an earlier run and never continued, so it can be sealed without a record of its own.
                ledger.info.sealed_ms = self._services.clock.wall_ms()
                self._catalog.ledger_changed(info.id, ledger.info)
        owner = self._loaded[name] = self._new(info, ledgers)  # before the load: a transaction may end during it
        try:
            await owner.load()
        except BaseException:
            del self._loaded[name]
            raise
        return owner

    async def _known(self, name: str) -> ManagedLedgerInfo | None:
        managed_ledger_id = self._catalog.names.get(name)
        if managed_ledger_id is None:
            return None
        info = self._catalog.infos.get(managed_ledger_id)
        if info is None:
            info = await self._load_info(managed_ledger_id)
            if info is None:
                database = filenames.metadata_file(self._services.path)
                raise StorageError(f"{name} is in the list of names, but not in {database}")
            self._catalog.infos[managed_ledger_id] = info
        return info

    def _ledgers_of(self, info: ManagedLedgerInfo) -> dict[int, Ledger]:
        return {i: Ledger(info.ledgers[i], self._services.ledger_path(i), new=False) for i in info.ledgers}

    def _new(self, info: ManagedLedgerInfo, ledgers: dict[int, Ledger]) -> ManagedLedger:
        return ManagedLedger(self._services, info, ledgers, self._forget)

    def _forget(self, ledger: ManagedLedger) -> None:
        """Forgets a managed ledger that was closed; by now another one of its name may be open."""
        if self._loaded.get(ledger.name) is ledger:
            del self._loaded[ledger.name]

    def _short_files(self, name: str, ledgers: list[Ledger]) -> list[DamageReport]:
        damage: list[DamageReport] = []
        for ledger in ledgers:
            if ledger.info.is_local and ledger.info.entries:
                whole = Lost(ledger.info.id, 0, ledger.info.entries - 1)
                damage += missing_bytes(self._services.disk, name, ledger.path, whole, ledger.info.end)
        return damage

    async def delete(self, name: str) -> None:
        """Deletes a managed ledger, open or not (`ManagedLedger.delete`)."""
        async with self._loads(name):
            if self._closed:
                raise Closed("the storage is closed")
            owner = self._loaded.get(name)
            if owner is None or not owner.is_open:
                info = await self._known(name)
                owner = None if info is None else self._new(info, self._ledgers_of(info))
            if owner is not None:
                await owner.delete()

    def owner_of(self, ledger_id: int) -> str:
        """The name of the open managed ledger that has the ledger; "" if none has."""
        return next((ledger.name for ledger in self._loaded.values() if ledger_id in ledger.info.ledgers), "")

    def open_cursor(self, name: str, cursor: str) -> ManagedCursor | None:
        """A cursor of an open managed ledger; None if the managed ledger is not open, or has no such cursor."""
        ledger = self._loaded.get(name)
        return None if ledger is None or not ledger.is_open else ledger.cursors.get(cursor)

    def fence(self, path: Path, reason: str) -> None:
        """Fences the managed ledger of a ledger file, because a write to the file failed."""
        for owner in self._loaded.values():
            owner.fence_if_owner(path, Fenced(f"write to {path} failed: {reason}"))

    def refuse_more(self) -> None:
        """Refuses to open anything from now on."""
        self._closed = True

    async def close(self) -> None:
        """Closes all of them, after loads and deletions; raises the first failure, after every one was tried."""
        while self._loading:
            await asyncio.wait(self._loading.values())
        closing = (ledger.close() for ledger in list(self._loaded.values()))
        for error in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(error, BaseException):
                raise error


def missing_bytes(disk: Disk, name: str, path: Path, whole: Lost, end: int) -> Iterator[DamageReport]:
    """A ledger file that is gone or too short; what it still holds can be read."""
    size = disk.file_size(path)
    if size is None:
        yield DamageReport(path, 0, "ledger file is missing", name, whole)
    elif size < end:
        yield DamageReport(path, size, f"file ends before its {end} bytes", name)
