"""The Iceberg tables of offloaded messages, as the broker's worker process writes them (docs, "Tiered storage").

The files of a ledger replace the rows that the table had of it, in one commit. So a job that is killed and run again
adds nothing twice, and rows are there exactly once, whatever else is retried. The files of a copy have a folder.
Another program may have merged rows of several ledgers into other files; these are written again without those rows.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from broker_core.names import topic_of_ledger
from broker_core.offload.errors import OffloadFailed
from broker_core.offload.orders import OffloadJob, Removal
from broker_core.offload.stores import Store
from broker_core.offload.tables import files_folder
from pulsarctl.admin.schemas import with_version
from pulsarctl.iceberg.catalogs import TABLE_PROPERTIES, file_properties, open_catalog, write_hint
from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.day_files import DayFiles
from pulsarctl.iceberg.kinds import KIND, OFFLOAD, OWNER, TOPIC, kind_of, offloads_to, written_by
from pulsarctl.iceberg.layout import create_table, widen
from pulsarctl.iceberg.ledger_source import LedgerSource
from pulsarctl.iceberg.own_files import check_location, check_next_commit, load_table
from pulsarctl.iceberg.rewriting import rewritten
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.tables.typed.value_type import ValueType, united_type
from pulsarctl.values.names import without_partition

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import FileScanTask, Table, Transaction

_OF_COPY = re.compile(r"/data/\d+-[0-9a-f-]{36}/[^/]+\Z")
OTHER_CATALOG = "set offloadTableCatalog to a catalog that only this cluster's offloads use"


class OffloadedTables:
    """`broker_core.offload.tables.Tables`, with one catalog open at a time."""

    def __init__(self) -> None:
        self._catalog: Catalog | None = None
        self._key: tuple[Any, ...] = ()

    def write(self, job: OffloadJob, store: Store, folder: Path) -> list[Path]:
        with _telling(job.table):
            rows = TopicTable(TableOptions(topics=(_topic(job),)), self._value_type(job))
            source = LedgerSource(job, store, _topic(job))
            folder.mkdir(parents=True)
            files = DayFiles(folder, rows.schema)
            for batch in rows.rows_of(source.range, source.runs):
                files.write(batch)
            return files.close()

    def _value_type(self, job: OffloadJob) -> ValueType | None:
        """The type of the column `value`; in a table that began with bytes, it stays bytes."""
        table = self._own(job)
        if table is not None and str(table.schema().find_type("value")) == "binary":
            return None
        topic = without_partition(_topic(job))
        shown = [with_version(topic, schema) for schema in job.schemas]
        return united_type(
            {(topic, int(schema["version"])): schema["schemaInfo"] for schema in shown},
            takes_latest=False,
            oldest_first=True,
        )

    def add(self, job: OffloadJob, store: Store, paths: list[str]) -> None:
        with _telling(job.table):
            table = self._own(job)
            if paths:
                with store.filesystem.open_input_file(store.key(paths[0])) as file:
                    schema = pq.read_schema(file)
                if table is None:
                    table = self._created(job, store, schema)
                widen(table, schema)
            if table is not None:
                added = [store.describe(path) for path in paths]
                committed(table, partial(_replace_ledger, job.ledger_id, _owner(job), added))
                write_hint(table)

    def _created(self, job: OffloadJob, store: Store, schema: Any) -> "Table":
        properties = {**TABLE_PROPERTIES, TOPIC: without_partition(_topic(job)), KIND: OFFLOAD, OWNER: _owner(job)}
        location = store.describe(job.table["folder"])
        table = create_table(self._open(job), job.table["name"], schema, properties, location)
        _check_own(table, job)  # another program may have created it meanwhile
        return table

    def remove(self, removal: Removal, store: Store) -> None:
        with _telling(removal.table):
            folder = files_folder(removal.table, removal.ledger_id, removal.uuid)
            if (table := self._existing(removal)) is not None:
                whole = not removal.replaced and _is_own(table, removal)
                committed(table, partial(_remove_copy, removal.ledger_id, f"{store.describe(folder)}/", whole))
                write_hint(table)
        _delete_folder(store, folder)

    def _own(self, job: OffloadJob) -> "Table | None":
        """Raises `OffloadFailed` for a table that others write."""
        table = self._existing(job)
        if table is not None:
            _check_own(table, job)
        return table

    def _existing(self, job: OffloadJob | Removal) -> "Table | None":
        catalog, name = self._open(job), job.table["name"]
        table = load_table(catalog, name)
        if table is not None:
            check_location(table)
            check_next_commit(table)
        return table

    def _open(self, job: OffloadJob | Removal) -> "Catalog":
        properties = file_properties(job.settings)
        key = (job.table["catalog"], *sorted(properties.items()))
        if self._catalog is None or self._key != key:
            self._catalog, self._key = open_catalog(job.table["catalog"], properties), key
        return self._catalog


def _is_own(table: "Table", job: OffloadJob | Removal) -> bool:
    return kind_of(table) == OFFLOAD and offloads_to(table, _owner(job))


def _check_own(table: "Table", job: OffloadJob) -> None:
    """Raises `OffloadFailed`."""
    if not _is_own(table, job):
        writer = written_by(table) if kind_of(table) != OFFLOAD else "the offload of another cluster"
        raise OffloadFailed(f"cannot write the table {job.table['name']}: {writer} writes it; {OTHER_CATALOG}")
    if (known := table.properties.get(TOPIC)) != (topic := without_partition(_topic(job))):
        raise OffloadFailed(f"cannot write the table {job.table['name']} for {topic}: it is that of {known}")


def _owner(job: OffloadJob | Removal) -> str:
    return job.table["folder"].partition("/")[0]


def _replace_ledger(ledger_id: int, owner: str, files: list[str], table: "Table", transaction: "Transaction") -> None:
    _remove(ledger_id, list(_files_of(table, ledger_id)), table, transaction)
    if files:
        transaction.add_files(files)
    if KIND not in table.properties or OWNER not in table.properties:
        transaction.set_properties({KIND: OFFLOAD, OWNER: owner})


def _remove_copy(ledger_id: int, folder: str, drops_all: bool, table: "Table", transaction: "Transaction") -> None:
    """The files in the folder of a copy; with `whole`, rows of the ledger that are in the folder of no copy, too."""
    files = [
        task
        for task in _files_of(table, ledger_id)
        if task.file.file_path.startswith(folder) or (drops_all and not _OF_COPY.search(task.file.file_path))
    ]
    _remove(ledger_id, files, table, transaction)


def _files_of(table: "Table", ledger_id: int) -> "Iterator[FileScanTask]":
    """Files that may have rows of a ledger: those of others only by their smallest and largest ledger ID."""
    for task in table.scan(row_filter=f"ledger_id = {ledger_id}").plan_files():
        copy = _OF_COPY.search(task.file.file_path)
        if copy is None or copy[0].startswith(f"/data/{ledger_id}-"):
            yield task


def _remove(ledger_id: int, tasks: "list[FileScanTask]", table: "Table", transaction: "Transaction") -> None:
    from pyiceberg.expressions.parser import parse

    if not tasks:
        return
    mixed = [task for task in tasks if not _OF_COPY.search(task.file.file_path)]
    others = rewritten(table, mixed, parse(f"ledger_id != {ledger_id}")) if mixed else []
    with transaction.update_snapshot().overwrite() as snapshot:
        for task in tasks:
            snapshot.delete_data_file(task.file)
    if others:
        transaction.add_files(others)


def _topic(job: OffloadJob) -> str:
    return str(topic_of_ledger(job.topic))


def _delete_folder(store: Store, folder: str) -> None:
    """Raises OSError."""
    from pyarrow import fs

    selector = fs.FileSelector(store.key(folder), allow_not_found=True)
    for info in store.filesystem.get_file_info(selector):
        store.filesystem.delete_file(info.path)
    if store.uri.startswith("file:") and store.filesystem.get_file_info(store.key(folder)).type.value:
        store.filesystem.delete_dir(store.key(folder))


@contextmanager
def _telling(table: dict[str, str]) -> Iterator[None]:
    """Names the table in every error."""
    try:
        yield
    except OffloadFailed:
        raise
    except Exception as error:  # pyiceberg and its catalogs have no common class of errors
        reason = f"cannot write the table {table['name']}"
        detail = f"{reason} in {table['catalog']}: {error}"
        raise OffloadFailed(f"{reason}: {type(error).__name__}", detail) from error
