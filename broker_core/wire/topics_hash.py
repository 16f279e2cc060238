"""The hash by which a client recognizes a topic list that it already has (PIP-145). Pure."""

import struct
from collections.abc import Iterable

from crc32c import crc32c


def topics_hash(topics: Iterable[str]) -> str:
    """CRC-32C over the names, sorted as Java sorts strings and joined by commas: 8 hex digits, lowest byte first."""
    names = ",".join(in_order := sorted(topics))
    if not names.isascii():  # only then Java's order differs
        names = ",".join(sorted(in_order, key=lambda name: name.encode("utf-16-be")))
    return struct.pack("<I", crc32c(names.encode())).hex()
