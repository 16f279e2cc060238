"""One or more topics as a table: its schema, its plan, and the rows of each part of the plan."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pulsarctl.tables.chunks import ChunkJoiner
from pulsarctl.tables.columns import Column, columns_named
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_ranges import EntrySpan, LedgerRange
from pulsarctl.tables.missing_entries import MissingEntries
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.plan import plan
from pulsarctl.tables.protocol_reader import ProtocolReader
from pulsarctl.tables.unfolding import Unfolding


@dataclass(frozen=True, slots=True)
class TopicTable:
    """Small, and can be pickled: the driver plans, and tasks in other processes read."""

    options: TableOptions

    @property
    def columns(self) -> tuple[Column, ...]:
        """Raises `UsageProblem` for an unknown column."""
        return columns_named(self.options.columns)

    @property
    def schema(self) -> pa.Schema:
        """Of every batch. Every column is nullable."""
        return pa.schema([(column.name, column.arrow_type) for column in self.columns])

    def plan(self) -> list[LedgerRange]:
        """What there is to read now, cut into parts. Raises `NotFound`, and what the admin client raises."""
        return plan(self.options)

    def read(self, part: LedgerRange) -> Iterator[pa.RecordBatch]:
        """The rows of one part, in batches of at most 10,000 rows and about 8 MB.

        Raises `DataLoss` if entries of the plan are gone, `DamagedEntry`, `TimedOut`, and what connecting raises.
        """
        chunks = ChunkJoiner(part, partial(self._runs, part.topic)) if self.options.unit == "message" else None
        span = EntrySpan(part.ledger_id, part.first, part.last)
        yield from Unfolding(part, self.columns, chunks).batches(self._runs(part.topic, span))

    def _runs(self, topic: str, span: EntrySpan) -> Iterator[EntryRun]:
        missing = MissingEntries(self.options.access, topic, fails=self.options.fail_on_data_loss)
        return ProtocolReader(self.options.access, topic, *span, missing).runs()
