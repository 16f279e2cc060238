"""Tables of offloaded messages: where they are, and what the program that writes them has to do.

The rows of a ledger belong to its copy: they are added when the copy is made, and they go with it. So the record of a
copy, which is durable before any object exists, is also the record that rows of it may be in a table. Reading messages
and Iceberg is the business of a program of its own, which the broker starts by name.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from broker_core.metadata.policies.offload_stores import FILESYSTEM, S3
from broker_core.names import topic_of_ledger
from broker_core.offload.errors import NotConfigured
from broker_core.offload.table_names import table_name

if TYPE_CHECKING:
    from broker_core.offload.orders import OffloadJob, Removal
    from broker_core.offload.stores import Store

PROGRAM = "pulsarctl.iceberg.offload_worker"  # a worker that writes tables, too
DRIVERS = (FILESYSTEM, S3, "S3")
MISSING = "pyiceberg, which writes tables, is not installed; run `pip install 'pulsarctl[iceberg]'`"


class Tables(Protocol):
    """The tables of one worker process. Every method blocks, and raises OSError, ValueError, and `OffloadFailed`."""

    def write(self, job: OffloadJob, store: Store, folder: Path) -> list[Path]:
        """Local files with a row for each message of the ledger; their names are those in the store."""

    def add(self, job: OffloadJob, store: Store, paths: list[str]) -> None:
        """Puts the uploaded files into the table, instead of earlier files of the ledger, in one commit."""

    def remove(self, removal: Removal, store: Store) -> None:
        """Takes the rows of a copy out of the table, in one commit. A table or rows that do not exist are fine."""


def check_tables(driver: str) -> None:
    """Raises `NotConfigured` if no table can be written."""
    if importlib.util.find_spec("pyiceberg") is None:
        raise NotConfigured(MISSING)
    if driver not in DRIVERS:
        raise NotConfigured(f"the driver {driver} cannot have tables; use one of {', '.join(DRIVERS)}")


def table_of(instance: str, ledger_name: str, catalog: str) -> dict[str, str]:
    """The record of a copy about its table. All partitions of a topic are in one."""
    names = table_name(topic_of_ledger(ledger_name))
    return {"catalog": catalog, "name": ".".join(names), "folder": f"{tables_folder(instance)}/{'/'.join(names)}"}


def tables_folder(instance: str) -> str:
    return f"{instance}-tables"


def files_folder(table: Mapping[str, str], ledger_id: int, uuid: str) -> str:
    """The files of one copy have a folder, so that they are found without the catalog."""
    return f"{table['folder']}/data/{ledger_id}-{uuid}"
