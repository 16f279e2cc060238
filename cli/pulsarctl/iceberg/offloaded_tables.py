"""The Iceberg tables of offloaded messages, as the broker's worker process writes them (docs, "Tiered storage").

The files of a ledger replace those that the table had of it, in one commit. So a job that is killed and run again adds
nothing twice, and rows are there exactly once, whatever else is retried.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq

from broker_core.offload.errors import OffloadFailed
from broker_core.offload.orders import OffloadJob, Removal
from broker_core.offload.stores import Store
from broker_core.offload.tables import files_folder
from pulsarctl.admin.schemas import with_version
from pulsarctl.iceberg.catalogs import TABLE_PROPERTIES, file_properties, open_catalog, write_hint
from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.day_files import DayFiles
from pulsarctl.iceberg.layout import create_table, widen
from pulsarctl.iceberg.ledger_source import LedgerSource
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.tables.typed.value_type import ValueType, united_type, whole_topic

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

TOPIC = "pulsarctl.topic"


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
            for batch in rows.rows_of(source.whole, source.runs):
                files.write(batch)
            return files.close()

    def _value_type(self, job: OffloadJob) -> ValueType | None:
        """Of a table that began with bytes, the column stays bytes."""
        table = self._existing(job)
        if table is not None and str(table.schema().find_type("value")) == "binary":
            return None
        topic = whole_topic(_topic(job))
        shown = [with_version(topic, one) for one in job.schemas]
        return united_type({(topic, int(one["version"])): one["schemaInfo"] for one in shown}, takes_latest=False)

    def add(self, job: OffloadJob, store: Store, paths: list[str]) -> None:
        with _telling(job.table):
            table = self._existing(job)
            if paths:
                with store.filesystem.open_input_file(store.key(paths[0])) as file:
                    schema = pq.read_schema(file)
                if table is None:
                    table = self._created(job, store, schema)
                widen(table, schema)
            if table is not None:
                committed(table, partial(_replace_ledger, job.ledger_id, [store.describe(path) for path in paths]))
                write_hint(table)

    def _created(self, job: OffloadJob, store: Store, schema: Any) -> "Table":
        properties = {**TABLE_PROPERTIES, TOPIC: whole_topic(_topic(job))}
        location = store.describe(job.table["folder"])
        return create_table(self._open(job), job.table["name"], schema, properties, location)

    def remove(self, removal: Removal, store: Store) -> None:
        with _telling(removal.table):
            folder = files_folder(removal.table, removal.ledger_id, removal.uuid)
            if (table := self._existing(removal)) is not None:
                committed(table, partial(_remove_files, removal.ledger_id, f"{store.describe(folder)}/"))
                write_hint(table)
        _delete_folder(store, folder)

    def _existing(self, job: OffloadJob | Removal) -> "Table | None":
        catalog, name = self._open(job), job.table["name"]
        return catalog.load_table(name) if catalog.table_exists(name) else None

    def _open(self, job: OffloadJob | Removal) -> "Catalog":
        properties = file_properties(job.settings)
        key = (job.table["catalog"], *sorted(properties.items()))
        if self._catalog is None or self._key != key:
            self._catalog, self._key = open_catalog(job.table["catalog"], properties), key
        return self._catalog


def _replace_ledger(ledger_id: int, files: list[str], table: "Table", transaction: "Transaction") -> None:
    _remove_files(ledger_id, "", table, transaction)
    if files:
        transaction.add_files(files)


def _remove_files(ledger_id: int, folder: str, table: "Table", transaction: "Transaction") -> None:
    """The files of a ledger that are in a folder."""
    planned = table.scan(row_filter=f"ledger_id = {ledger_id}").plan_files()
    known = [each.file for each in planned if each.file.file_path.startswith(folder)]
    if known:
        with transaction.update_snapshot().overwrite() as snapshot:
            for file in known:
                snapshot.delete_data_file(file)


def _topic(job: OffloadJob) -> str:
    tenant, namespace, domain, local = job.topic.split("/", 3)
    return f"{domain}://{tenant}/{namespace}/{unquote(local)}"


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
        raise OffloadFailed(f"cannot write the table {table['name']} in {table['catalog']}: {error}") from error
