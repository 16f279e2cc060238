"""The files of one part of a plan: one, or one for each day (UTC) or group of keys.

The name of a file says its run, its part, and its place in the part, so that files in the order of (run, part, place)
have the messages of each key in order. When the day changes back and forth, each change starts a file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.client.routing import java_string_hash
from pulsarctl.transfer.file_formats import FileFormat, WholeFile


class By(StrEnum):
    NONE = "none"
    DAY = "day"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where files go. `run` counts the runs of an incremental export."""

    directory: Path
    format: FileFormat
    by: By
    key_groups: int
    run: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """`path` is relative to the directory."""

    path: str
    rows: int
    bytes: int


class PartFiles:
    """Use as a context: its files are whole when the block ends, and gone if it raises."""

    def __init__(self, layout: Layout, part: int, schema: pa.Schema) -> None:
        self._layout = layout
        self._part = part
        self._schema = schema
        self._open: dict[str, WholeFile] = {}
        self._places = 0
        self.facts: list[FileFacts] = []

    def __enter__(self) -> "PartFiles":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for file in self._open.values():
                file.abandon()

    def write(self, batch: pa.RecordBatch) -> None:
        for folder, rows in self._shares(batch):
            if self._layout.by is By.DAY and folder not in self._open:
                self._finish()
            file = self._open.get(folder) or self._start(folder)
            file.write(rows)

    def _shares(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        if self._layout.by is By.DAY:
            yield from _runs_of_days(batch)
        elif self._layout.by is By.KEY:
            keys = batch.column("key").to_pylist()
            groups = pa.array([java_string_hash(key or "") % self._layout.key_groups for key in keys], pa.int32())
            for group in pc.unique(groups).to_pylist():
                yield f"key_group={group:03}", batch.filter(pc.equal(groups, group))
        else:
            yield "", batch

    def _start(self, folder: str) -> WholeFile:
        layout = self._layout
        name = f"part-{layout.run:04}-{self._part:06}-{self._places:04}.{layout.format}"
        self._places += 1
        file = WholeFile(layout.directory / folder / name, layout.format, self._schema)
        self._open[folder] = file
        return file

    def _finish(self) -> None:
        for folder in list(self._open):
            file = self._open[folder]
            size = file.finish()
            del self._open[folder]
            path = file.path.relative_to(self._layout.directory)
            self.facts.append(FileFacts(path.as_posix(), file.rows, size))


def _runs_of_days(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    days = pc.strftime(batch.column("publish_time"), format="%Y-%m-%d").to_pylist()
    start = 0
    for row in range(1, len(days) + 1):
        if row == len(days) or days[row] != days[start]:
            yield f"day={days[start]}", batch.slice(start, row - start)
            start = row
