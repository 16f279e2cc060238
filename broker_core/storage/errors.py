"""What the storage engine can refuse, as one tree.

    StorageError
    ├── DirectoryLocked      another process owns the data directory
    ├── FormatTooNew         written by a newer release; nothing was touched
    ├── NotOurDirectory      holds files, but not our FORMAT marker
    ├── Fenced               a write failed and nobody knows whether it is on disk
    ├── DiskFull             no space; heals by itself when space returns
    ├── Terminated           the managed ledger takes no more entries
    ├── Damaged              bytes on disk that cannot be trusted, by file and offset
    └── Closed               the factory or the managed ledger was closed

The layer above (`topic`) translates these into what a client is told.
"""

from dataclasses import dataclass
from pathlib import Path


class StorageError(Exception):
    """Any refusal of the storage engine; `str(error)` is a sentence for a human."""


class DirectoryLocked(StorageError):
    """`owner` is the text that the owning process left in the lock file (its pid, and what it is)."""

    def __init__(self, directory: Path, owner: str) -> None:
        super().__init__(f"data directory {directory} is in use by {owner or 'another process'}")
        self.directory = directory
        self.owner = owner


class FormatTooNew(StorageError):
    def __init__(self, what: Path, found: int, known: int) -> None:
        super().__init__(f"{what} has storage format {found}; this release reads formats up to {known}")
        self.found = found
        self.known = known


class NotOurDirectory(StorageError):
    pass


class Fenced(StorageError):
    pass


class DiskFull(StorageError):
    pass


class Terminated(StorageError):
    pass


class Closed(StorageError):
    pass


class Damaged(StorageError):
    """`path` holds untrustworthy bytes at `offset`; `reason` says what is wrong with them."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at offset {offset}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason


@dataclass(frozen=True, slots=True)
class DamageReport:
    """Something that recovery refused to trust; the rest of the directory is served."""

    path: Path
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path} at offset {self.offset}: {self.reason}"
