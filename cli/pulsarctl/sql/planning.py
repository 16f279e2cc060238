"""References to topics -> tables with only the columns and the parts that the query needs, as of one moment."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pulsarctl.sql.conditions import Conditions
from pulsarctl.sql.statement import TopicReference
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.plan import TopicSnapshot
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.values.names import partition_index


@dataclass(frozen=True, slots=True)
class PlannedReference:
    """Small, and can be pickled, as its table."""

    reference: TopicReference
    table: TopicTable
    parts: tuple[LedgerRange, ...]

    @property
    def entries(self) -> int:
        return sum(part.entries for part in self.parts)

    @property
    def known(self) -> tuple[str, ...]:
        """All columns of the topic, also those that the query does not name."""
        return replace(self.table, options=replace(self.table.options, columns=())).columns

    @property
    def size(self) -> int:
        """About how many bytes are read."""
        return sum(part.size for part in self.parts)


def columns_hint(references: Iterable[PlannedReference]) -> str:
    """What a query may name, for an error about a column."""
    known = {each.reference.written: each.known for each in references}
    return "; ".join(f"columns of {written}: {', '.join(columns)}" for written, columns in known.items())


def planned(references: Iterable[TopicReference], options: TableOptions) -> list[PlannedReference]:
    """`options` hold for all topics. Two references to one topic see the same messages. Raises `NotFound`."""
    snapshot, opened = TopicSnapshot(), _Opened(options)
    return [_planned(reference, opened.table(reference.topic), snapshot) for reference in references]


class _Opened:
    """The table of each topic, with all columns; its schemas are asked for once."""

    def __init__(self, options: TableOptions) -> None:
        self._options = options
        self._tables: dict[str, TopicTable] = {}

    def table(self, topic: str) -> TopicTable:
        if topic not in self._tables:
            self._tables[topic] = TopicTable.open(replace(self._options, topics=(topic,)))
        return self._tables[topic]


def _planned(reference: TopicReference, whole: TopicTable, snapshot: TopicSnapshot) -> PlannedReference:
    conditions = reference.conditions
    options = replace(
        whole.options,
        columns=reference.columns(whole.columns),
        start=conditions.start,
        end=conditions.end,
    )
    table = replace(whole, options=options)
    return PlannedReference(reference, table, tuple(_wanted(table.plan(snapshot), conditions)))


def _wanted(parts: Iterable[LedgerRange], conditions: Conditions) -> Iterator[LedgerRange]:
    """Parts keep where a chunked message may begin: outside of what the query asks for."""
    entries = conditions.entry_id
    for part in parts:
        if conditions.has_partition(partition_index(part.topic)) and conditions.ledger_id.has(part.ledger_id):
            first = part.first if entries.low is None else max(part.first, entries.low)
            last = part.last if entries.high is None else min(part.last, entries.high)
            if first <= last:
                size = part.size * (last - first + 1) // part.entries
                yield replace(part, first=first, last=last, size=size)
