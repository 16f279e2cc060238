"""The manifest of one offload of one ledger: written last, so an object with a manifest beside it is complete.

The broker serves reads from its catalog and the tier file alone. The manifest is for verification, for other tools,
and to find what belongs to which ledger if the catalog is lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from crc32c import crc32c

from broker_core import __version__
from broker_core.names import path_part
from broker_core.offload.tier_file import TierIndex, json_of

MANIFEST_VERSION = 2
"""From version 2 on, the last member is the CRC-32C of the text without it."""
WITH_CHECKSUM = 2
BYTES_MAX = 64 << 20  # far above the manifest of a ledger of hundreds of gigabytes


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
    """The parts of a copy of a ledger."""

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
        text = json.dumps(values, indent=1).encode()
        if self.version < WITH_CHECKSUM:
            return text
        return b'%s,\n "crc32c": %d\n}' % (text.removesuffix(b"\n}"), crc32c(text))

    @classmethod
    def decode(cls, text: bytes) -> Manifest:
        """Raises ValueError, KeyError, TypeError, also for a single bit that was flipped since version 2."""
        if len(text) > BYTES_MAX:
            raise ValueError(f"the manifest has {len(text)} bytes")
        values: dict[str, Any] = json_of(text)
        if values["version"] > MANIFEST_VERSION:
            raise ValueError(f"manifest version {values['version']} is newer than this release")
        if values["version"] >= WITH_CHECKSUM:
            del values["crc32c"]
        tables = [TableFile(**file) for file in values.get("tables", ())]
        manifest = cls(**{**values, "tier": ManifestFile(**values["tier"]), "tables": tables})
        if manifest.version >= WITH_CHECKSUM and manifest.encode() != text:
            raise ValueError("the checksum of the manifest does not match")
        return manifest

    def check_index(self, index: TierIndex) -> None:
        """Raises ValueError if the footer of the tier file says something else about the ledger."""
        stated = (self.uuid, self.entries, self.messages, self.size, [tuple(group) for group in self.tier.row_groups])
        if stated != (index.uuid, index.entries, index.messages, index.size, [tuple(group) for group in index.groups]):
            raise ValueError("the manifest and the footer do not agree")


def objects_folder(topic: str) -> str:
    """The folder of a managed ledger's copies below that of their instance. No name leads out of it."""
    return "/".join(map(path_part, topic.split("/")))


def tier_path(instance: str, topic: str, ledger_id: int, uuid: str) -> str:
    """Each instance has a folder of its own, so that a sweep of one never touches the objects of another."""
    return f"{instance}/{objects_folder(topic)}/{ledger_id}-{uuid}.parquet"


def manifest_path(tier: str) -> str:
    return tier.removesuffix(".parquet") + ".json"
