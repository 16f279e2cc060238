"""Where reading starts and ends in each partition: positions and publish times, all inclusive. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pulsarctl.tables.ack_holes import LedgerPosition
from pulsarctl.values.message_ids import EARLIEST, LATEST
from pulsarctl.values.names import partition_index


@dataclass(frozen=True, slots=True)
class Bound:
    """A position in a partition's ledgers with the index in its batch (-1: the whole entry), or a publish time (ms)."""

    position: LedgerPosition
    batch_index: int = -1
    time_ms: int | None = None


FIRST = Bound(EARLIEST.position)
LAST = Bound(LATEST.position)


@dataclass(frozen=True, slots=True)
class Bounds:
    """`anywhere` holds for partitions that `by_partition` does not name."""

    anywhere: Bound
    by_partition: Mapping[str, Bound] = field(default_factory=dict)

    def of(self, topic: str) -> Bound:
        """The bound of a partition, or of a topic without partitions, by its full name."""
        return self.by_partition.get(topic) or self.by_partition.get(str(partition_index(topic))) or self.anywhere


FROM_FIRST = Bounds(FIRST)
TO_LAST = Bounds(LAST)
