"""The writer of a table: `ops lake`, or the broker's offload. With one catalog, both use the same name for a topic.

Each counts on being the only writer: a lake never adds a message again, and an offload replaces the rows of a ledger.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table import Table

TOPIC = "pulsarctl.topic"
KIND = "pulsarctl.kind"
LAKE = "lake"
OFFLOAD = "offload"
OWNER = "pulsarctl.instance"  # the folder of the broker that offloads
THROUGH = "pulsarctl.through"  # the last position of each partition, of a lake
NO_RETRIES = "commit.retry.num-retries"  # `ops lake` creates its tables with it


def kind_of(table: "Table") -> str:
    """`LAKE`, `OFFLOAD`, or empty for the table of another program."""
    if kind := table.properties.get(KIND):
        return kind
    return _unmarked(table) if TOPIC in table.properties else ""


def _unmarked(table: "Table") -> str:
    """Tables had no mark at first. A lake that went on in an offload's table left its progress there."""
    if NO_RETRIES in table.properties:
        return LAKE
    return LAKE if THROUGH in table.properties and "-tables/" not in table.location() else OFFLOAD


def written_by(table: "Table") -> str:
    """The writer, for errors."""
    return {LAKE: "`pulsarctl ops lake`", OFFLOAD: "the broker's offload"}.get(kind_of(table), "another program")


def offloads_to(table: "Table", owner: str) -> bool:
    """Whether `owner` made it: the ledger IDs of two clusters are not the same ledgers."""
    known = table.properties.get(OWNER)
    if known is None and "-tables/" in table.location():
        known = table.location().split("/")[-3]
    return known in (None, owner)
