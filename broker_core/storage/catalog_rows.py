"""What a checkpoint writes to metadata.sqlite: the rows of whatever changed in the catalog since the last one."""

import json
from functools import partial

from broker_core.storage.catalog import Catalog, CursorInfo, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.open_batches import encode_batches
from broker_core.storage.tables import Deflated, RowChange, delete, put


def checkpoint_rows(catalog: Catalog, first_journal: int) -> list[RowChange]:
    """Afterwards the catalog counts as clean. Cheap: blobs are copied, not deflated."""
    rows = [put("instance", "next_id", catalog.next_id), put("instance", "first_journal", first_journal)]
    rows += [delete("managed_ledger", i) for i in catalog.removed]
    rows += [delete("ledger", i) for i in catalog.removed_ledgers]
    for table in ("cursor", "ack_window", "ack_batches"):
        rows += [delete(table, i) for i in catalog.removed_cursors]
    rows += [_managed_ledger_row(catalog.infos[i]) for i in catalog.changed]
    rows += [ledger_row(catalog.owners[ledger.id], ledger) for ledger in catalog.changed_ledgers.values()]
    for cursor in catalog.changed_cursors.values():
        rows += _cursor_rows(catalog.owners[cursor.id], cursor)
    for touched in (catalog.changed, catalog.removed, catalog.removed_ledgers, catalog.removed_cursors):
        touched.clear()
    catalog.changed_ledgers.clear()
    catalog.changed_cursors.clear()
    catalog.owners.clear()
    return rows


def _text(properties: dict[str, str]) -> str:
    """Most of many thousands have none, and a checkpoint makes its rows in one turn of the loop."""
    return json.dumps(properties) if properties else "{}"


def _managed_ledger_row(info: ManagedLedgerInfo) -> RowChange:
    properties, compacted = _text(info.properties), json.dumps(info.compacted) if info.compacted else "[]"
    return put("managed_ledger", info.id, info.name, properties, compacted, *(info.terminated or (None, None)))


def ledger_row(owner: int, ledger: LedgerInfo) -> RowChange:
    return put(
        "ledger",
        ledger.id,
        owner,
        ledger.created_ms,
        ledger.entries,
        ledger.messages,
        ledger.size,
        ledger.end,
        ledger.newest_ms,
        ledger.written_ms,
        ledger.sealed_ms,
    )


def _cursor_rows(owner: int, cursor: CursorInfo) -> list[RowChange]:
    rows = [put("cursor", cursor.id, owner, cursor.name, _text(cursor.properties), *cursor.mark_delete)]
    for ledger_id in cursor.dirty_windows:
        window = cursor.windows.get(ledger_id)
        if window is None:
            rows.append(delete("ack_window", cursor.id, ledger_id))
        else:
            blob = Deflated(partial(bytes, window.bits[:]))
            rows.append(put("ack_window", cursor.id, ledger_id, window.base, blob))
    cursor.dirty_windows.clear()
    return rows + _batch_rows(cursor)


def _batch_rows(cursor: CursorInfo) -> list[RowChange]:
    rows = []
    for ledger_id in cursor.batches.dirty:
        batches = cursor.batches.of_ledger(ledger_id)
        if batches:
            blob = Deflated(partial(encode_batches, batches))
            rows.append(put("ack_batches", cursor.id, ledger_id, len(batches), blob))
        else:
            rows.append(delete("ack_batches", cursor.id, ledger_id))
    cursor.batches.dirty.clear()
    return rows
