"""Rows of a file in blocks of bounded size, so the memory of an import does not depend on the size of its messages.

Where a block ends depends on the file alone: an import that continues reads the same blocks.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import pyarrow as pa

ROWS_AT_ONCE = 5000
BYTES_AT_ONCE = 16 << 20
PARQUET_ROWS = 32  # decoded at a time: nothing in a Parquet file tells how large a row is
PARQUET_BYTES = 1 << 30  # decoded at a time, if each row may have the largest value of a dictionary
ROW_BYTES_MAX = 256 << 20  # of a line, or of a row of CSV
CSV_BLOCK = 1 << 20

Row = TypeVar("Row")


def blocks(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """A block ends with the row that makes it full."""
    block: list[Row] = []
    held = number = 0
    for row in rows:
        block.append(row)
        held, number = held + size(row), number + (row.num_rows if isinstance(row, pa.RecordBatch) else 1)
        if number >= ROWS_AT_ONCE or held >= BYTES_AT_ONCE:
            yield block
            block, held, number = [], 0, 0
    if block:
        yield block


def joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One batch, with what one can hold: a column of text ends at 2 GiB."""
    yield from pa.Table.from_batches(batches).combine_chunks().to_batches()


def text_size(row: dict[str, Any]) -> int:
    return sum(len(value) for value in row.values() if isinstance(value, str | bytes))


def csv_block(path: Path) -> int:
    """Bytes for pyarrow to read at a time: a row must fit, and may have line breaks between quotes."""
    longest = row = quotes = 0
    with open(path, "rb") as file:
        for line in lines(file):
            row += len(line)
            if row > ROW_BYTES_MAX:
                raise ValueError(f"a row is larger than {ROW_BYTES_MAX >> 20} MiB, or a quote is not closed")
            quotes += line.count(b'"')
            if quotes % 2 == 0:
                longest, row, quotes = max(longest, row), 0, 0
    return max(CSV_BLOCK, longest + 1, row + 1)


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Raises `ValueError` for a line that is too large."""
    for number in count(1):
        line = file.readline(ROW_BYTES_MAX + 1)
        if len(line) > ROW_BYTES_MAX:
            raise ValueError(f"line {number}: it is larger than {ROW_BYTES_MAX >> 20} MiB")
        if not line:
            return
        yield line


def parquet_rows(shared: int) -> int:
    """How many rows of a Parquet file to decode at a time, if each may have the bytes that they share."""
    return max(1, min(PARQUET_ROWS, PARQUET_BYTES // max(1, shared)))
