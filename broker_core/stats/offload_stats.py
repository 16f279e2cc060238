"""The offloads of a topic to tiered storage, as an immutable snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_core.topic.offloading import Offloading


class OffloadStats(NamedTuple):
    """`bytes` of entries that have a complete copy; times in wall milliseconds, 0 for never since the topic's load."""

    bytes: int = 0
    last_ledger_id: int = 0
    last_success_ms: int = 0
    last_failure_ms: int = 0

    @classmethod
    def of(cls, offloading: Offloading) -> OffloadStats:
        offloaded = offloading.offloaded_bytes
        if not offloaded and not offloading.last_success_ms and not offloading.last_failure_ms:
            return NOTHING_OFFLOADED
        return cls(
            offloaded,
            offloading.last_ledger_id,
            offloading.last_success_ms,
            offloading.last_failure_ms,
        )

    @classmethod
    def merged(cls, parts: Sequence[OffloadStats]) -> OffloadStats:
        """Return the sum over the partitions of a topic."""
        return cls(
            sum(part.bytes for part in parts),
            max((part.last_ledger_id for part in parts), default=0),
            max((part.last_success_ms for part in parts), default=0),
            max((part.last_failure_ms for part in parts), default=0),
        )


NOTHING_OFFLOADED = OffloadStats()
