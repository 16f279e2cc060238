"""The entries of the ledger that a job offloads, and of those before it, from their files and copies."""

from collections.abc import Iterator
from typing import Any

from broker_core.offload.orders import OffloadJob
from broker_core.offload.stores import Store
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_files import LedgerFileReader
from pulsarctl.tables.ledger_ranges import EntrySpan, LedgerLocation, LedgerRange
from pulsarctl.tables.tier_files import TierFile, TierFileReader


class LedgerSource:
    def __init__(self, job: OffloadJob, store: Store, topic: str) -> None:
        self._store = store
        self._topic = topic
        self._job = job
        earlier = tuple(map(_span, job.earlier))
        place = LedgerLocation(job.source)
        self.range = LedgerRange(topic, job.ledger_id, 0, job.entries - 1, job.end, None, earlier=earlier, place=place)

    def runs(self, span: EntrySpan) -> Iterator[EntryRun]:
        """Raises `DamagedEntry` and `CliError`. An earlier ledger that is gone meanwhile has no entries."""
        ledger_id, first, last, place = span
        if place.path:
            aborted = self._job.aborted if ledger_id == self._job.ledger_id else ()
            return LedgerFileReader(place.path, self._topic, ledger_id, first, last, self, aborted).runs()
        tier = TierFile.open(self._store, place.copy, self._topic, ledger_id)
        return iter(()) if tier is None else TierFileReader(tier, self._topic, first, last, self).runs()

    def check(self, ledger_id: int, first: int, last: int) -> None:
        """A sealed ledger has all its entries."""
        raise DamagedEntry(f"entries {ledger_id}:{first} to {ledger_id}:{last} of {self._topic} are missing")


def _span(earlier: dict[str, Any]) -> EntrySpan:
    return EntrySpan(earlier["ledger_id"], 0, earlier["entries"] - 1, LedgerLocation(earlier["path"], earlier["copy"]))
