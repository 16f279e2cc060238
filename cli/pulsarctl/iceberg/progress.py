"""The progress of a table: properties of the table that change in the commit that adds the rows.

A run that is killed has either added its rows and its progress, or neither.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.iceberg.kinds import KIND, LAKE, THROUGH, TOPIC, kind_of, written_by
from pulsarctl.iceberg.own_files import HINT

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

CREATED = "pulsarctl.created"  # when each partition was created
ENDED = "pulsarctl.ended"  # the segments that were sealed and read
RUN = "pulsarctl.run"  # the last run that added rows

Through = dict[str, tuple[int, int]]


class Overtaken(Exception):
    """Another run has added rows since this one was planned."""


def check_lake(table: "Table", topic: str) -> None:
    """Raises `UsageProblem` for another topic's table, and for one that `ops lake` does not write."""
    name = ".".join(table.name())
    if kind_of(table) != LAKE:
        raise UsageProblem(
            f"cannot use the table {name} for {topic}: {written_by(table)} writes it",
            hint="use another catalog or directory with --catalog or --to",
        )
    if table.properties.get(TOPIC) != topic:
        raise UsageProblem(
            f"the table {name} is that of {table.properties.get(TOPIC)}", hint="use another directory with --to"
        )


def through_of(table: "Table | None", topic: str) -> Through:
    """Empty for a new table. Raises `CliError`, and what `check_lake` raises."""
    if table is None:
        return {}
    check_lake(table, topic)
    with _valid(table, THROUGH):
        members = json.loads(table.properties.get(THROUGH, "{}"))
        return {part: (int(ledger), int(entry)) for part, (ledger, entry) in members.items()}


def created_of(table: "Table | None") -> dict[str, str]:
    """Empty for a table of an earlier version."""
    if table is None:
        return {}
    with _valid(table, CREATED):
        return {str(part): str(time) for part, time in json.loads(table.properties.get(CREATED, "{}")).items()}


def ended_of(table: "Table | None") -> set[str]:
    """Empty for a table of an earlier version."""
    if table is None:
        return set()
    with _valid(table, ENDED):
        return {str(part) for part in json.loads(table.properties.get(ENDED, "[]"))}


@contextmanager
def _valid(table: "Table", name: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        text = f"cannot use the table {'.'.join(table.name())}: its property {name} is not valid"
        raise CliError(text, hint=HINT) from error


def append(
    topic: str,
    planned: Through,
    through: Through,
    created: Mapping[str, str],
    ended: Collection[str],
    files: list[str],
    run: str,
    table: "Table",
    transaction: "Transaction",
) -> None:
    """Raises `Overtaken` unless the table is where it was when the run was planned."""
    if through_of(table, topic) != planned:
        raise Overtaken
    if files:
        transaction.add_files(files)
    else:  # a snapshot makes the catalog refuse a run that is overtaken at this moment
        with transaction.update_snapshot().fast_append():
            pass
    progress = {THROUGH: json.dumps(through), CREATED: json.dumps(created), ENDED: json.dumps(sorted(ended))}
    transaction.set_properties({KIND: LAKE, **progress, RUN: run})
