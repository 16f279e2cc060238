"""Checks one part of a topic by reading it: the work of one task."""

from dataclasses import dataclass, replace

import pyarrow.compute as pc

from pulsarctl.integrity.findings import Findings, merged
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.data_loss import DataLoss
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.topic_table import TopicTable

COLUMNS = ("topic", "producer", "sequence_id", "message_id", "value_size", "value", "decode_error")


@dataclass(frozen=True, slots=True)
class PartCheck:
    """Small, and pickled to each task."""

    table: TopicTable

    def __call__(self, part: LedgerRange) -> Findings:
        """Raises `TimedOut`, and what connecting raises."""
        try:
            altered = self.table.check_copy(part)
        except DamagedEntry as error:
            return Findings(damaged=[error.message])
        found = self._entries(part)
        if altered:
            found.damaged.insert(0, altered)
        return found

    def _entries(self, part: LedgerRange) -> Findings:
        """Halves a part that cannot be read until the entry is found. Raises `TimedOut`, and what connecting raises."""
        try:
            return self._read(part)
        except (DamagedEntry, DataLoss) as error:
            if part.entries > 1:
                middle = (part.first + part.last) // 2
                halves = ((part.first, middle), (middle + 1, part.last))
                return merged(self._entries(replace(part, first=first, last=last)) for first, last in halves)
            is_missing = isinstance(error, DataLoss)
            return Findings(missing=[error.message]) if is_missing else Findings(damaged=[error.message])

    def _read(self, part: LedgerRange) -> Findings:
        found = Findings()
        for batch in self.table.read(part):
            found.add_rows(batch)
            found.bytes += pc.sum(batch["value_size"]).as_py() or 0
            if "decode_error" in batch.schema.names:
                found.undecodable += batch.num_rows - batch["decode_error"].null_count
        return found


def columns(table: TopicTable) -> tuple[str, ...]:
    """The columns that a check needs; the value is one, so that it is decompressed and decoded."""
    return tuple(name for name in COLUMNS if name in table.columns)
