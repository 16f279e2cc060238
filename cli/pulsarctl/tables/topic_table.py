"""One or more topics as a table: its schema, its plan, and the rows of each part of the plan."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.chunks import ChunkJoiner, ReadSpan, Skip, unnoticed
from pulsarctl.tables.columns import COLUMNS, column_named
from pulsarctl.tables.data_loss import LeftOut, Tell, warn
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_files import LedgerFileReader
from pulsarctl.tables.ledger_ranges import EntrySpan, LedgerRange
from pulsarctl.tables.missing_entries import MissingEntries
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.plan import TopicSnapshot, plan, topic_parts
from pulsarctl.tables.protocol_reader import ProtocolReader
from pulsarctl.tables.tier_files import TierFile, TierFileReader
from pulsarctl.tables.typed import typed_values
from pulsarctl.tables.typed.typed_values import TypedValues
from pulsarctl.tables.typed.value_type import ValueType, value_type
from pulsarctl.tables.unfolding import Unfolding


@dataclass(frozen=True, slots=True)
class TopicTable:
    """Small, and can be pickled: the driver plans, and tasks in other processes read.

    `value_type` None: the column `value` has the bytes of each message.
    """

    options: TableOptions
    value_type: ValueType | None = None

    @classmethod
    def open(cls, options: TableOptions, *, oldest_first: bool = False) -> "TopicTable":
        """Opens the table, with the topics' schemas if a column needs them. `oldest_first` as in `united_type`.

        Raises `UsageProblem`, `NotFound`.
        """
        if options.unit == "entry" or options.decode == "raw" or not _wants_value(options):
            return cls(options)
        admin = options.access.admin()
        try:
            names = [part.topic for part in topic_parts(admin, options)]
            return cls(options, value_type(admin, names, options.decode, oldest_first=oldest_first))
        finally:
            admin.close()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        typed = typed_values.NAMES if self.value_type is not None else ("value",)
        return self.options.columns or (*(column.name for column in COLUMNS if column.name != "value"), *typed)

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch. Every column is nullable. Raises `UsageProblem` for an unknown column."""
        return pa.schema([(name, self._type_of(name)) for name in self.columns])

    def _type_of(self, name: str) -> pa.DataType:
        if self.value_type is not None and name == "value":
            return self.value_type.arrow
        if name in ("raw_value", "decode_error"):
            return pa.binary() if name == "raw_value" else pa.string()
        return column_named(name).arrow_type

    def plan(self, snapshot: TopicSnapshot | None = None) -> list[LedgerRange]:
        """The messages to read now, cut into parts. Raises `NotFound`, and what the admin client raises."""
        return plan(self.options, snapshot)

    def read(self, part: LedgerRange, left_out: LeftOut | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of one part, in batches of at most 10,000 rows and about 8 MB.

        `left_out` learns what is not among them; without it, gaps are warnings in the log.

        Raises `DataLoss` if entries of the plan are gone and fail_on_data_loss is true, `DamagedEntry`, `DoesNotFit`,
        `TimedOut`, and what connecting raises.
        """
        skip, tell = (unnoticed, warn) if left_out is None else (left_out.skip, left_out.gone.append)
        return self.rows_of(part, partial(self._runs, part.topic, tell=tell), skip)

    def rows_of(self, part: LedgerRange, read: ReadSpan, skip: Skip = unnoticed) -> Iterator[pa.RecordBatch]:
        """The same, of entries that `read` gets. Raises what it raises, `DamagedEntry`, and `DoesNotFit`."""
        chunks = ChunkJoiner(part, read, skip) if self.options.unit == "message" else None
        typed = None
        if self.value_type is not None and set(self.columns) & set(typed_values.NAMES):
            typed = TypedValues(part.topic, self.value_type, fails=self.options.undecodable == "fail")
        yield from Unfolding(part, self.schema, chunks, typed).batches(read(part.span))

    def check_copy(self, part: LedgerRange) -> str:
        """Reads the whole copy of the ledger that begins with a part; returns how it differs from what was uploaded.

        Empty also for a part that is not read from a copy. Raises `DamagedEntry` if nothing of the copy can be read,
        and `CliError` if the store does not answer.
        """
        ledger_id, first, _, (path, copy) = part.span
        if path or not copy or self.options.tier is None:
            return ""
        tier = TierFile.open(self.options.tier.open(), copy, part.topic, ledger_id)
        try:
            if tier is not None and first == 0:
                tier.check_bytes()
        except DamagedEntry as error:
            return error.message
        return ""

    def entries(self, part: LedgerRange) -> Iterator[EntryRun]:
        """The entries of one part as they are stored. Raises what `read` does."""
        return self._runs(part.topic, part.span)

    def _runs(self, topic: str, span: EntrySpan, tell: Tell = warn) -> Iterator[EntryRun]:
        """The one place that chooses how entries are read: from a ledger's file or copy, or through the broker."""
        ledger_id, first, last, (path, copy) = span
        missing = MissingEntries(self.options.access, topic, tell, fails=self.options.fail_on_data_loss)
        if path:
            return LedgerFileReader(path, topic, ledger_id, first, last, missing).runs()
        if copy and self.options.tier is not None:
            tier = TierFile.open(self.options.tier.open(), copy, topic, ledger_id)
            if tier is not None:
                return TierFileReader(tier, topic, first, last, missing).runs()
        return ProtocolReader(self.options.access, topic, ledger_id, first, last, missing).runs()


def _wants_value(options: TableOptions) -> bool:
    return not options.columns or bool(set(options.columns) & set(typed_values.NAMES))
