"""Rows of files -> blocks for each target partition -> messages: the two stages of an import on Spark.

Between the stages, Spark moves the blocks to the task of their partition, and sorts them by file and place in it. So
each partition has one sender, as in one process, and a stage that is repeated repeats the same rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.transfer.file_formats import FileFormat
from pulsarctl.transfer.imported_rows import ImportSource
from pulsarctl.transfer.message_rows import encoding, message_rows, sources
from pulsarctl.transfer.pace import Pace, slices
from pulsarctl.transfer.partition_sender import PartitionSender
from pulsarctl.transfer.target import Target

ROW = "row"
WAVE_FILES_MAX = 64
WAVE_BYTES_MAX = 512 << 20

Routed = tuple[tuple[int, int, int], bytes]  # partition, file, and block of the file; rows as an Arrow stream


class Delivered(NamedTuple):
    """`sent` counts the rows that no earlier run had stored, as far as the broker knows."""

    rows: int
    sent: int


def waves(sizes: Sequence[int], first: int) -> list[range]:
    """Files from `first` on that go together. Progress is saved after each wave."""
    waves: list[range] = []
    total = 0
    for number in range(first, len(sizes)):
        if not waves or len(waves[-1]) == WAVE_FILES_MAX or total + sizes[number] > WAVE_BYTES_MAX:
            waves.append(range(number, number))
            total = 0
        waves[-1] = range(waves[-1].start, number + 1)
        total += sizes[number]
    return waves


@dataclass(frozen=True, slots=True)
class RouteFile:
    """The first stage: one file, by its number. Rows of the file `first` up to `after` are stored already."""

    source: ImportSource
    format: FileFormat | None
    target: Target
    first: int
    after: int

    def __call__(self, number: int) -> Iterator[Routed]:
        """Raises `CliError` for a file that cannot be imported."""
        row, after = 0, self.after if number == self.first else 0
        for block, batch in enumerate(self.source.read(self.source.files[number], self.format)):
            stored = min(max(after - row, 0), batch.num_rows)
            for partition, rows in self._divided(batch.slice(stored), row + stored):
                yield (partition, number, block), _packed(rows)
            row += batch.num_rows

    def _divided(self, batch: pa.RecordBatch, before: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """`before` is the number of the row before the first one."""
        names = batch.schema.names
        rows = pa.array(range(before + 1, before + 1 + batch.num_rows), pa.int64())
        numbered = pa.RecordBatch.from_arrays([*batch.columns, rows], [*names, ROW])
        keys = batch.column("key").to_pylist() if "key" in names else [None] * batch.num_rows
        indexes = map(self.target.partition_of, keys, sources(batch), rows.to_pylist())
        partitions = pa.array(indexes, pa.int32())
        for partition in pc.unique(partitions).to_pylist():
            yield partition, numbered.filter(pc.equal(partitions, partition))


@dataclass(frozen=True, slots=True)
class SendBlocks:
    """The second stage: the blocks of one partition, in order. `rate` is its share, in rows per second; 0: no limit."""

    target: Target
    rate: float

    def __call__(self, blocks: Iterable[Routed]) -> Iterator[Delivered]:
        """Everything is stored when it ends. Raises `CliError`."""
        remaining = iter(blocks)
        if (first := next(remaining, None)) is None:
            return
        rows, pace = 0, Pace(self.rate)
        with closing(self.target.access.client()) as client:
            sender = PartitionSender(self.target, client, first[0][0])
            for (_, file, _), packed in chain((first,), remaining):
                for batch in slices(_unpacked(packed), self.rate):
                    self._send(sender, file, batch)
                    rows += batch.num_rows
                    pace.keep(sender.sent)
            sender.flush()
        yield Delivered(rows, sender.sent)

    def _send(self, sender: PartitionSender, file: int, batch: pa.RecordBatch) -> None:
        encoded = encoding(batch, self.target.record_schema)
        for row, message in zip(batch.column(ROW).to_pylist(), message_rows(batch, encoded), strict=True):
            sender.send(file, row, message, encoded)


def _packed(batch: pa.RecordBatch) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]  # pyarrow ships no types


def _unpacked(packed: bytes) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(packed) as stream:
        yield from stream
