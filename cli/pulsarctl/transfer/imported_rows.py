"""Files -> rows in the order of the export. Other directories and files are read in the order of their names."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from pulsarctl.errors import CliError, NotFound, UsageProblem
from pulsarctl.transfer import manifest
from pulsarctl.transfer.column_types import fitted
from pulsarctl.transfer.file_formats import FileFormat, format_of, read_rows
from pulsarctl.transfer.message_rows import COLUMNS
from pulsarctl.transfer.places import Place, Sum, divided, place_at, reason_of, sum_of


@dataclass(frozen=True, slots=True)
class ImportSource:
    """`id` stays the same as long as the data does. `schemas` is by the version that rows name.

    `sums` has the checksums of an export's files, and `sizes` are the bytes of each file.
    """

    id: str
    place: Place
    files: Sequence[str]
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: int | None = None
    sums: Mapping[str, Sum] = field(default_factory=dict)
    sizes: Sequence[int] = ()

    def read(self, name: str, expected: FileFormat | None, *, in_transaction: bool = False) -> Iterator[pa.RecordBatch]:
        """One of the files. Raises `CliError` if it cannot be read, is not what was exported, or has no values."""
        rows = 0
        try:
            for batch in self._batches(name, expected):
                yield batch
                rows += batch.num_rows
        except CliError as error:
            if not in_transaction:
                error.hint = error.hint or _what_was_sent(rows)
            raise

    @contextmanager
    def naming(self, name: str) -> Iterator[None]:
        """Names the file in the error of a value that has no encoding."""
        try:
            yield
        except UsageProblem as error:
            reason = error.message.removeprefix("cannot write ")
            error.message = f"cannot import {self.place.describe(name)}: {reason}"
            raise

    def _batches(self, name: str, expected: FileFormat | None) -> Iterator[pa.RecordBatch]:
        shown = self.place.describe(name)
        try:
            with self.place.fetch(name) as path:
                if (wanted_sum := self.sums.get(name)) is not None:
                    check_sum(path, wanted_sum, shown)
                for batch in read_rows(path, expected or format_of(path), shown, purpose="import"):
                    yield fitted(batch, COLUMNS)
        except OSError as error:
            raise CliError(f"cannot read {shown}: {reason_of(error)}") from error
        except ValueError as error:
            raise CliError(f"cannot import {shown}: {error}") from error


def import_source(text: str) -> ImportSource:
    """An exported directory, another directory, or one file; or a URI of these. Raises `NotFound`, `UsageProblem`."""
    place = place_at(text)
    try:
        names = place.names()
        if not names:
            return _single(text)
        exported = manifest.load(place)
        return _others(place, names) if exported is None else _exported(place, names, exported)
    except OSError as error:
        raise CliError(f"cannot read {place.describe()}: {reason_of(error)}") from error


def check_sum(path: Path, expected: Sum, shown: str) -> None:
    """Raises `CliError` for a file that is not what was exported."""
    with open(path, "rb") as file:
        if sum_of(file) != expected:
            raise CliError(f"cannot import {shown}: it is not what was exported", hint="export the topic again")


def _what_was_sent(rows: int) -> str:
    if not rows:
        return "no row of this file was sent"
    return f"up to {rows:,} rows before it were sent, and are sent again when the file has changed"


def _single(text: str) -> ImportSource:
    place, name = divided(text)
    try:
        return _identified(place, [name])
    except FileNotFoundError as error:
        raise NotFound(f"cannot import {place.describe(name)}: there is no such file or directory") from error


def _exported(place: Place, names: Sequence[str], exported: manifest.Manifest) -> ImportSource:
    _check_decoded(place, exported)
    files = [file.path for file in exported.files]
    missing = sorted(set(files).difference(names))
    if missing:
        raise CliError(
            f"cannot import {place.describe()}: {place.describe(missing[0])} is missing", hint="export the topic again"
        )
    sums = {file.path: Sum(file.bytes, file.crc32c) for file in exported.files if file.crc32c is not None}
    sizes = [file.bytes for file in exported.files]
    return ImportSource(exported.id, place, files, exported.schemas, exported.rows, sums, sizes)


def _check_decoded(place: Place, exported: manifest.Manifest) -> None:
    """JSON lines show decoded values as text, which is not a payload of their schemas."""
    kinds = sorted({str(schema.get("type")) for schema in exported.schemas.values()} - {"STRING", "BYTES"})
    if exported.format == FileFormat.JSONL and exported.decode != "raw" and kinds:
        raise UsageProblem(
            f"cannot import {place.describe()}: its values are decoded, and JSON lines are not {', '.join(kinds)}",
            hint="export to Parquet, or without --typed",
        )


def _others(place: Place, names: Sequence[str]) -> ImportSource:
    endings = tuple(f".{kind}" for kind in FileFormat)
    files = [file for file in names if file.endswith(endings) and not file.rpartition("/")[2].startswith(".")]
    if not files:
        raise UsageProblem(f"cannot import {place.describe()}: it has no file that ends with {', '.join(endings)}")
    return _identified(place, files)


def _identified(place: Place, names: Sequence[str]) -> ImportSource:
    """Files of others: they are the same as long as none of them changes."""
    identities = [place.identity(name) for name in names]
    own_id = sha256(repr(identities).encode()).hexdigest()[:16]
    return ImportSource(own_id, place, names, sizes=[identity.bytes for identity in identities])
