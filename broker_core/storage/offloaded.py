"""What is remembered of a ledger's copy in tiered storage. `copy_reader` says how copies are read.

The record goes through these states, and each one is durable before the step after it:

    prepared     objects of this uuid may exist
    complete     the copy was read back and verified; the local file may go
    local_gone   the local file may be missing: only the copy counts

A copy that is replaced, or whose ledger is deleted, stays on the list of copies to remove until its objects are gone.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class OffloadedCopy:
    """`place`: the settings of the driver with which the copy was written, without secrets.

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
    local_gone: bool = False
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
