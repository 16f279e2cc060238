"""Files -> rows in the order of the export. Other directories and files are read in the order of their names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from pulsarctl.errors import CliError, NotFound, UsageProblem
from pulsarctl.transfer import manifest
from pulsarctl.transfer.file_formats import FileFormat, format_of, read_rows


@dataclass(frozen=True, slots=True)
class ImportSource:
    """`id` stays the same as long as the data does. `schemas` is by the version that rows name."""

    id: str
    files: Sequence[Path]
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: int | None = None

    def read(self, path: Path, wanted: FileFormat | None) -> Iterator[pa.RecordBatch]:
        """One of the files. Raises `CliError` if it cannot be read or has no column value."""
        for batch in read_rows(path, wanted or format_of(path)):
            if "value" not in batch.schema.names:
                raise CliError(f"cannot import {path}: it has no column value")
            yield batch


def import_source(path: Path) -> ImportSource:
    """An exported directory, another directory, or one file. Raises `NotFound`, `UsageProblem`."""
    if not path.exists():
        raise NotFound(f"cannot import {path}: there is no such file or directory")
    if path.is_file():
        return ImportSource(_id_of([path]), [path])
    exported = manifest.load(path)
    if exported is not None:
        files = [path / each.path for each in exported.files]
        missing = [each for each in files if not each.is_file()]
        if missing:
            raise CliError(f"cannot import {path}: {missing[0]} is missing", hint="export the topic again")
        return ImportSource(exported.id, files, exported.schemas, exported.rows)
    endings = tuple(f".{kind}" for kind in FileFormat)
    files = sorted(each for each in path.rglob("*") if each.name.endswith(endings) and not each.name.startswith("."))
    if not files:
        raise UsageProblem(f"cannot import {path}: it has no file that ends with {', '.join(endings)}")
    return ImportSource(_id_of(files), files)


def _id_of(files: Sequence[Path]) -> str:
    facts = [(str(each.resolve()), each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return sha256(repr(facts).encode()).hexdigest()[:16]
