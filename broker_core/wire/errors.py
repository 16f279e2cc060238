"""What can be wrong with bytes.

ProtocolError            the stream of frames itself is broken: the connection cannot go on
EntryError               one entry (headers and payload) cannot be read; the stream is fine
├── ChecksumMismatch     its CRC32C is not that of its bytes
├── MalformedEntry       sizes or metadata make no sense, or a batch does not hold what it says
└── DecompressionFailed  its payload is not what the codec produces, or larger than announced
"""

from collections.abc import Sequence
from typing import Any


class ProtocolError(Exception):
    """The peer sent bytes that are no frame (rules 1.3: close the connection without an answer).

    `items` holds what the same chunk brought before the broken frame.
    """

    def __init__(self, reason: str, items: Sequence[Any] = ()) -> None:
        super().__init__(reason)
        self.items = items


class EntryError(Exception):
    """An entry that cannot be read."""


class ChecksumMismatch(EntryError):
    """The CRC32C in front of the entry is not that of its bytes."""


class MalformedEntry(EntryError):
    """Sizes, metadata or the inside of a batch make no sense."""


class DecompressionFailed(EntryError):
    """The payload cannot be decompressed, or is larger than its metadata or the limit says."""
