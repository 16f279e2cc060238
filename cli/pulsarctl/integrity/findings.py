"""What a check found. Findings of parts merge in the order of the plan."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pulsarctl.integrity.sequences import EXAMPLES_MAX, Sequence

LISTED_MAX = 100


@dataclass(slots=True)
class Findings:
    """`damaged` and `missing` are sentences. `sequences` are those of a producer in a partition."""

    messages: int = 0
    bytes: int = 0
    undecodable: int = 0
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    sequences: dict[tuple[str, str], Sequence] = field(default_factory=dict)

    def add_rows(self, batch: pa.RecordBatch) -> None:
        """Messages in the order of their partition, with the columns topic, producer, sequence_id, and message_id."""
        self.messages += batch.num_rows
        names = ("topic", "producer", "sequence_id", "message_id")
        for topic, producer, sequence_id, message_id in zip(*(batch[each].to_pylist() for each in names), strict=True):
            if producer is not None and sequence_id is not None:
                self.sequences.setdefault((topic, producer), Sequence()).add(sequence_id, message_id)

    def merge(self, later: "Findings") -> None:
        self.messages += later.messages
        self.bytes += later.bytes
        self.undecodable += later.undecodable
        self.damaged += later.damaged
        self.missing += later.missing
        for of, sequence in later.sequences.items():
            self.sequences.setdefault(of, Sequence()).merge(sequence)

    @property
    def problems(self) -> int:
        return len(self.damaged) + len(self.missing) + sum(each.repeated + each.late for each in self._sequences)

    def document(self) -> dict[str, Any]:
        found = self._sequences
        return {
            "messages": self.messages,
            "bytes": self.bytes,
            "producers": len({producer for _, producer in self.sequences}),
            "damaged": self.damaged[:LISTED_MAX],
            "missing": self.missing[:LISTED_MAX],
            "repeated": sum(each.repeated for each in found),
            "outOfOrder": sum(each.late for each in found),
            "restarts": sum(each.restarts for each in found),
            "undecodable": self.undecodable,
            "examples": [place for each in found for place in each.examples][:EXAMPLES_MAX],
            "isComplete": not self.damaged and not self.missing and all(each.is_whole for each in found),
        }

    @property
    def _sequences(self) -> list[Sequence]:
        return list(self.sequences.values())


def merged(parts: Iterable[Findings]) -> Findings:
    """In the order of the plan."""
    found = Findings()
    for part in parts:
        found.merge(part)
    return found
