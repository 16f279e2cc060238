"""The headers of the pages of a Parquet file: how much memory its rows take, which nothing else in the file tells.

Arrow takes the memory that a page asks for. A file of kilobytes may ask for any number of gigabytes, and a footer may
say that there is little.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from broker_core.offload.tier_pages import DATA, DATA_V2, DICTIONARY, PLAIN, CutOff, page_header

PAGE_BYTES_MAX = 512 << 20
FOOTER_BYTES_MAX = 256 << 20
_HEADERS = (64 << 10, 16 << 20)  # bytes to read for one; statistics may have long values


class _Page(NamedTuple):
    """`is_plain`: each value is in the page, whole and on its own."""

    size: int
    values: int
    is_plain: bool
    end: int


def check_footer(path: Path) -> None:
    """Raises `ValueError` for a footer that is too large to be parsed."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        footer = int.from_bytes(file.read(4), "little")
    if FOOTER_BYTES_MAX < footer <= size:
        raise ValueError(f"its footer has {footer:,} bytes")


def shared_bytes(path: Path, metadata: Any) -> int:
    """The most that the rows of a column chunk may have in common, so that each of them may have it.

    Raises `ValueError` for pages that are larger than the footer says, or than any writer makes them.
    """
    groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
    chunks = (group.column(index) for group in groups for index in range(group.num_columns))
    with open(path, "rb") as file:
        return max((_shared(file.fileno(), chunk) for chunk in chunks), default=0)


def _shared(file: int, chunk: Any) -> int:
    size, is_plain = 0, True
    for page in _pages(file, chunk):
        size, is_plain = size + page.size, is_plain and page.is_plain
        if size > chunk.total_uncompressed_size:
            raise ValueError(f"the pages of column {chunk.path_in_schema} are larger than its footer says")
    return 0 if is_plain else int(chunk.total_uncompressed_size)


def _pages(file: int, chunk: Any) -> Iterator[_Page]:
    at = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
    end, values = at + chunk.total_compressed_size, 0
    while values < chunk.num_values and at < end:
        page = _page(file, at)
        if page.size > PAGE_BYTES_MAX:
            raise ValueError(
                f"a page of column {chunk.path_in_schema} is larger than {PAGE_BYTES_MAX >> 20} MiB when it is"
                " decompressed"
            )
        yield page
        at, values = page.end, values + page.values


def _page(file: int, at: int) -> _Page:
    header, end = _header(file, at)
    size, stored = header.get(2, -1), header.get(3, -1)
    data, newer = header.get(DATA, {}), header.get(DATA_V2, {})
    values = data.get(1, 0) + newer.get(1, 0)
    if min(size, stored, values) < 0:
        raise ValueError("a page has a negative size")
    encoding = data.get(2, newer.get(4, PLAIN))
    return _Page(size, values, encoding == PLAIN and DICTIONARY not in header, end + stored)


def _header(file: int, at: int) -> tuple[dict[int, Any], int]:
    for size in _HEADERS:
        try:
            header, length = page_header(os.pread(file, size, at), 0)
        except CutOff:
            if size == _HEADERS[-1]:
                raise
        else:
            return header, at + length
    raise AssertionError("the last attempt returns or raises")
