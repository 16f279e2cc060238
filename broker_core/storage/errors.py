"""The errors of the storage engine, as one tree.

    StorageError
    ├── DirectoryLocked      another process owns the data directory
    ├── FormatTooNew         written by a newer release; nothing was touched
    ├── NotOurDirectory      holds files, but not our FORMAT marker
    ├── Fenced               a write failed, and it is unknown whether it is on disk
    ├── DirectoryGone        the data directory was removed or unmounted under the broker
    ├── DirectoryUnseen      the disk did not say whether the data directory is there; the next write asks again
    ├── DiskFull             no space; ends when there is space again
    ├── Terminated           the managed ledger takes no more entries
    ├── CatalogUnusable      metadata.sqlite is lost or damaged; to be rebuilt
    ├── Damaged              bytes on disk that cannot be trusted, by file and offset
    ├── Unreachable          an object store does not answer, or refuses; nothing is known about the object
    └── Closed               the storage engine or the managed ledger was closed

The layer above (`topic`) translates these into errors for clients.
"""

from pathlib import Path
from typing import NamedTuple


class StorageError(Exception):
    """Any refusal of the storage engine; `str(error)` is a sentence for a human."""


class DirectoryLocked(StorageError):
    """`owner` is the text that the owning process left in the lock file (its pid, and what it is)."""

    def __init__(self, directory: Path, owner: str) -> None:
        super().__init__(f"data directory {directory} is in use by {owner or 'another process'}")
        self.directory = directory
        self.owner = owner


class FormatTooNew(StorageError):
    def __init__(self, path: Path, version: int, known: int) -> None:
        super().__init__(f"{path} has storage format {version}; this release reads formats up to {known}")
        self.version = version
        self.known = known


class NotOurDirectory(StorageError):
    pass


class Fenced(StorageError):
    pass


class DirectoryGone(StorageError, OSError):
    """Also an OSError: code that writes files handles it like any other failed write."""


class DirectoryUnseen(StorageError, OSError):
    """Also an OSError, like DirectoryGone."""


class DiskFull(StorageError):
    pass


class Terminated(StorageError):
    pass


class Unreachable(StorageError):
    pass


class Closed(StorageError):
    pass


class CatalogUnusable(StorageError):
    """Nothing is served from a directory whose catalog cannot be trusted, and nothing in it was touched."""

    def __init__(self, database: Path, problem: str) -> None:
        super().__init__(f"cannot use {database}: {problem}; run `pulsarctl storage rebuild {database.parent}`")
        self.database = database
        self.problem = problem


class Damaged(StorageError):
    """`path` holds untrustworthy bytes at `offset`; `reason` says what is wrong with them.

    `lost`: the entries that cannot be read because of it, as far as that is known.
    """

    def __init__(self, path: Path, offset: int, reason: str, lost: "Lost | None" = None) -> None:
        super().__init__(f"{path} is damaged at offset {offset}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason
        self.lost = lost


class Lost(NamedTuple):
    """Entries of a ledger that cannot be read, both ends included."""

    ledger_id: int
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.ledger_id}:{self.first} to {self.ledger_id}:{self.last}"


class DamageReport(NamedTuple):
    """Bytes that are not trusted; everything else in the directory is served.

    `topic` is the managed ledger that loses data, "" when it is not known; `lost` has the entries that are gone,
    None if there are none or they are unknown.
    """

    path: Path
    offset: int
    reason: str
    topic: str = ""
    lost: Lost | None = None

    def __str__(self) -> str:
        text = f"{self.path} at offset {self.offset}: {self.reason}"
        if self.topic or self.lost is not None:
            entries = f" entries {self.lost}" if self.lost is not None else ""
            text += f"; lost:{entries} of {self.topic or 'an unknown topic'}"
        return text
