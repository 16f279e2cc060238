"""The layout of tables of messages: partitioned by the UTC day of the publish time, columns only added."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pulsarctl.iceberg.commits import committed
from pulsarctl.iceberg.day_files import TIME

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction


def create_table(
    catalog: "Catalog", name: str, schema: Any, properties: Mapping[str, str], location: str | None
) -> "Table":
    """The table, also if another process has created it meanwhile."""
    from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
    from pyiceberg.transforms import DayTransform

    catalog.create_namespace_if_not_exists(name.partition(".")[0])
    try:
        with (
            catalog.create_table_transaction(name, schema, location, properties=dict(properties)) as transaction,
            transaction.update_spec() as spec,
        ):
            spec.add_field(TIME, DayTransform(), "publish_day")
    except (TableAlreadyExistsError, CommitFailedException):  # before, or at the commit; else loading it fails
        pass
    return catalog.load_table(name)


def widen(table: "Table", schema: Any) -> None:
    """Adds the columns that the table lacks; `int` becomes `long`, and `float` becomes `double`."""
    committed(table, partial(_unite, schema))


def _unite(schema: Any, table: "Table", transaction: "Transaction") -> None:
    with transaction.update_schema() as update:
        update.union_by_name(schema)
