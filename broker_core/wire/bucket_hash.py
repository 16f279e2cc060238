"""The hash by which an entry belongs to an entry bucket (PIP-486): its stamp, or the low half of its key's hash.

A producer stamps an entry with the lowest and the highest hash in it. Both are in one bucket if the producer knows the
buckets of the segment, so the lowest one counts, also if they are not.
"""

from __future__ import annotations

from broker_core.wire.errors import MalformedEntry
from broker_core.wire.message import parse_metadata
from broker_core.wire.sticky_key import key_hash, sticky_key

STAMP = b"\x88\x02"
"""The tag of `entry_hash_min`, or bytes like it."""

LOW_HALF = 0xFFFF


def bucket_hash(data: bytes, start: int, end: int) -> int:
    """The bucket hash of the entry `data[start:end]`: its stamp, or the low half of the hash of its key."""
    if data.find(STAMP, start, end) >= 0:
        stamp = _stamp(data[start:end])
        if stamp is not None:
            return stamp
    return key_hash(sticky_key(data, start, end)) & LOW_HALF


def _stamp(entry: bytes) -> int | None:
    try:
        metadata = parse_metadata(entry)
    except MalformedEntry:
        return None
    return metadata.entry_hash_min if metadata.HasField("entry_hash_min") else None
