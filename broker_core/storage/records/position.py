"""The position of an entry: `ledger_id:entry_id`, ordered lexicographically (Pulsar's `Position`).

A mark-delete position may stand before the first entry of a ledger, with entry id -1.
"""

from typing import NamedTuple


class Position(NamedTuple):
    ledger_id: int
    entry_id: int

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.entry_id}"

    @property
    def next(self) -> "Position":
        return Position(self.ledger_id, self.entry_id + 1)


EARLIEST = Position(-1, -1)
LATEST = Position((1 << 63) - 1, (1 << 63) - 1)
