"""The recorded calls in order: changes on the disk, syncs, and sent receipts.

A number assigned at creation identifies a file, like an inode, since names change.
"""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Created:
    path: str  # relative to the data directory, like all paths here
    file: int


@dataclass(frozen=True, slots=True)
class Appeared:
    """A whole file, durable in one step, since another mechanism protects its creation."""

    path: str
    file: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Written:
    file: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Resized:
    """A truncation, or a preallocation that made the file longer."""

    file: int
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    """A sync that returned; it covers the file's changes among the first `covers` calls of the log."""

    file: int
    covers: int


@dataclass(frozen=True, slots=True)
class Renamed:
    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Removed:
    path: str


@dataclass(frozen=True, slots=True)
class MadeDirectory:
    """The engine's disk promises that the new name is durable on return."""

    path: str


@dataclass(frozen=True, slots=True)
class DirectorySynced:
    path: str
    covers: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """A SEND_RECEIPT passed to the transport: from now on the entry must exist."""

    ledger_id: int
    entry_id: int


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A client received the success of a subscribe: from now on the subscription must exist."""

    ledger: str  # name of the managed ledger
    subscription: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An END_TXN was answered with success: from now on the outcome of that transaction is decided."""

    transaction: int


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a scalable topic was answered with success: from now on its layout has that epoch, or a later one."""

    epoch: int


Call = (
    Created
    | Appeared
    | Written
    | Resized
    | Synced
    | Renamed
    | Removed
    | MadeDirectory
    | DirectorySynced
    | Receipt
    | Subscribed
    | Ended
    | Changed
)


class CallLog:
    """The broker's threads append to it. A change is logged before it is made, and a sync after it returns."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._lock = threading.Lock()

    def add(self, *calls: Call) -> None:
        with self._lock:
            self.calls.extend(calls)

    def __len__(self) -> int:
        return len(self.calls)
