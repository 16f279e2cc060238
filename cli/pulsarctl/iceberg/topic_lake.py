"""Keeps an Iceberg table of a topic: each run appends the messages since the last one, in one commit.

How far the table is, is a property of the snapshot that added the rows. So a run that is killed has either added its
rows and its progress, or neither, and the next run starts where the last commit ended.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.tables.options import TableOptions
from pulsarctl.values.names import full_topic, namespace_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from pulsarctl.tables.access import Access

THROUGH = "pulsarctl.through"  # property of a snapshot: the last position of each partition
RUN = "pulsarctl.run"
TOPIC = "pulsarctl.topic"  # property of a table
MISSING = "ops lake needs pyiceberg"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run did. `rows` of this run; `files` that it added."""

    table: str
    rows: int
    files: int
    metadata: str


class TopicLake:
    """`directory` has the catalog (SQLite) and one folder for each table."""

    def __init__(self, directory: Path) -> None:
        try:
            from pyiceberg.catalog.sql import SqlCatalog
        except ImportError as error:
            raise CliError(MISSING, hint="run: pip install 'pulsarctl[iceberg]'") from error
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        uri = f"sqlite:///{directory / 'catalog.sqlite'}"
        self._catalog: SqlCatalog = SqlCatalog("pulsarctl", uri=uri, warehouse=f"file://{directory}")

    def keep(self, topic: str, options: Mapping[str, str], access: "Access | None" = None) -> Kept:
        """Appends what is new. `options` are those of a table; `access` replaces those of the connection.

        Raises `NotFound`, `DamagedEntry`, and what the reader and pyiceberg raise; then the table is as before.
        """
        from pulsarctl.tables.topic_table import TopicTable

        name = full_topic(topic)
        through = self.through(name)
        start = json.dumps({part: f"{ledger}:{entry + 1}" for part, (ledger, entry) in through.items()})
        given = {**options, "topic": name, **({"start": start} if through else {})}
        parsed = TableOptions.parse(given)
        rows = TopicTable.open(parsed if access is None else replace(parsed, access=access))
        parts = rows.plan()
        if not parts:
            return self._kept(name, 0, 0)
        folder = self._directory / "data" / self.table_name(name) / uuid4().hex
        folder.mkdir(parents=True)
        try:
            count, files = _write(folder, rows, parts)
            for part in parts:
                through[part.topic] = max(through.get(part.topic, (-1, -1)), (part.ledger_id, part.last))
            if files:
                self._commit(name, rows.schema, files, through, folder.name)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return self._kept(name, count, len(files))

    def _commit(
        self, topic: str, schema: Any, files: list[Path], through: dict[str, tuple[int, int]], run: str
    ) -> None:
        table = self._table(topic, schema)
        properties = {THROUGH: json.dumps(through), RUN: run}
        table.add_files([f"file://{path}" for path in files], snapshot_properties=properties)

    def _table(self, topic: str, schema: Any) -> "Table":
        """Created with the first rows; columns of later schema versions are added."""
        from pyiceberg.transforms import DayTransform

        name = self.table_name(topic)
        self._catalog.create_namespace_if_not_exists(name.partition(".")[0])
        if self._catalog.table_exists(name):
            table = self._catalog.load_table(name)
            with table.update_schema() as update:
                update.union_by_name(schema)
            return table
        table = self._catalog.create_table(name, schema, properties={TOPIC: topic})
        with table.update_spec() as spec:
            spec.add_field("publish_time", DayTransform(), "publish_day")
        return table

    def table_name(self, topic: str) -> str:
        """`tenant_namespace.topic`, with other characters replaced."""
        namespace = namespace_of(full_topic(topic))
        local = full_topic(topic).rpartition("/")[2]
        return f"{_plain(namespace)}.{_plain(local)}"

    def through(self, topic: str) -> dict[str, tuple[int, int]]:
        """The last position of each partition that the table has. Raises `UsageProblem` for another topic's table."""
        name = self.table_name(topic)
        if not self._catalog.table_exists(name):
            return {}
        table = self._catalog.load_table(name)
        if table.properties.get(TOPIC) != topic:
            raise UsageProblem(
                f"the table {name} is that of {table.properties.get(TOPIC)}", hint="use another directory with --to"
            )
        snapshot = table.current_snapshot()
        while snapshot is not None:
            if snapshot.summary is not None and THROUGH in snapshot.summary.additional_properties:
                found = json.loads(snapshot.summary.additional_properties[THROUGH])
                return {part: (ledger, entry) for part, (ledger, entry) in found.items()}
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)
        return {}

    def _kept(self, topic: str, rows: int, files: int) -> Kept:
        name = self.table_name(topic)
        exists = self._catalog.table_exists(name)
        return Kept(name, rows, files, self._catalog.load_table(name).metadata_location if exists else "")


def _write(folder: Path, rows: Any, parts: list[Any]) -> tuple[int, list[Path]]:
    from pulsarctl.iceberg.day_files import DayFiles

    files = DayFiles(folder, rows.schema)
    try:
        for part in parts:
            for batch in rows.read(part):
                files.write(batch)
    finally:
        complete = files.close()
    return files.rows, complete


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)
