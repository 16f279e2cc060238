"""A ledger's copy in tiered storage: what is remembered of it, and what reads it.

The storage engine knows only that a copy can be read; `broker_core.offload` knows files and object stores. The record
of a copy goes through these states (each one is durable before the step after it):

    prepared     objects of this uuid may exist
    complete     the copy was read back and verified; the local file may go
    local_gone   the local file may be missing: only the copy counts

A copy that is replaced, or whose ledger is deleted, stays on the list of copies to remove until its objects are gone.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.storage.block import Block
    from broker_core.storage.ledger_file import Ledger
    from broker_core.storage.spans import Spans


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

    @property
    def is_complete(self) -> bool:
        return self.complete_ms > 0

    def to_document(self) -> dict[str, Any]:
        return {**asdict(self), "place": dict(self.place)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "OffloadedCopy":
        return cls(**document)


class Unreachable(StorageError):
    """A store does not answer, or refuses: nothing is known about the object."""


class CopyReader(Protocol):
    """Reads copies. Every block was verified; raises `Damaged`, or `Unreachable` if the store cannot be asked."""

    async def load_spans(self, ledger: "Ledger", copy: OffloadedCopy) -> "Spans": ...

    async def read(self, ledger: "Ledger", copy: OffloadedCopy, span: int) -> "Block":
        """The entries of one span."""

    def forget(self, copy: OffloadedCopy) -> None:
        """The copy is not used any more."""


class NoCopies:
    """For an engine without tiered storage, such as that of a tool."""

    async def load_spans(self, ledger: "Ledger", copy: OffloadedCopy) -> "Spans":
        raise Unreachable(f"cannot read ledger {copy.ledger_id}: it is offloaded, and this process has no object store")

    async def read(self, ledger: "Ledger", copy: OffloadedCopy, span: int) -> "Block":
        raise Unreachable(f"cannot read ledger {copy.ledger_id}: it is offloaded, and this process has no object store")

    def forget(self, copy: OffloadedCopy) -> None:
        pass
