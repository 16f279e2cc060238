"""Entries of a plan that a reader did not get: gone, or not for consumers.

The broker delivers no markers of replicators and transactions, and no aborted messages. Their entries exist, and
the admin API returns them. An entry that it does not find was trimmed, expired, or lost after the plan was made.
"""

from typing import Protocol

from pulsarctl.errors import NotFound
from pulsarctl.tables.access import Access
from pulsarctl.tables.data_loss import HINT, DataLoss, Tell


class HoleCheck(Protocol):
    def check(self, ledger_id: int, first: int, last: int) -> None:
        """Returns if the entries may be skipped; raises otherwise."""


class MissingEntries:
    """Decides about holes in one topic partition. `fails`: the option fail_on_data_loss; else `tell` gets the loss."""

    def __init__(self, access: Access, topic: str, tell: Tell, *, fails: bool) -> None:
        self._access = access
        self._topic = topic
        self._tell = tell
        self._fails = fails

    def check(self, ledger_id: int, first: int, last: int) -> None:
        """Returns if the entries may be skipped. Raises `DataLoss`, or what the admin client raises."""
        gone = self._first_gone(ledger_id, first, last)
        if gone is None:
            return
        loss = f"entries {ledger_id}:{gone} to {ledger_id}:{last} of {self._topic} are gone"
        if self._fails:
            raise DataLoss(f"cannot read all planned messages: {loss}", hint=HINT)
        self._tell(loss)

    def _first_gone(self, ledger_id: int, first: int, last: int) -> int | None:
        """The first entry that does not exist any more. One request for each: a transaction may abort very many."""
        admin = self._access.admin()
        try:
            for entry_id in range(first, last + 1):
                try:
                    admin.topics.message(self._topic, ledger_id, entry_id)
                except NotFound:
                    return entry_id
        finally:
            admin.close()
        return None
