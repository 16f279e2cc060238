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
    """Oldest first. The open ledger, which shows no entries of its own, ends at the last confirmed entry."""
    last_confirmed = parse_message_id(internal["lastConfirmedEntry"]).position
    found = []
    for each in internal["ledgers"]:
        is_open = each["ledgerId"] == last_confirmed[0]
        last = last_confirmed[1] if is_open else each["entries"] - 1
        found.append(Ledger(each["ledgerId"], last, max(each["size"], internal["currentLedgerSize"] if is_open else 0)))
    return found
