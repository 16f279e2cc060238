"""The orders to a worker process; both travel to it as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from broker_core.offload.stores import StoreLimits


@dataclass(frozen=True, slots=True)
class Removal:
    """The job to remove the rows of a copy. `settings` may hold secrets.

    `replaced`: the ledger has a newer copy, so rows that cannot be told from those of that copy have to stay.
    """

    ledger_id: int
    uuid: str
    driver: str
    settings: dict[str, str]
    table: dict[str, str]
    limits: StoreLimits = field(default_factory=StoreLimits)
    replaced: bool = False

    def to_document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Removal:
        return cls(**{**document, "limits": StoreLimits(*document["limits"])})


@dataclass(frozen=True, slots=True)
class OffloadJob:
    """`source` is the sealed ledger file, `scratch` the local file to build. `settings` may hold secrets.

    `aborted` are the first and the last entry of each range that transactions aborted.
    `table` is empty, or that of the topic; then `schemas` are the topic's, and `earlier` the ledgers before, nearest
    first, in which a chunked message may begin: each with `ledger_id`, `entries`, and its file (`path`) or `copy`.
    """

    source: str
    scratch: str
    topic: str
    ledger_id: int
    entries: int
    end: int
    uuid: str
    path: str
    driver: str
    settings: dict[str, str]
    instance: str
    cluster: str
    bytes_per_second: float = 0.0
    limits: StoreLimits = field(default_factory=StoreLimits)
    table: dict[str, str] = field(default_factory=dict)
    schemas: list[dict[str, Any]] = field(default_factory=list)
    earlier: list[dict[str, Any]] = field(default_factory=list)
    aborted: list[tuple[int, int]] = field(default_factory=list)

    @property
    def removal(self) -> Removal:
        return Removal(self.ledger_id, self.uuid, self.driver, self.settings, self.table, self.limits)

    def to_document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> OffloadJob:
        return cls(**{**document, "limits": StoreLimits(*document["limits"])})
