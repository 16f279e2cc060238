"""The record of a ledger's copy in tiered storage, and the states that a ledger goes through with it.

`STEPS` is the whole of what may happen to the copy of a ledger that exists; `ledger_copies` takes the steps, one at a
time. A step of `RECORDED` is a record in the journal, and what follows from it waits until the record is durable.

A copy that is replaced, or whose ledger is deleted, stays on the list of copies to remove until its objects are gone.
`copy_reader` says how copies are read.
"""

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


class CopyState(enum.Enum):
    """Which of a sealed ledger's file and its copy count, and which of them may exist."""

    LOCAL = "only the file exists"
    PREPARED = "the file counts; objects of a copy may exist"
    BOTH = "file and copy count: the copy was read back and verified"
    DROPPING = "the copy counts; a file may exist, and the journal may hold entries of the ledger"
    REMOTE = "the copy counts; there is no file, and the journal does not hold the ledger"
    RESTORING = "the copy counts; the file was written again, and verified before it got its name"


class Step(enum.Enum):
    PREPARE = "record a copy before its first object is written"
    COMPLETE = "record that the copy was verified"
    DISCARD = "record that the copy is unwanted"
    DROP = "record that only the copy counts"
    DELETE_FILE = "delete the file, after a checkpoint"
    PLACE_FILE = "give the file that was written again its name"
    RESTORE = "record that the file counts, and that the copy is unwanted"
    GIVE_UP = "leave the placed file, because its record failed"


STEPS: Mapping[Step, Mapping[CopyState, CopyState]] = {
    Step.PREPARE: {CopyState.LOCAL: CopyState.PREPARED, CopyState.PREPARED: CopyState.PREPARED},
    Step.COMPLETE: {CopyState.PREPARED: CopyState.BOTH},
    Step.DISCARD: {CopyState.PREPARED: CopyState.LOCAL, CopyState.BOTH: CopyState.LOCAL},
    Step.DROP: {CopyState.BOTH: CopyState.DROPPING},
    Step.DELETE_FILE: {CopyState.DROPPING: CopyState.REMOTE},
    Step.PLACE_FILE: {CopyState.REMOTE: CopyState.RESTORING},
    Step.RESTORE: {CopyState.RESTORING: CopyState.LOCAL},
    Step.GIVE_UP: {CopyState.RESTORING: CopyState.DROPPING},
}
RECORDED = frozenset({Step.PREPARE, Step.COMPLETE, Step.DISCARD, Step.DROP, Step.RESTORE})


@dataclass(frozen=True, slots=True)
class OffloadedCopy:
    """The record goes from prepared to complete to `local_gone`; then only the copy counts.

    `place`: the settings of the driver with which the copy was written, without secrets.

    `size`, `tail`, and `tail_crc` (CRC-32C of the last `tail` bytes, which hold the index) tell the object from any
    other, so a replaced or truncated one is never read.
    """

    topic: str  # the managed ledger
    ledger_id: int
    uuid: str
    driver: str
    place: Mapping[str, str] = field(default_factory=dict)
    path: str = ""  # of the object, below the place
    prepared_ms: int = 0
    complete_ms: int = 0  # 0: not complete
    local_gone: bool = False  # a file that is there does not count
    size: int = 0
    tail: int = 0
    tail_crc: int = 0
    table: Mapping[str, str] = field(
        default_factory=dict
    )  # rows of the copy may be there (`broker_core.offload.tables`)

    @property
    def is_complete(self) -> bool:
        return self.complete_ms > 0

    def to_document(self) -> dict[str, Any]:
        return {**asdict(self), "place": dict(self.place), "table": dict(self.table)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "OffloadedCopy":
        return cls(**document)


def state_of(copy: OffloadedCopy | None) -> CopyState:
    """The state that the record shows: after a restart, a file may be there that does not count."""
    if copy is None:
        return CopyState.LOCAL
    if copy.local_gone:
        return CopyState.DROPPING
    return CopyState.BOTH if copy.is_complete else CopyState.PREPARED
