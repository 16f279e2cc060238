"""Rows of a file in blocks of bounded size, so the memory of an import does not depend on the size of its messages.

Where a block ends depends on the file alone: an import that continues reads the same blocks.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

ROWS_AT_ONCE = 5000
BYTES_AT_ONCE = 16 << 20
PARQUET_ROWS = 32  # decoded at a time: nothing in a Parquet file tells how large a row is
CSV_BLOCK = 1 << 20
_LARGEST_CSV_BLOCK = (1 << 31) - 1  # of pyarrow

Row = TypeVar("Row")


def blocks(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """A block ends with the row that makes it full."""
    block: list[Row] = []
    held = count = 0
    for row in rows:
        block.append(row)
        held, count = held + size(row), count + (row.num_rows if isinstance(row, pa.RecordBatch) else 1)
        if count >= ROWS_AT_ONCE or held >= BYTES_AT_ONCE:
            yield block
            block, held, count = [], 0, 0
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
        for line in file:
            row += len(line)
            quotes += line.count(b'"')
            if quotes % 2 == 0:
                longest, row, quotes = max(longest, row), 0, 0
    return min(max(CSV_BLOCK, longest + 1, row + 1), _LARGEST_CSV_BLOCK)
