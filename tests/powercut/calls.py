"""The recorded calls: what changed on the disk, what was synced, and which receipts left, in one order.

Files are told apart by a number given at creation, as a file system does by inode, since names change.
"""

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Created:
    path: str  # relative to the data directory, as all paths here
    file: int


@dataclass(frozen=True, slots=True)
class Appeared:
    """A whole file, durable in one step: something else protects it while it is made."""

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
    """A SEND_RECEIPT handed to the transport: from here on the entry may never be missing."""

    ledger_id: int
    entry_id: int


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A client was told that this subscription exists: from here on it may never be missing."""

    ledger: str  # name of the managed ledger
    subscription: str


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
)


class CallLog:
    """Appended to by the broker's threads. A change is logged before it is made and a sync after it returned."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._lock = threading.Lock()

    def add(self, *calls: Call) -> None:
        with self._lock:
            self.calls.extend(calls)

    def __len__(self) -> int:
        return len(self.calls)
