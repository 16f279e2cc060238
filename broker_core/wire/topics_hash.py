"""The hash by which a client recognises a list of topics that it already has (PIP-145). Pure."""

import struct
from collections.abc import Iterable

from crc32c import crc32c


def topics_hash(topics: Iterable[str]) -> str:
    """CRC32C over the names, sorted as Java sorts strings and joined by commas: 8 hex digits, low byte first."""
    names = ",".join(in_order := sorted(topics))
    if not names.isascii():  # only then Java's order differs
        names = ",".join(sorted(in_order, key=lambda name: name.encode("utf-16-be")))
    return struct.pack("<I", crc32c(names.encode())).hex()
