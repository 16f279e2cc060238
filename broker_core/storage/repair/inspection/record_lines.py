"""A record as one line of text."""

import json

from broker_core.storage.records import changes, ledger_file
from broker_core.storage.records.block import (
    ACKS,
    BATCH_ACKS,
    CHANGE,
    COMPACTED,
    COMPACTED_INDEX,
    DELAYED,
    ENTRIES,
    HEADER,
    INDEX,
    read_delivery_times,
)

_KINDS = {
    ENTRIES: "entries",
    CHANGE: "change",
    ACKS: "acks",
    BATCH_ACKS: "batch acks",
    INDEX: "index",
    COMPACTED: "compacted",
    COMPACTED_INDEX: "index",
}


def described(record: bytes) -> str:
    crc, length, kind, flags, _, n, ledger_id, first, _, _ = HEADER.unpack_from(record)
    text = f"{_KINDS.get(kind, f'kind {kind}')} {length} bytes crc {crc:08x}"
    if kind == ENTRIES:
        _, messages, size, newest_ms = ledger_file.table_totals(record, 0)
        delayed = f" delivery times {read_delivery_times(record, length, n).tolist()}" if flags & DELAYED else ""
        entries = f"{ledger_id}:{first}..{first + n - 1}"
        return f"{text} {entries} {messages} messages {size} bytes newest {newest_ms}{delayed}"
    if kind == CHANGE:
        return f"{text} {json.dumps(changes.parse(record), ensure_ascii=False)}"
    if kind == ACKS:
        return f"{text} {changes.describe_acks(record)}"
    if kind == BATCH_ACKS:
        return f"{text} {changes.describe_batch_acks(record)}"
    return f"{text} of {ledger_id}: {n} rows"
