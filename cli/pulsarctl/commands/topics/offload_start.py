"""The start of an offload: which ledgers of a topic it copies, by the size that stays local. Pure."""

from typing import Any

from pulsarctl.values.message_ids import MessageId


def first_within(ledgers: list[dict[str, Any]], open_bytes: int, threshold: int) -> MessageId | None:
    """The start of the newest ledgers that fit the threshold; None if all of them fit.

    Internal stats count nothing of a last ledger that takes messages: it has `open_bytes`, and is never before the
    start. A last ledger that is sealed, as after an unload, has a size of its own.
    """
    newest, total = ledgers[-1], 0
    is_sealed = int(newest["size"]) > 0
    first = MessageId(int(newest["ledgerId"]), int(newest["entries"]) if is_sealed else 0)
    for ledger in reversed(ledgers):
        total += int(ledger["size"]) or (open_bytes if ledger is newest else 0)
        if total > threshold:
            return first
        first = MessageId(int(ledger["ledgerId"]), 0)
    return None
