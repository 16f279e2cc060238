"""The files of one part of a plan: one, or one for each day (UTC) or group of keys.

The name of a file says its run, its part, and its place in the part, so that files in the order of (run, part, place)
have the messages of each key in order. When the day changes back and forth, each change starts a file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.client.routing import java_string_hash
from pulsarctl.transfer.file_formats import FileFormat, WholeFile
from pulsarctl.transfer.places import Place


class By(StrEnum):
    NONE = "none"
    DAY = "day"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where files go. `run` counts the runs of an incremental export."""

    place: Place
    format: FileFormat
    by: By
    key_groups: int
    run: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """`path` is relative to the place. Exports of earlier versions have no checksums."""

    path: str
    rows: int
    bytes: int
    crc32c: int | None = None


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
        file = WholeFile(layout.place, f"{folder}/{name}" if folder else name, layout.format, self._schema)
        self._open[folder] = file
        return file

    def _finish(self) -> None:
        for folder in list(self._open):
            file = self._open[folder]
            stored = file.finish()
            del self._open[folder]
            self.facts.append(FileFacts(file.name, file.rows, stored.bytes, stored.crc32c))


def _runs_of_days(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    days = pc.strftime(batch.column("publish_time"), format="%Y-%m-%d").to_pylist()
    start = 0
    for row in range(1, len(days) + 1):
        if row == len(days) or days[row] != days[start]:
            yield f"day={days[start]}", batch.slice(start, row - start)
            start = row
