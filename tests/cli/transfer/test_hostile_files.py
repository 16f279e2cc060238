"""Files of an attacker: an import ends with an error that names the file, in bounded memory and time."""

import io
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from pulsarctl.schemas.avro_blocks import BLOCK_BYTES_MAX
from pulsarctl.transfer.parquet_pages import shared_bytes
from pulsarctl.transfer.row_blocks import ROW_BYTES_MAX, parquet_rows

READER = """
import resource, sys
from pulsarctl.errors import CliError
from pulsarctl.transfer.imported_rows import import_source
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for line in sys.stdin:
    source = import_source(line.strip())
    try:
        print(sum(rows.num_rows for rows in source.read(source.files[0], None)), "rows", flush=True)
    except CliError as error:
        print(error.message, flush=True)
"""
ROW = {"type": "record", "name": "Row", "fields": [{"name": "value", "type": "bytes"}]}


Printed = Callable[[Path], str]


@pytest.fixture(scope="module")
def printed() -> Iterator[Printed]:
    """What one process with little memory says about each file."""
    with subprocess.Popen(
        [sys.executable, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as one:
        assert one.stdin is not None
        assert one.stdout is not None
        told, said = one.stdin, one.stdout

        def ask(file: Path) -> str:
            told.write(f"{file}\n")
            told.flush()
            return said.readline().removesuffix("\n")

        yield ask
        told.close()


def sparse(file: Path, head: bytes, size: int) -> Path:
    """NULs after the first bytes, which take no space."""
    file.write_bytes(head)
    os.truncate(file, size)
    return file


def avro(file: Path, schema: dict[str, Any], codec: str, count: int, data: bytes) -> Path:
    """One block, whatever it says."""
    with open(file, "wb") as out:
        fastavro.writer(out, schema, [], codec=codec)
    head = file.read_bytes()
    block = io.BytesIO()
    for number in (count, len(data)):
        fastavro.schemaless_writer(block, "long", number)
    file.write_bytes(head + block.getvalue() + data + head[-16:])
    return file


def test_a_line_without_an_end_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = sparse(tmp_path / "x.jsonl", b'{"value": "a"}\n{"value": "', 1 << 30)
    assert printed(file) == f"cannot import {file}: line 2: it is larger than {ROW_BYTES_MAX >> 20} MiB"


def test_a_line_of_nuls_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b"\0" * 1000 + b"\n")
    assert printed(file).startswith(f"cannot import {file}: line 1, column 1: ")


@pytest.mark.parametrize("head", [b"value\na\n", b"value,", b'value\n"'])
def test_a_row_of_csv_without_an_end_is_an_error(printed: Printed, tmp_path: Path, head: bytes) -> None:
    file = sparse(tmp_path / "x.csv", head, 1 << 30)
    assert f"{file}: line " in printed(file)
    assert f"it is larger than {ROW_BYTES_MAX >> 20} MiB" in printed(file)


def test_a_quote_that_is_never_closed_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    with open(file, "wb") as out:
        out.write(b'value\n"a\n')
        for _ in range(ROW_BYTES_MAX >> 20):
            out.write(b"b" * ((1 << 20) - 1) + b"\n")
    assert printed(file) == (
        f"cannot import {file}: a row is larger than {ROW_BYTES_MAX >> 20} MiB, or a quote is not closed"
    )


def test_a_block_that_becomes_gigabytes_is_an_error(printed: Printed, tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=-15)
    zeros = bytes(1 << 20)
    data = b"".join(packer.compress(zeros) for _ in range((BLOCK_BYTES_MAX >> 20) + 1)) + packer.flush()
    file = avro(tmp_path / "x.avro", ROW, "deflate", 1, data)
    assert printed(file) == (
        f"cannot import {file}: block 1 is larger than {BLOCK_BYTES_MAX >> 20} MiB when it is decompressed"
    )


@pytest.mark.parametrize(("codec", "data"), [("snappy", b"\xff\xff\xff\xff\x0f"), ("lz4", b"\xff\xff\xff\xff")])
def test_a_block_that_says_it_is_gigabytes_is_an_error(
    printed: Printed, tmp_path: Path, codec: str, data: bytes
) -> None:
    file = avro(tmp_path / "x.avro", ROW, codec, 1, data + bytes(20))
    assert "block 1 is larger than" in printed(file)


@pytest.mark.parametrize("codec", ["deflate", "bzip2", "xz", "zstandard"])
def test_a_block_that_cannot_be_decompressed_is_an_error(printed: Printed, tmp_path: Path, codec: str) -> None:
    file = avro(tmp_path / "x.avro", ROW, codec, 1, b"\xff" * 20)
    assert printed(file).startswith(f"cannot import {file}: block 1 cannot be decompressed: ")


def test_a_count_of_rows_without_bytes_is_an_error(printed: Printed, tmp_path: Path) -> None:
    schema = {"type": "record", "name": "Row", "fields": [{"name": "value", "type": "null"}]}
    file = avro(tmp_path / "x.avro", schema, "null", 1 << 62, b"")
    assert printed(file) == f"cannot import {file}: its rows have no bytes, so a block could have any number of them"


def test_a_count_of_rows_that_are_not_there_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = avro(tmp_path / "x.avro", ROW, "null", 1 << 62, b"\x02a")
    assert printed(file).startswith(f"cannot import {file}: ")


def test_a_length_past_the_end_of_the_file_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = avro(tmp_path / "x.avro", ROW, "null", 1, b"\x02a")
    data = file.read_bytes()
    file.write_bytes(data[:-20] + b"\x02\xfe\xff\xff\xff\xff\xff\x0f")
    assert printed(file) == f"cannot import {file}: it ends too early"


def test_a_large_value_that_many_rows_share_is_decoded_for_few_rows_at_a_time(tmp_path: Path) -> None:
    """A file of kilobytes, of which 32 rows are gigabytes."""
    file = tmp_path / "x.parquet"
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array([bytes(100 << 20)]))
    pq.write_table(pa.table({"value": shared}), file, compression="zstd", write_statistics=False)
    assert file.stat().st_size < 1 << 20
    assert parquet_rows(shared_bytes(file, pq.read_metadata(file))) == 10


def test_a_count_of_rows_in_a_parquet_footer_that_lies_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"value": [b"a"] * 1000}), file, use_dictionary=False)
    data = file.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    claimed = data[-footer:].replace(b"\xd0\x0f", b"\xfe\x7f")  # 1,000 as a zigzag varint becomes 8,191
    file.write_bytes(data[:-footer] + claimed)
    assert printed(file).startswith(f"cannot import {file}: ")


def zigzag(number: int, length: int = 0) -> bytes:
    """As Thrift writes it, with more bytes than it needs if `length` says so."""
    number = number << 1
    found = bytearray()
    while number > 127 or len(found) + 1 < length:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


def with_less(file: Path, name: str = "total_uncompressed_size") -> Path:
    """The footer says that the column has a thousand bytes."""
    said = zigzag(getattr(pq.read_metadata(file).row_group(0).column(0), name))
    data = file.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    file.write_bytes(data[:-footer] + data[-footer:].replace(said, zigzag(1000, len(said))))
    return file


def bomb(file: Path, **options: Any) -> Path:
    settings = {"compression": "zstd", "use_dictionary": False, "write_statistics": False, **options}
    pq.write_table(pa.table({"value": [bytes(600 << 20)]}), file, **settings)
    assert file.stat().st_size < 1 << 20
    return file


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_page_of_kilobytes_that_becomes_gigabytes_is_an_error(printed: Printed, tmp_path: Path, version: str) -> None:
    file = bomb(tmp_path / "x.parquet", data_page_version=version)
    said = f"cannot import {file}: a page of column value is larger than 512 MiB when it is decompressed"
    assert printed(file) == said
    assert printed(with_less(file)) == said


def test_a_dictionary_that_is_larger_than_the_footer_says_is_an_error(printed: Printed, tmp_path: Path) -> None:
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array([bytes(200 << 20)]))
    pq.write_table(pa.table({"value": shared}), tmp_path / "x.parquet", compression="zstd", write_statistics=False)
    file = with_less(tmp_path / "x.parquet")
    assert printed(file) == f"cannot import {file}: the pages of column value are larger than its footer says"


def test_values_that_repeat_a_part_of_the_one_before_are_decoded_a_few_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    settings = {"use_dictionary": False, "column_encoding": {"value": "DELTA_BYTE_ARRAY"}, "write_statistics": False}
    pq.write_table(pa.table({"value": [bytes(100 << 20)] * 2}), file, compression="zstd", **settings)
    assert parquet_rows(shared_bytes(file, pq.read_metadata(file))) == 10


def test_a_footer_of_a_gigabyte_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = sparse(tmp_path / "x.parquet", b"PAR1", (1 << 30) + 4)
    with open(file, "ab") as out:
        out.write((1 << 30).to_bytes(4, "little") + b"PAR1")
    assert printed(file) == f"cannot import {file}: its footer has 1,073,741,824 bytes"


def test_an_index_that_its_dictionary_does_not_have_is_an_error(printed: Printed, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"value": [b"a", b"b", b"c"] * 100}), file, compression="none", write_statistics=False)
    data, chunk = bytearray(file.read_bytes()), pq.read_metadata(file).row_group(0).column(0)
    end = chunk.dictionary_page_offset + chunk.total_compressed_size
    data[end - 20 : end] = b"\xff" * 20
    file.write_bytes(data)
    assert printed(file).startswith(f"cannot import {file}: ")


def test_a_schema_of_a_hundred_thousand_levels_is_an_error(printed: Printed, tmp_path: Path) -> None:
    def element(name: bytes, children: int) -> bytes:
        kind = b"\x15" + zigzag(6) + b"\x25" if not children else b"\x35"
        count = b"\x15" + zigzag(children) if children else b""
        return kind + zigzag(0) + b"\x18" + bytes((len(name),)) + name + count + b"\0"

    levels = [element(b"a", 1) for _ in range(100_000)]
    schema = b"".join([*levels, element(b"value", 0)])
    count = bytes((len(levels) + 1 & 127 | 128, (len(levels) + 1) >> 7 & 127 | 128, (len(levels) + 1) >> 14))
    footer = b"\x15" + zigzag(1) + b"\x19\xfc" + count + schema + b"\x16" + zigzag(1) + b"\x19\x0c\0"
    file = tmp_path / "x.parquet"
    file.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert "nested" in printed(file)
