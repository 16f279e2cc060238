"""Positions in a topic, as a broker writes them. Pure."""

import re
from collections.abc import Mapping
from typing import Any

_POSITION = re.compile(r"(-?\d+):(-?\d+)")
_BEFORE_ALL = (-1, -1)


def position(text: object) -> tuple[int, int]:
    """`LEDGER:ENTRY`, or what is before each of them."""
    match = _POSITION.match(str(text or ""))
    return (int(match[1]), int(match[2])) if match else _BEFORE_ALL


def entries_after(internal: Mapping[str, Any], text: str) -> int:
    """How many entries of a topic follow a position; `internal`: the internal stats of the topic."""
    ledger, entry = position(text)
    last_ledger, last_entry = position(internal.get("lastConfirmedEntry"))
    count = 0
    for one in internal.get("ledgers") or ():
        number = int(one.get("ledgerId") or 0)
        entries = last_entry + 1 if number == last_ledger else int(one.get("entries") or 0)
        if number >= ledger:
            count += entries - (entry + 1 if number == ledger else 0)
    return max(0, count)
