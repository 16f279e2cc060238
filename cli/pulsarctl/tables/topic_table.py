"""One or more topics as a table: its schema, its plan, and the rows of each part of the plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.tables.columns import Column, Row, columns_named, record_batches
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.plan import plan
from pulsarctl.values.message_ids import MessageId


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
        """The rows of one part, in batches of at most 10,000 rows and about 8 MB. Raises `CliError`."""
        yield from record_batches(self._rows(part), self.columns)

    def _rows(self, part: LedgerRange) -> Iterator[Row]:
        for entry in self._entries(part):
            wanting: Sequence[str | None] = (None,)
            if part.subscriptions is not None:
                wanting = [each.subscription for each in part.subscriptions if each.wants(entry.entry_id)]
            if wanting and _in_time(part, entry):
                yield from self._rows_of_entry(entry, wanting)

    def _entries(self, part: LedgerRange) -> Iterator[Entry]:
        access = self.options.access
        with EntryReader(
            access.service_url,
            part.topic,
            start=MessageId(part.ledger_id, part.first),
            timeout_seconds=access.timeout_seconds,
            token=access.secret(),
        ) as reader:
            end = MessageId(part.ledger_id, part.last)
            yield from reader.to(dict.fromkeys(reader.partitions, end))

    def _rows_of_entry(self, entry: Entry, wanting: Sequence[str | None]) -> Iterator[Row]:
        if self.options.unit == "entry":
            message = entry.as_message(entry.value() if "value" in self.options.columns else None)
            for subscription in wanting:
                yield Row(entry, message, entry.message_count, subscription)
            return
        for message in entry.messages():
            for subscription in wanting:
                yield Row(entry, message, 1, subscription)


def _in_time(part: LedgerRange, entry: Entry) -> bool:
    published = entry.metadata.publish_time
    return (part.since_ms is None or published >= part.since_ms) and (
        part.until_ms is None or published <= part.until_ms
    )
