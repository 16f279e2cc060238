"""Commits that others may be in the way of: read again what the table has, and try again."""

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

ATTEMPTS = 10
PAUSE_SECONDS = 0.05


def committed(table: "Table", change: "Callable[[Table, Transaction], None]") -> None:
    """Makes `change` to the newest state of the table in one commit; then `table` is at that commit.

    Raises what `change` and the catalog raise, and a conflict of pyiceberg if others were faster each time.
    """
    from pyiceberg.exceptions import CommitFailedException, ValidationException

    for attempt in range(1, ATTEMPTS + 1):
        table.refresh()
        try:
            with table.transaction() as transaction:
                change(table, transaction)
            return
        except (CommitFailedException, ValidationException):  # the latter: what it removes is gone already
            if attempt == ATTEMPTS:
                raise
            pause = PAUSE_SECONDS * attempt * random.random()  # noqa: S311  # no secret: writers that collide drift apart
            time.sleep(pause)
