"""The interface for reading copies of ledgers; `broker_core.offload` knows files and object stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from broker_core.storage.errors import Unreachable

if TYPE_CHECKING:
    from broker_core.storage.records.block import Block
    from broker_core.storage.records.ledger_file import Ledger
    from broker_core.storage.records.offloaded import OffloadedCopy
    from broker_core.storage.records.spans import Spans


class CopyReader(Protocol):
    """Reads copies. Every block was verified; raises `Damaged`, or `Unreachable` if the store cannot be asked."""

    async def load_spans(self, ledger: Ledger, copy: OffloadedCopy) -> Spans: ...

    async def read(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> Block:
        """The entries of one span."""

    def forget(self, copy: OffloadedCopy) -> None:
        """Forgets a copy that is not used any more."""


class NoCopies:
    """For an engine without tiered storage, such as that of a tool."""

    async def load_spans(self, ledger: Ledger, copy: OffloadedCopy) -> Spans:
        raise Unreachable(f"cannot read ledger {copy.ledger_id}: it is offloaded, and this process has no object store")

    async def read(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> Block:
        raise Unreachable(f"cannot read ledger {copy.ledger_id}: it is offloaded, and this process has no object store")

    def forget(self, copy: OffloadedCopy) -> None:
        pass
