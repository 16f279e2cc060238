"""Iceberg catalogs: a SQLite file, or a REST server; and how pyiceberg reaches the store of the files.

Credentials of a catalog come from pyiceberg's own configuration of the catalog `pulsarctl`: ~/.pyiceberg.yaml, or
variables such as PYICEBERG_CATALOG__PULSARCTL__TOKEN. They are never part of an address.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pulsarctl.errors import CliError, UsageProblem

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table

NAME = "pulsarctl"
MISSING = "pyiceberg is not installed"
IO_CLASS = "py-io-impl"
SYNCED = "pulsarctl.iceberg.synced_files.SyncedFileIO"
HINT = "http://HOST:PORT for a REST catalog, or sqlite:////DIRECTORY/catalog.sqlite"

# Each commit writes a file of metadata; the newest ones are enough.
TABLE_PROPERTIES = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "20"}


def open_catalog(address: str, properties: Mapping[str, str]) -> "Catalog":
    """`properties` as pyiceberg names them. Raises `CliError`, and what pyiceberg raises."""
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError as error:
        raise CliError(MISSING, hint="run: pip install 'pulsarctl[iceberg]'") from error
    catalog = load_catalog(NAME, type=_kind(address), uri=address, **properties)
    catalog._load_file_io = partial(_without_code, catalog._load_file_io)  # type: ignore[method-assign]  # pyiceberg has no hook before it imports
    return catalog


def _without_code(
    load: "Callable[..., FileIO]", properties: Mapping[str, str] | None = None, location: str | None = None
) -> "FileIO":
    """pyiceberg calls what this property of a table names, and an attacker may have written it."""
    return load({key: value for key, value in (properties or {}).items() if key != IO_CLASS}, location)


def _kind(address: str) -> str:
    scheme = address.partition(":")[0]
    if scheme in ("http", "https"):
        return "rest"
    if scheme == "sqlite":
        return "sql"
    raise UsageProblem(f"cannot use the catalog '{address}'", hint=f"use {HINT}")


def file_properties(settings: Mapping[str, str]) -> dict[str, str]:
    """The properties for pyiceberg of a store, from Pulsar's settings of its driver."""

    def first(*keys: str) -> str:
        return next((settings[key] for key in keys if settings.get(key)), "")

    properties = {
        "s3.endpoint": first("s3ManagedLedgerOffloadServiceEndpoint", "managedLedgerOffloadServiceEndpoint"),
        "s3.region": first("s3ManagedLedgerOffloadRegion", "managedLedgerOffloadRegion"),
        "s3.access-key-id": first("s3ManagedLedgerOffloadCredentialId"),
        "s3.secret-access-key": first("s3ManagedLedgerOffloadCredentialSecret"),
        "s3.role-arn": first("s3ManagedLedgerOffloadRole"),
        "s3.role-session-name": first("s3ManagedLedgerOffloadRoleSessionName"),
        IO_CLASS: SYNCED if first("fileSystemURI") else "",
    }
    return {key: value for key, value in properties.items() if value}


def has_table(location: str, properties: Mapping[str, str]) -> bool:
    """Whether a table of any catalog was written to that folder."""
    from pyiceberg.io import load_file_io

    return load_file_io(dict(properties), location).new_input(_hint_of(location)).exists()


def _hint_of(location: str) -> str:
    return f"{location}/metadata/version-hint.text"


def write_hint(table: "Table") -> None:
    """Names the newest metadata for those who open the folder of a table without its catalog (DuckDB, pyiceberg).

    The last one of several writers sees the newest commit, so it is the newest one that stays.
    """
    written = ""
    while written != table.metadata_location:
        written = table.metadata_location
        _write(table, written.rpartition("/")[2].removesuffix(".metadata.json").encode())
        table.refresh()


def _write(table: "Table", hint: bytes) -> None:
    """Writes a file in one step: object stores publish whole objects, and a local file is renamed."""
    path = _hint_of(table.location())
    if not path.startswith("file://"):
        with table.io.new_output(path).create(overwrite=True) as file:
            file.write(hint)
        return
    target = Path(path.removeprefix("file://"))
    temporary = target.with_name(f"{target.name}.{uuid4().hex}")
    with table.io.new_output(f"file://{temporary}").create() as file:
        file.write(hint)
    temporary.replace(target)
