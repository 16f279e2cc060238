"""Which ledgers of a topic an offload copies, by the size that stays local. Pure."""

from typing import Any


def first_within(ledgers: list[dict[str, Any]], open_bytes: int, threshold: int) -> int | None:
    """The oldest ledger of the newest ones that fit the threshold; None if all of them fit.

    The sizes in internal stats do not count the last ledger, which takes messages: it has `open_bytes`.
    """
    sizes = [int(ledger["size"]) for ledger in ledgers[:-1]] + [open_bytes]
    first, total = int(ledgers[-1]["ledgerId"]), 0
    for ledger, size in zip(reversed(ledgers), reversed(sizes), strict=True):
        total += size
        if total > threshold:
            return first
        first = int(ledger["ledgerId"])
    return None
