"""What is not compacted yet: the entries of each partition after its last compaction."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pulsarctl.tables.access import Access
from pulsarctl.tables.ledger_ranges import LedgerRange
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.plan import TopicSnapshot
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.values.message_ids import parse_message_id
from pulsarctl.values.names import COMPACTION_CURSOR

NOTHING = (-1, -1)


@dataclass(frozen=True, slots=True)
class Uncompacted:
    """`after` and `through` by partition: the last compacted entry (`NOTHING`: none), and the last of the plan."""

    table: TopicTable
    parts: Sequence[LedgerRange]
    after: Mapping[str, tuple[int, int]]
    through: Mapping[str, tuple[int, int]]


def uncompacted(access: Access, topic: str) -> Uncompacted:
    """As of now; partitions with nothing new are not in `through`. Raises `NotFound`."""
    snapshot = TopicSnapshot()
    admin = access.admin()
    try:
        after = {part: _compacted_through(snapshot.of(admin, part)) for part in admin.topics.parts(topic)}
    finally:
        admin.close()
    starts = {part: f"{ledger}:{entry + 1}" for part, (ledger, entry) in after.items() if (ledger, entry) != NOTHING}
    options = {"topic": topic, "columns": "key", **({"start": json.dumps(starts)} if starts else {})}
    table = TopicTable.open(replace(TableOptions.parse(options), access=access))
    parts = table.plan(snapshot)
    return Uncompacted(table, parts, after, _through(parts))


def _compacted_through(stats: Mapping[str, Any]) -> tuple[int, int]:
    """The broker reads the compacted ledger up to here, and the log after it."""
    cursor = stats["cursors"].get(COMPACTION_CURSOR)
    if cursor is None or stats.get("compactedLedger", {}).get("ledgerId", -1) < 0:
        return NOTHING
    return parse_message_id(cursor["markDeletePosition"]).position


def _through(parts: Iterable[LedgerRange]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for part in parts:
        found[part.topic] = max(found.get(part.topic, NOTHING), (part.ledger_id, part.last))
    return found
