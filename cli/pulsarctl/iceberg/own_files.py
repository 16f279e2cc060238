"""The checks of the metadata of a table: that it is valid, and that all files are in the folder of the table.

Its metadata is a file of the store, and names every other file by its full address: those that are read, and those that
`ops lake-maintain` and each commit delete.
"""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pulsarctl.errors import CliError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

PATHS = ("write.metadata.path", "write.data.path")
CODE = "write.py-location-provider.impl"  # pyiceberg calls it
HINT = "check who can write to the store and to the catalog"


def load_table(catalog: "Catalog", name: str) -> "Table | None":
    """None if there is none. Raises `CliError` if its metadata is not valid, and what pyiceberg raises."""
    from pyiceberg.exceptions import ValidationError

    try:
        return catalog.load_table(name) if catalog.table_exists(name) else None  # both read the metadata
    except (ValidationError, UnicodeDecodeError) as error:  # its text has several lines, and quotes the metadata
        raise CliError(f"cannot use the table {name}: its metadata is not valid", hint=HINT) from error


def check_folder(table: "Table", place: str) -> None:
    """`place`: the location of all tables; empty if the catalog decides it.

    Raises `CliError` for a table that is elsewhere, and for one whose next commit would delete or write other files.
    """
    location = table.location()
    if place and not _is_in(location, place):
        raise CliError(f"cannot use the table {_name(table)}: it is in {location}, outside of {place}", hint=HINT)
    check_next_commit(table)


def check_next_commit(table: "Table") -> None:
    """Raises `CliError` if it would delete or write files outside of the table, or run code that its metadata names."""
    if CODE in table.properties:
        raise CliError(f"cannot use the table {_name(table)}: its property {CODE} names code", hint=HINT)
    paths = [table.properties[name] for name in PATHS if name in table.properties]
    check_files(table, [*paths, *(entry.metadata_file for entry in table.metadata.metadata_log)])


def check_location(table: "Table") -> None:
    """For a table that may be anywhere: the catalog names the file that says where. Raises `CliError`."""
    folder, location = table.metadata_location.rpartition("/metadata/")[0], table.location()
    if _one_spelling(folder) != _one_spelling(location).rstrip("/"):
        raise CliError(f"cannot use the table {_name(table)}: it is in {location}, and its metadata is not", hint=HINT)


def check_files(table: "Table", paths: Iterable[str]) -> None:
    """Raises `CliError`, which names the file."""
    prefix = f"{_one_spelling(table.location()).rstrip('/')}/"
    for path in paths:
        if not _one_spelling(path).startswith(prefix) or ".." in path.split("/") or not _is_in(path, prefix):
            where = table.metadata_location
            raise CliError(f"cannot use the table {_name(table)}: {where} names {path}, outside of {prefix}", hint=HINT)


def is_link_out(table: "Table", path: str) -> bool:
    """Whether a path in the folder of a local table leads out of it."""
    location = table.location()
    return location.startswith("file:") and not _is_in(f"file://{path}", location)


def _is_in(location: str, place: str) -> bool:
    """Catalogs may choose another folder of an object store, but no other kind of store."""
    location, place = _one_spelling(location), _one_spelling(place)
    if not place.startswith("file://"):
        return location.partition(":")[0] == place.partition(":")[0]
    folder = os.path.realpath(place.removeprefix("file://"))
    return location.startswith("file://") and os.path.realpath(location.removeprefix("file://")).startswith(
        f"{folder}/"
    )


def _one_spelling(address: str) -> str:
    """Java's catalogs write `file:/PATH`, and Hadoop's connectors `s3a://`."""
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/(?!/)", "file:///", address))


def _name(table: "Table") -> str:
    return ".".join(table.name())
