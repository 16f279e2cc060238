"""How far a table is: properties of the table that change in the commit that adds the rows.

So a run that is killed has either added its rows and its progress, or neither.
"""

import json
from typing import TYPE_CHECKING

from pulsarctl.errors import UsageProblem

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

THROUGH = "pulsarctl.through"  # the last position of each partition
RUN = "pulsarctl.run"  # the last run that added rows
TOPIC = "pulsarctl.topic"

Through = dict[str, tuple[int, int]]


class Overtaken(Exception):
    """Another run has added rows since this one was planned."""


def through_of(table: "Table | None", topic: str) -> Through:
    """Empty for a new table. Raises `UsageProblem` for another topic's table."""
    if table is None:
        return {}
    if table.properties.get(TOPIC) != topic:
        raise UsageProblem(
            f"the table {'.'.join(table.name())} is that of {table.properties.get(TOPIC)}",
            hint="use another directory with --to",
        )
    found = json.loads(table.properties.get(THROUGH, "{}"))
    return {part: (ledger, entry) for part, (ledger, entry) in found.items()}


def append(
    topic: str,
    files: list[str],
    planned: Through,
    through: Through,
    run: str,
    table: "Table",
    transaction: "Transaction",
) -> None:
    """Raises `Overtaken` unless the table is where it was when the run was planned."""
    if through_of(table, topic) != planned:
        raise Overtaken
    if files:
        transaction.add_files(files)
    transaction.set_properties({THROUGH: json.dumps(through), RUN: run})
