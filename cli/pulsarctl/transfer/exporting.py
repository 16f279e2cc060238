"""A plan -> files. Each part of the plan is one task: the same code in this process and on Spark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.errors import CliError
from pulsarctl.tables.arrays import LATER_US
from pulsarctl.tables.bounds import Bounds
from pulsarctl.tables.data_loss import LeftOut, end_of
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.plan import TopicSnapshot
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.tables.typed.typed_values import NAMES as TYPED
from pulsarctl.transfer.part_files import FileFacts, Layout, PartFiles
from pulsarctl.transfer.places import reason_of
from pulsarctl.transfer.portable import COLUMNS, TIMES, portable

Part = tuple[int, LedgerRange]


@dataclass(frozen=True, slots=True)
class Written:
    """The files of one part. `left_out` is what they do not contain.

    `undecoded`: values that are written as bytes, because they could not be decoded.
    """

    files: list[FileFacts]
    left_out: LeftOut
    undecoded: int = 0


@dataclass(frozen=True, slots=True)
class Export:
    """Small, and pickled to each task."""

    table: TopicTable
    layout: Layout

    def __call__(self, part: Part) -> Written:
        """Writes the files of one part. Raises `CliError`, and what reading raises."""
        index, ledger_range = part
        try:
            return self._write(index, ledger_range)
        except OSError as error:
            raise CliError(f"cannot write to {self.layout.place.describe()}: {reason_of(error)}") from error

    def _write(self, index: int, ledger_range: LedgerRange) -> Written:
        left_out = LeftOut()
        batches = messages(self.table, ledger_range, left_out)
        first = next(batches, None)
        if first is None:
            return Written([], left_out)
        undecoded = 0
        with PartFiles(self.layout, index, first.schema) as files:
            for rows in chain((first,), batches):
                files.write(rows)
                undecoded += _undecoded(rows)
        return Written(files.facts, left_out, undecoded)


def messages(table: TopicTable, part: LedgerRange, left_out: LeftOut | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of one part, as exported.

    Raises `CliError` for a message that is encrypted or has a time after the year 9999, and what reading raises.
    """
    return map(_checked, table.read(part, left_out))


def columns(*, typed: bool) -> tuple[str, ...]:
    """The columns that are read of each message."""
    return (*COLUMNS, *(TYPED if typed else ("value",)))


def next_positions(before: dict[str, str], snapshot: TopicSnapshot, start: Bounds, now: int) -> dict[str, str]:
    """The start of the next run: after the end of each partition in which `start` is reached at `now`, in ms."""
    positions = dict(before)
    for topic, stats in snapshot.known.items():
        (ledger_id, entry_id), bound = end_of(stats), start.of(topic)
        if ledger_id >= 0 and bound.position <= (ledger_id, entry_id + 1) and (bound.time_ms or 0) <= now:
            positions[topic] = f"{ledger_id}:{entry_id + 1}"
    return positions


def in_order(parts_written: Sequence[Written]) -> list[FileFacts]:
    """By part, and in a part by the places that the names say. The place 10000 has a longer name than 9999."""
    return [facts for part in parts_written for facts in sorted(part.files, key=_place)]


def _place(facts: FileFacts) -> tuple[int, str]:
    name = facts.path.rpartition("/")[2]
    return len(name), name


def _undecoded(rows: pa.RecordBatch) -> int:
    if "decode_error" not in rows.schema.names:
        return 0
    return int(rows.num_rows - rows.column("decode_error").null_count)


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    _check(batch, batch.column("encrypted"), "it is encrypted", "consume it with its key, and copy the result")
    for name in TIMES:
        is_later = pc.equal(batch.column(name).cast(pa.int64()), LATER_US)
        _check(
            batch,
            is_later,
            f"its {name} is after the year 9999",
            "leave it out: end before it with --end, and continue after it with --start",
        )
    return portable(batch)


def _check(batch: pa.RecordBatch, refused: pa.Array, reason: str, hint: str) -> None:
    """Raises `CliError` for the first message that is refused."""
    if pc.any(refused).as_py():
        place = batch.column("message_id")[pc.index(refused, True).as_py()].as_py()
        raise CliError(f"cannot copy message {place}: {reason}", hint=hint)
