"""A broker with a deliberate bug in its transactions, which the soak must detect.

The first argument says which: `loses-acks` forgets at a restart what open transactions hold, and `shows-open` shows
their messages. The others are those of `pulsarctl standalone`.
"""

import sys

from broker_core.storage.records import transaction_changes
from broker_core.storage.records.catalog import Catalog, Change
from broker_core.storage.records.position import Position
from broker_core.storage.records.transactions import LogTransactions


def forget(catalog: Catalog, load: transaction_changes.Load, values: Change) -> None:
    """Replays nothing."""


def everything(self: LogTransactions, last_confirmed: Position) -> Position:
    return last_confirmed


if __name__ == "__main__":
    bug = sys.argv.pop(1)
    if bug == "loses-acks":
        transaction_changes.APPLY["transaction-ack"] = forget
    else:
        LogTransactions.visible_end = everything  # type: ignore[method-assign]  # the mutation
    from pulsarctl.main import main

    sys.argv[1:1] = ["standalone"]
    main()
