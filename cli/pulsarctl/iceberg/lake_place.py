"""Where the tables of a lake are: their store, and the catalog that lists them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pulsarctl.errors import Conflict, UsageProblem
from pulsarctl.iceberg.catalogs import HINT, file_properties, has_table, open_catalog
from pulsarctl.values.stores import offload_settings

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


@dataclass(frozen=True, slots=True)
class LakePlace:
    """`location` is empty if the catalog decides where tables are."""

    location: str
    catalog: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, to: str, catalog: str) -> Self:
        """`to`: a directory, or the URI of a store; `catalog`: its address. Raises `UsageProblem`."""
        if not to:
            if not catalog.startswith("http"):
                raise UsageProblem(
                    "cannot find the table: no location given", hint="use --to DIRECTORY, or a REST catalog"
                )
            return cls("", catalog)
        if "://" not in to:
            to = f"file://{Path(to).expanduser().absolute()}"
        settings = offload_settings(to)
        location = _location(settings.get("fileSystemURI") or to.partition("?")[0]).rstrip("/")
        if not catalog and not location.startswith("file://"):
            raise UsageProblem(f"cannot keep a catalog in {location}", hint=f"specify --catalog: {HINT}")
        return cls(location, catalog or _sqlite(location), file_properties(settings))

    def open(self) -> "Catalog":
        """Raises `CliError`, and what pyiceberg raises."""
        return open_catalog(self.catalog, self.properties)

    def check_free(self, name: str, catalog: "Catalog") -> None:
        """Before a table is created. Raises `Conflict` if its folder has the table of another catalog.

        Each catalog would know only its own files of that folder, and maintenance deletes what a catalog does not know.
        """
        location = self.of_table(name)
        # The folder first: another run with this catalog creates the table before it writes there.
        if location is not None and has_table(location, self.properties) and not catalog.table_exists(name):
            raise Conflict(
                f"cannot create the table {name}: {location} has a table that is not in the catalog {self.catalog}",
                hint="use --catalog with the catalog of that table, or another --to",
            )

    def of_table(self, name: str) -> str | None:
        return f"{self.location}/{name.replace('.', '/')}" if self.location else None


def _location(address: str) -> str:
    """A table names its files in full, and one with `..` could be outside of its folder."""
    path = address.removeprefix("file://")
    return f"file://{Path(path).resolve()}" if path != address and ".." in Path(path).parts else address


def _sqlite(location: str) -> str:
    directory = Path(location.removeprefix("file://"))
    directory.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{directory / 'catalog.sqlite'}"
