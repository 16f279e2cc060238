"""Tier files of an attacker who can write to the store: an error in bounded memory, and no entry of another ledger."""

from __future__ import annotations

import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from broker_core.offload.tier_file import INDEX_KEY, Group, TierIndex, schema
from broker_core.offload.tier_footer import TierFooter, tail_length
from broker_core.offload.tier_groups import GroupReader
from broker_core.offload.tier_pages import check_pages
from broker_core.storage.errors import Damaged
from broker_core.storage.records.catalog import LedgerInfo
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic

MEMORY = 1 << 30  # more than the process has already
LARGE = 300 << 20


@contextmanager
def little_memory() -> Iterator[None]:
    """What is not bounded fails, and takes no memory from other tests."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def tier_file(path: Path, entry: bytes, group: Group, rows: int = 1, **options: Any) -> tuple[bytes, TierFooter]:
    """A file with one row group, whatever its index says."""
    columns = [[7] * rows, range(rows), [1] * rows, [0] * rows, [0] * rows, [0] * rows, [entry] * rows]
    table = pa.Table.from_arrays(
        [pa.array(list(column), kind) for column, kind in zip(columns, schema().types, strict=True)], schema=schema()
    )
    settings = {"compression": "zstd", "use_dictionary": False, "write_statistics": False, **options}
    with pq.ParquetWriter(path, schema(), **settings) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({INDEX_KEY: TierIndex(7, "uuid", [group]).encode()})
    data = path.read_bytes()
    return data, TierFooter(data[-tail_length(data) :])


def read(data: bytes, footer: TierFooter) -> None:
    offset, length = footer.extent(0)
    GroupReader(footer).block(0, offset, data[offset : offset + length])


def test_pages_that_become_larger_than_the_index_says_are_not_decoded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="row group 0 is larger than its entries"):
        tier_file(tmp_path / "x", bytes(LARGE), Group(0, 1, 1, 100, 0, 0))


@pytest.mark.parametrize("options", [{"use_dictionary": ["entry"]}, {"column_encoding": {"entry": "DELTA_BYTE_ARRAY"}}])
def test_values_that_share_bytes_are_not_decoded(tmp_path: Path, options: dict[str, Any]) -> None:
    """Fifty entries of 100 MB, which are one in the file."""
    with pytest.raises(ValueError, match="not one that an offload writes"):
        read(*tier_file(tmp_path / "x", bytes(100 << 10), Group(0, 50, 50, 50 * 100 << 10, 0, 0), 50, **options))


def test_a_page_that_says_another_size_than_the_footer_is_not_decoded(tmp_path: Path) -> None:
    """The page of a bomb in the place of an honest one: the footer of the broker's catalog is the same."""
    honest = bytes(range(256)) * 4096
    data, footer = tier_file(tmp_path / "x", honest, Group(0, 1, 1, len(honest), 0, 0), compression="none")
    large, other = tier_file(tmp_path / "y", bytes(LARGE), Group(0, 1, 1, LARGE, 0, 0))
    bomb, place = (next(one.chunks(0, ["entry"])) for one in (other, footer))
    page = large[bomb.data_page_offset : bomb.data_page_offset + bomb.total_compressed_size]
    at = place.data_page_offset
    with little_memory(), pytest.raises(ValueError, match="a page is larger than its row group"):
        read(data[:at] + page + data[at + len(page) :], footer)


@pytest.mark.parametrize("change", [{"entries": 2}, {"entries": -1}, {"first": 5}, {"size": -1}, {"size": 1 << 40}])
def test_counts_of_the_index_that_lie_are_an_error(tmp_path: Path, change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="row group 0 has other entries than the index says"):
        tier_file(tmp_path / "x", b"entry", Group(0, 1, 1, 5, 0, 0)._replace(**change))


OTHER_BYTES = [b"", b"\x15", b"\x15" + b"\xff" * 30, b"\x1c" * 50, b"\x19" * 50, b"\x18\xff\x7f"]
OTHER_TYPES = [  # a text in place of the DataPageHeader, and a boolean in place of a size
    b"\x15\x00\x15\x02\x15\x02\x28\x00\x00",
    b"\x15\x00\x11\x15\x02\x2c\x15\x02\x15\x00\x00\x00",
]


@pytest.mark.parametrize("header", OTHER_BYTES + OTHER_TYPES)
def test_a_header_of_other_bytes_is_an_error(header: bytes) -> None:
    with pytest.raises(ValueError, match="page"):
        check_pages(memoryview(header), 1, 100)


@pytest.mark.parametrize("change", [{"id": 8}, {"entries": 2}, {"messages": 2}, {"size": 6}])
def test_the_index_of_another_ledger_is_an_error(change: dict[str, Any]) -> None:
    index = TierIndex(7, "uuid", [Group(0, 1, 1, 5, 0, 0)])
    ledger = LedgerInfo(7, 0, entries=1, messages=1, size=5)
    index.check_is_of("uuid", ledger)
    with pytest.raises(ValueError, match="its index is not that of the ledger"):
        index.check_is_of("uuid", replace(ledger, **change))
    with pytest.raises(ValueError, match="its index is not that of the ledger"):
        index.check_is_of("other", ledger)


def test_a_bomb_in_a_store_is_an_error_that_names_the_object_and_other_topics_are_read(tmp_path: Path) -> None:
    large, other = tier_file(tmp_path / "y", bytes(LARGE), Group(0, 1, 1, LARGE, 0, 0))
    chunk = next(other.chunks(0, ["entry"]))
    page = large[chunk.data_page_offset : chunk.data_page_offset + chunk.total_compressed_size]
    with offloaded_topic(in_directory(tmp_path / "store"), tmp_path / "d") as one:
        fine = OffloadedTopic(one.broker, one.client, f"{one.name}-fine")
        one.client.subscribe(fine.name, "keeps").close()
        before = fine.publish_and_offload()
        one.publish([random.randbytes(len(page))])
        one.offload()
        one.drop_files()
        file = next((tmp_path / "store").rglob(f"{one.local_name}/*.parquet"))
        content = file.read_bytes()
        at = next(TierFooter(content[-tail_length(content) :]).chunks(0, ["entry"])).data_page_offset
        file.write_bytes(content[:at] + page + content[at + len(page) :])
        with little_memory(), pytest.raises(Damaged, match=f"{file.name} was altered: a page is larger than"):
            one.entries()
        assert fine.entries() == before
