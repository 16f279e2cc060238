"""One file in Parquet, JSON lines, CSV, or Avro. It has its name only when it is whole and stored."""

import contextlib
import json
import zlib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pyarrow as pa

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.transfer.avro_files import AvroFile, read_avro
from pulsarctl.transfer.json_values import json_text, json_values
from pulsarctl.transfer.parquet_pages import check_footer, shared_bytes
from pulsarctl.transfer.places import Place, Sum
from pulsarctl.transfer.portable import NO_VALUE, TYPES, VALUES, as_text, from_text, has_value, properties_text
from pulsarctl.transfer.row_blocks import ROWS_AT_ONCE, blocks, csv_block, joined, lines, parquet_rows


class FileFormat(StrEnum):
    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"
    AVRO = "avro"


class RowFile(Protocol):
    def write(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class WholeFile:
    """A file without its name until `finish` gives it. `abandon` removes it."""

    def __init__(self, place: Place, name: str, kind: FileFormat, schema: pa.Schema) -> None:
        self.name = name
        self._place = place
        self._draft = place.draft(name)
        self._file: RowFile = _WRITERS[kind](self._draft, schema)
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._file.write(batch)
        self.rows += batch.num_rows

    def finish(self) -> Sum:
        """Raises OSError, and `CliError` if the place returns something else than what was written."""
        self._file.close()
        return self._place.put(self._draft, self.name)

    def abandon(self) -> None:
        with contextlib.suppress(Exception):
            self._file.close()
        self._place.drop(self._draft)


def read_rows(path: Path, kind: FileFormat, shown: str = "", *, purpose: str = "read") -> Iterator[pa.RecordBatch]:
    """`shown` is its name in errors if it is a copy, and `purpose` is what cannot be done with a file that has errors.

    Raises `CliError`, with the number of the line or row that cannot be read.
    """
    try:
        yield from _READERS[kind](path)
    except _UNREADABLE as error:
        raise CliError(f"cannot {purpose} {shown or path}: {_words(error)}") from error


_UNREADABLE = (
    *(OSError, ValueError, pa.ArrowException),
    *(EOFError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, zlib.error),  # of Avro files
    MemoryError,  # as well: fastavro asks for as many bytes as the file says that follow
)


def _words(error: Exception) -> str:
    """Some errors have no text of their own."""
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    return str(error) or type(error).__name__


def format_of(path: Path) -> FileFormat:
    """The format by the ending of the name. Raises `UsageProblem`."""
    for kind in FileFormat:
        if path.name.endswith(f".{kind}"):
            return kind
    raise UsageProblem(f"cannot tell the format of {path}", hint=f"its name must end with .{', .'.join(FileFormat)}")


class _ParquetFile:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _JsonFile:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115  # closed by `close`

    def write(self, batch: pa.RecordBatch) -> None:
        text = as_text(batch)
        values = json_values(text.column("value"))
        for row, value in zip(text.drop_columns("value").to_pylist(), values, strict=True):
            row |= {"properties": dict(row["properties"] or ()) or None, "value": value}
            present = {name: field for name, field in row.items() if field is not None}
            if not has_value(present):
                present["value"] = None  # a tombstone; a row that says nothing about its value is refused
            self._file.write(json_text(present) + "\n")

    def close(self) -> None:
        self._file.close()


class _CsvFile:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._writer: Any = None
        path.touch()

    def write(self, batch: pa.RecordBatch) -> None:
        from pyarrow import csv

        text = as_text(batch)
        place = text.schema.get_field_index("properties")
        flat = pa.array(list(map(properties_text, text.column(place).to_pylist())), pa.string())
        text = text.set_column(place, "properties", flat)
        if self._writer is None:
            self._writer = csv.CSVWriter(self._path, text.schema)
        self._writer.write_batch(text)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _read_parquet(path: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    check_footer(path)
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        rows = 0
        rows_at_once = parquet_rows(shared_bytes(path, file.metadata))
        for batches in blocks(file.iter_batches(rows_at_once), lambda batch: batch.nbytes):
            yield from joined(batches)
            rows += sum(batch.num_rows for batch in batches)
        if rows != file.metadata.num_rows:
            raise ValueError(f"it has {rows:,} rows, and its footer says {file.metadata.num_rows:,}")


def _read_json(path: Path) -> Iterator[pa.RecordBatch]:
    with open(path, "rb") as file:
        for block in blocks(enumerate(lines(file), 1), lambda numbered: len(numbered[1])):
            yield _text_rows([_object(number, line) for number, line in block], "line", block[0][0])


_AS_WRITTEN = msgspec.json.Decoder(dict[str, msgspec.Raw])
"""A float of Python has fewer digits than a number of JSON may have."""


def _object(number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode())
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}, column {error.colno}: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"line {number}: byte {error.start + 1} is not UTF-8") from error
    except RecursionError as error:
        raise ValueError(f"line {number}: it is nested too deeply") from error
    if not isinstance(row, dict):
        raise ValueError(f"line {number}: it is not a JSON object")
    if not has_value(row):
        raise ValueError(f"line {number}: {NO_VALUE}; write null for a message without a value")
    if isinstance(row.get("value"), float | dict | list):
        with contextlib.suppress(msgspec.MsgspecError):  # NaN is not JSON
            row["value"] = bytes(_AS_WRITTEN.decode(line)["value"]).decode()
    return row


_UNFIT = (ValueError, TypeError, OverflowError, pa.ArrowException, RecursionError)


def _text_rows(rows: Sequence[dict[str, Any]], noun: str, first: int) -> pa.RecordBatch:
    """`noun` is line or row, and `first` the number of the first one. Raises `ValueError`, which names one."""
    try:
        return from_text(rows)
    except _UNFIT as error:
        for number, row in enumerate(rows, first):
            _check_row(row, f"{noun} {number}")
        raise ValueError(f"{noun}s {first} to {first + len(rows) - 1}: {error}") from error


def _check_row(row: dict[str, Any], where: str) -> None:
    try:
        from_text([row])
    except _UNFIT as error:
        raise ValueError(f"{where}: {str(error).partition(chr(10))[0]}") from error


def _read_csv(path: Path) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    if not path.stat().st_size:
        return
    with open(path, "rb") as head:
        names = next(iter(_csv_names(next(lines(head)))))
    if not has_value(names):
        raise ValueError(NO_VALUE)
    if several := [name for name in (*TYPES, *VALUES) if names.count(name) > 1]:
        raise ValueError(f"it has several columns {several[0]}")
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    reader = csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=csv_block(path)),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=convert,
    )
    before = 0
    for batch in reader:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            rows = batch.slice(start, ROWS_AT_ONCE).to_pylist()
            present = [{name: value for name, value in row.items() if value is not None} for row in rows]
            yield _text_rows(present, "row", before + 1)
            before += len(rows)


def _csv_names(head: bytes) -> Iterator[list[str]]:
    import csv

    try:
        yield from csv.reader([head.decode("utf-8-sig").rstrip("\r\n")])  # pyarrow skips the mark as well
    except csv.Error as error:
        raise ValueError(f"line 1: {error}") from error


_WRITERS: dict[FileFormat, Any] = {
    FileFormat.PARQUET: _ParquetFile,
    FileFormat.JSONL: _JsonFile,
    FileFormat.CSV: _CsvFile,
    FileFormat.AVRO: AvroFile,
}
_READERS: dict[FileFormat, Any] = {
    FileFormat.PARQUET: _read_parquet,
    FileFormat.JSONL: _read_json,
    FileFormat.CSV: _read_csv,
    FileFormat.AVRO: read_avro,
}
