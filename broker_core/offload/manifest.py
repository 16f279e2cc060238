"""The manifest of one offload of one ledger: written last, so an object with a manifest beside it is complete.

The broker serves reads from its catalog and the tier file alone. The manifest is for verification, for other tools,
and to find what belongs to which ledger if the catalog is lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from broker_core import __version__

MANIFEST_VERSION = 1


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """`row_groups`: first entry, entries, messages, bytes of the entries, newest publish time, CRC-32C, of each."""

    path: str
    size: int
    crc32c: int
    tail: int
    tail_crc32c: int
    row_groups: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table."""

    path: str
    size: int
    crc32c: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a copy of a ledger consists of."""

    instance: str
    cluster: str
    topic: str
    ledger_id: int
    uuid: str
    entries: int
    messages: int
    size: int  # bytes of all entries
    entries_crc32c: int  # over the bytes of all entries, in order
    created_ms: int
    tier: ManifestFile
    tables: list[TableFile] = field(default_factory=list)
    version: int = MANIFEST_VERSION
    software: str = f"pulsarctl {__version__}"

    def encode(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        values["tier"] = {name: getattr(self.tier, name) for name in self.tier.__slots__}
        values["tables"] = [{name: getattr(file, name) for name in file.__slots__} for file in self.tables]
        return json.dumps(values, indent=1).encode()

    @classmethod
    def decode(cls, text: bytes) -> Manifest:
        """Raises ValueError, KeyError, TypeError."""
        values: dict[str, Any] = json.loads(text)
        if values["version"] > MANIFEST_VERSION:
            raise ValueError(f"manifest version {values['version']} is newer than this release")
        tables = [TableFile(**file) for file in values.get("tables", ())]
        return cls(**{**values, "tier": ManifestFile(**values["tier"]), "tables": tables})


def tier_path(instance: str, topic: str, ledger_id: int, uuid: str) -> str:
    """Each instance has a folder of its own, so that a sweep of one never touches the objects of another."""
    return f"{instance}/{topic}/{ledger_id}-{uuid}.parquet"


def manifest_path(tier: str) -> str:
    return tier.removesuffix(".parquet") + ".json"
