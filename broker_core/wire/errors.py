"""The errors of bytes that cannot be read.

ProtocolError            the stream of frames is broken: the connection cannot continue
EntryError               one entry (headers and payload) cannot be read; the stream is intact
├── ChecksumMismatch     its CRC-32C does not match its bytes
├── MalformedEntry       its sizes or metadata are invalid, or a batch does not hold what its metadata says
└── DecompressionFailed  its payload cannot be decompressed, or is larger than announced
"""

from collections.abc import Sequence
from typing import Any


class ProtocolError(Exception):
    """The peer sent bytes that are not a frame: the connection is closed (docs/reference/protocol.md "Frames").

    `items` holds the items before the broken frame in the same chunk.
    """

    def __init__(self, reason: str, items: Sequence[Any] = ()) -> None:
        super().__init__(reason)
        self.items = items


class EntryError(Exception):
    """An entry that cannot be read."""


class ChecksumMismatch(EntryError):
    """The CRC-32C before the entry does not match its bytes."""


class MalformedEntry(EntryError):
    """The sizes, the metadata, or the inside of a batch are invalid."""


class DecompressionFailed(EntryError):
    """The payload cannot be decompressed, or is larger than its metadata or the limit says."""
