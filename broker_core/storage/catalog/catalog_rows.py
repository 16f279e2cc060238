"""The rows that a checkpoint writes to metadata.sqlite: those of the changes of the catalog since the last one."""

import json
from functools import partial

from broker_core.rates.time_slices import TimeSlices, sliced
from broker_core.storage.catalog.tables import RowChange, deflated, delete, put
from broker_core.storage.catalog.transaction_rows import transaction_rows
from broker_core.storage.records.catalog import Catalog, CursorInfo, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.open_batches import encode_batches


def checkpoint_rows(catalog: Catalog, first_journal: int) -> list[RowChange]:
    """The rows of everything except cursors, made without an await: they and the written buffers are one state."""
    rows = [put("instance", "next_id", catalog.next_id), put("instance", "first_journal", first_journal)]
    rows += [delete("managed_ledger", i) for i in catalog.removed]
    rows += [delete("ledger", i) for i in catalog.removed_ledgers]
    rows += [delete("trimmed", i) for i in catalog.removed]
    changed = [catalog.infos[i] for i in catalog.changed if i in catalog.infos]
    rows += [_managed_ledger_row(info) for info in changed]
    rows += [put("trimmed", info.id, info.trimmed_messages) for info in changed if info.trimmed_messages]
    rows += [ledger_row(catalog.owners.pop(ledger.id), ledger) for ledger in catalog.changed_ledgers.values()]
    for uuid, change in catalog.changed_copies.items():
        rows.append(delete("offload", uuid) if change is None else _copy_row(*change))
    rows += transaction_rows(catalog.transactions)
    for touched in (catalog.changed, catalog.removed, catalog.removed_ledgers):
        touched.clear()
    catalog.changed_ledgers.clear()
    catalog.changed_copies.clear()
    return rows


async def add_cursor_rows(catalog: Catalog, rows: list[RowChange]) -> None:
    """Adds the rows of the cursors that changed. Cheap: blobs are copied, not deflated.

    A row may be newer than the first journal file that will be replayed over it: its changes since then are in that
    journal, and repeating them in order ends in the same state. Later changes are for the next checkpoint. A
    failure in between loses nothing, because a cursor counts as clean only once its rows are in the list.
    """
    async for cursor_id in sliced(list(catalog.removed_cursors), TimeSlices(0)):
        rows += [delete(table, cursor_id) for table in ("cursor", "ack_window", "ack_batches")]
        catalog.removed_cursors.discard(cursor_id)
    async for cursor_id in sliced(list(catalog.changed_cursors), TimeSlices(0)):
        cursor = catalog.changed_cursors.pop(cursor_id, None)
        if cursor is not None:  # else it was deleted in the meantime
            rows += _cursor_rows(catalog.owners.pop(cursor_id), cursor)


def _text(properties: dict[str, str]) -> str:
    """The properties as JSON; fast without any, because a checkpoint makes thousands of rows in one loop iteration."""
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


def _copy_row(owner: int, copy: OffloadedCopy) -> RowChange:
    return put("offload", copy.uuid, owner, copy.ledger_id, int(copy.local_gone), json.dumps(copy.to_document()))


def _cursor_rows(owner: int, cursor: CursorInfo) -> list[RowChange]:
    rows = [put("cursor", cursor.id, owner, cursor.name, _text(cursor.properties), *cursor.mark_delete)]
    for ledger_id in cursor.dirty_windows:
        window = cursor.windows.get(ledger_id)
        if window is None:
            rows.append(delete("ack_window", cursor.id, ledger_id))
        else:
            blob = deflated(partial(bytes, window.bits[:]))
            rows.append(put("ack_window", cursor.id, ledger_id, window.base, blob))
    cursor.dirty_windows.clear()
    return rows + _batch_rows(cursor)


def _batch_rows(cursor: CursorInfo) -> list[RowChange]:
    rows = []
    for ledger_id in cursor.batches.dirty:
        batches = cursor.batches.of_ledger(ledger_id)
        if batches:
            blob = deflated(partial(encode_batches, batches))
            rows.append(put("ack_batches", cursor.id, ledger_id, len(batches), blob))
        else:
            rows.append(delete("ack_batches", cursor.id, ledger_id))
    cursor.batches.dirty.clear()
    return rows
