"""The ledgers of a partition, from a broker's `internalStats`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pulsarctl.values.message_ids import parse_message_id


@dataclass(frozen=True, slots=True)
class Ledger:
    """`last` is its last entry, -1 if it is empty."""

    id: int
    last: int
    size: int


def ledgers(internal: Mapping[str, Any]) -> list[Ledger]:
    """The ledgers, oldest first. The open one, which shows no entries of its own, ends at the last confirmed entry."""
    last_confirmed = parse_message_id(internal["lastConfirmedEntry"]).position
    known = []
    for ledger in internal["ledgers"]:
        is_open = ledger["ledgerId"] == last_confirmed[0]
        last = last_confirmed[1] if is_open else ledger["entries"] - 1
        known.append(
            Ledger(ledger["ledgerId"], last, max(ledger["size"], internal["currentLedgerSize"] if is_open else 0))
        )
    return known
