"""The copies of ledgers in tiered storage that are on record, and which of them are unwanted.

A copy is on record before its object exists, and until its object is gone.
"""

from collections.abc import Awaitable, Callable

from broker_core.storage.log.journal import Journal
from broker_core.storage.records import changes
from broker_core.storage.records.catalog import Catalog
from broker_core.storage.records.offloaded import OffloadedCopy


class OffloadedCopies:
    def __init__(
        self, catalog: Catalog, journal: Journal, load: Callable[[], Awaitable[dict[str, OffloadedCopy]]]
    ) -> None:
        """`load` reads those of the last checkpoint, by uuid."""
        self._catalog = catalog
        self._journal = journal
        self._load = load

    def unwanted(self) -> list[OffloadedCopy]:
        """Copies whose ledger is deleted or has another copy: their objects are to be removed."""
        return list(self._catalog.unwanted_copies.values())

    async def removed(self, uuids: list[str]) -> None:
        """The objects of unwanted copies are gone; durable on return."""

        def done(error: Exception | None) -> None:
            if error is None:
                self._catalog.forget_copies(uuids)

        await self._journal.synced(changes.change("forget-copies", 0, uuids=uuids), done)

    async def known(self) -> dict[str, OffloadedCopy]:
        """All copies on record, wanted or not, by uuid."""
        known = await self._load()
        for uuid, change in self._catalog.changed_copies.items():
            if change is None:
                known.pop(uuid, None)
            else:
                known[uuid] = change[1]
        return known
