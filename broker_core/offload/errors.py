"""Why a ledger is not offloaded. `Unreachable` and `Damaged` of the storage say why a copy is not read.

Reasons go to the tenant, who may have named the store: what a store or a library wrote goes to the log alone.
"""

import os
import re

_CODE = re.compile(r"(?:AWS Error |Status\(|Azure Error: \[)([A-Za-z_]{1,64})\b")


class OffloadFailed(Exception):
    """`str(error)` is a sentence for a human; it names the store or the setting. `detail`: the same for the log."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.detail = detail or reason


class NotConfigured(OffloadFailed):
    """A driver, a bucket, or pyarrow is missing, or the store is not allowed."""


def masked(error: Exception) -> str:
    """The part of an error that a tenant may know: its kind, without what the other side wrote."""
    if isinstance(error, OffloadFailed):
        return str(error)
    if code := _CODE.search(str(error)):
        return f"the store failed with {code[1]}"
    errno = getattr(error, "errno", None)
    return os.strerror(errno) if errno else f"the store failed ({type(error).__name__})"


def detail_of(error: Exception) -> str:
    return error.detail if isinstance(error, OffloadFailed) else str(error)
