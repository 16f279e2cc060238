"""The parts of a plan -> the last place of each key. Each part is one task, in this process or on Spark.

A task divides its keys into buckets by their hash, and the buckets of all tasks are merged one by one, so that no
process holds more keys than it must. The rules are the broker's own (`broker_core.wire.slots`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from zlib import crc32

from broker_core.wire.batch import is_chunk
from broker_core.wire.last_places import WHOLE, LastPlaces, LedgerPlaces
from broker_core.wire.slots import opened
from pulsarctl.compaction.range import Uncompacted
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.topic_table import TopicTable

BUCKETS = 64

LedgerLocation = tuple[int, int, int]  # ledger ID, entry ID, batch index
Bucket = tuple[str, int]  # partition, number


@dataclass(slots=True)
class Keys:
    """What tasks have found for one bucket. `counted` has entries and messages by ledger, in one bucket of each part.

    `whole` are entries that cannot be opened. `chunked` is the place of a chunk, if there is one.
    """

    last: dict[str, LedgerLocation] = field(default_factory=dict)
    counted: dict[int, tuple[int, int]] = field(default_factory=dict)
    whole: list[LedgerLocation] = field(default_factory=list)
    chunked: LedgerLocation | None = None

    def merge(self, other: "Keys") -> "Keys":
        """This one, with what the other has. The order does not matter."""
        for key, place in other.last.items():
            if place > self.last.get(key, (-1, -1, -1)):
                self.last[key] = place
        for ledger_id, (entries, messages) in other.counted.items():
            own = self.counted.get(ledger_id, (0, 0))
            self.counted[ledger_id] = (own[0] + entries, own[1] + messages)
        self.whole += other.whole
        self.chunked = self.chunked or other.chunked
        return self

    def without_names(self) -> "Keys":
        """The same with numbers for the keys."""
        return replace(self, last={str(number): place for number, place in enumerate(self.last.values())})


@dataclass(frozen=True, slots=True)
class KeysOfPart:
    """The work of one task; small, and pickled to each."""

    table: TopicTable

    def __call__(self, part: LedgerRange) -> Iterator[tuple[Bucket, Keys]]:
        """Raises what reading raises."""
        found: defaultdict[int, Keys] = defaultdict(Keys)
        entries = messages = 0
        for run in self.table.entries(part):
            entries += len(run)
            for entry_id, entry in zip(run.entry_ids.tolist(), run.entries, strict=True):
                messages += entry.metadata.num_messages_in_batch
                known = opened(entry)
                if known is None:
                    found[0].whole.append((part.ledger_id, entry_id, WHOLE))
                    continue
                if is_chunk(entry.metadata):
                    found[0].chunked = (part.ledger_id, entry_id, 0)
                for index, key, _ in known.slots:
                    if key is not None:
                        found[bucket_of(key)].last[key] = (part.ledger_id, entry_id, index)
        found[0].counted[part.ledger_id] = (entries, messages)
        for number, keys in found.items():
            yield (part.topic, number), keys


def bucket_of(key: str | bytes) -> int:
    """The same in every process, unlike `hash`. Protobuf returns text that is not UTF-8 as bytes."""
    return crc32(key if isinstance(key, bytes) else key.encode("utf-8", "surrogatepass")) % BUCKETS


def merged(found: Iterable[tuple[Bucket, Keys]]) -> dict[Bucket, Keys]:
    buckets: dict[Bucket, Keys] = {}
    for bucket, keys in found:
        buckets[bucket] = buckets[bucket].merge(keys) if bucket in buckets else keys
    return buckets


def last_places(of: Uncompacted, buckets: Mapping[Bucket, Keys]) -> dict[str, LastPlaces]:
    """For each partition with something new."""
    ledgers: defaultdict[str, defaultdict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
    counted: defaultdict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for (topic, _), keys in buckets.items():
        counted[topic] |= keys.counted
        for ledger_id, entry_id, index in (*keys.last.values(), *keys.whole):
            ledgers[topic][ledger_id].append((entry_id, index))
    return {
        topic: LastPlaces(
            of.after[topic],
            through,
            tuple(
                LedgerPlaces.of(ledger_id, *counted[topic][ledger_id], sorted(ledgers[topic][ledger_id]))
                for ledger_id in sorted(counted[topic])
            ),
        )
        for topic, through in of.through.items()
    }
