"""The journal records beside entries, and what each does to the catalog when the journal is replayed.

Changes are JSON, one table row per kind; acknowledgements are binary, because they are many. Applying the same
records again, in order, over a checkpoint that already holds some of them gives the same catalog.
"""

import json
import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from broker_core.storage.ack_ranges import AckWindow
from broker_core.storage.block import ACKS, CHANGE, HEADER, HEADER_SIZE, column, encode_record
from broker_core.storage.catalog import Catalog, Change, CursorInfo, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.position import Position

_ACKS = struct.Struct("<QQqq")  # managed ledger, cursor, mark-delete; then u32 entry ids


def change(op: str, owner: int, **values: Any) -> bytes:
    """The record of a change to managed ledger `owner`."""
    return encode_record(CHANGE, json.dumps({"op": op, "owner": owner, **values}, separators=(",", ":")).encode())


def nothing() -> bytes:
    """A record that changes nothing: whoever waits for it has waited for all before it."""
    return encode_record(CHANGE, b'{"op":"nothing","owner":0}')


def acks(owner: int, cursor_id: int, mark_delete: Position, ledger_id: int, entry_ids: Sequence[int]) -> bytes:
    """A cursor's mark-delete, and entries of one ledger that were acknowledged above it."""
    ids = column("I", array("I", entry_ids).tobytes()).tobytes()
    payload = _ACKS.pack(owner, cursor_id, *mark_delete) + ids
    return encode_record(ACKS, payload, ledger_id=ledger_id, n=len(entry_ids))


def parse(record: bytes) -> Change:
    values: Change = json.loads(record[HEADER_SIZE:])
    return values


def apply_change(catalog: Catalog, load: Callable[[int], ManagedLedgerInfo | None], values: Change) -> None:
    """`load` gives the info of a managed ledger, None when it is gone."""
    if values["op"] == "managed-ledger":
        if values["name"] not in catalog.names:
            catalog.add(ManagedLedgerInfo(values["owner"], values["name"], dict(values["properties"])))
        catalog.next_id = max(catalog.next_id, values["owner"] + 1)
        return
    info = load(values["owner"])
    if info is not None:
        _APPLY[values["op"]](catalog, info, values)


def describe_acks(record: bytes) -> str:
    n, ledger_id = HEADER.unpack_from(record)[5:7]
    owner, cursor_id, *mark_delete = _ACKS.unpack_from(record, HEADER_SIZE)
    at = HEADER_SIZE + _ACKS.size
    ids = ",".join(map(str, column("I", record[at : at + 4 * n])))
    text = f"managed ledger {owner} cursor {cursor_id} mark-delete {mark_delete[0]}:{mark_delete[1]}"
    return f"{text} and {ledger_id}:[{ids}]" if n else text


def apply_acks(catalog: Catalog, load: Callable[[int], ManagedLedgerInfo | None], record: bytes) -> None:
    n, ledger_id = HEADER.unpack_from(record)[5:7]
    owner, cursor_id, *mark_delete = _ACKS.unpack_from(record, HEADER_SIZE)
    info = load(owner)
    cursor = info.cursors.get(cursor_id) if info else None
    if info is None or cursor is None:
        return
    position = Position(*mark_delete)
    if position > cursor.mark_delete:
        cursor.mark_delete = position
    at = HEADER_SIZE + _ACKS.size
    ledger = info.ledgers.get(ledger_id)
    if n and ledger is not None:
        window = cursor.windows.setdefault(ledger_id, AckWindow(0))
        window.acknowledge(column("I", record[at : at + 4 * n]), ledger.entries)
        cursor.dirty_windows.add(ledger_id)
    forget_passed_windows(cursor)
    catalog.cursor_changed(owner, cursor)


def forget_passed_windows(cursor: CursorInfo) -> None:
    """Windows of ledgers that mark-delete has left behind say nothing any more."""
    for ledger_id in [i for i in cursor.windows if i < cursor.mark_delete.ledger_id]:
        del cursor.windows[ledger_id]
        cursor.dirty_windows.add(ledger_id)


def _ledger(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    catalog.next_id = max(catalog.next_id, values["id"] + 1)
    if values["id"] not in info.ledgers:
        info.ledgers[values["id"]] = LedgerInfo(values["id"], values["at"])
        catalog.ledger_changed(info.id, info.ledgers[values["id"]])


def _seal(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    ledger = info.ledgers.get(values["id"])
    if ledger is not None:
        ledger.sealed_ms = values["at"]
        catalog.ledger_changed(info.id, ledger)


def _trim(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    catalog.remove_ledgers(info, values["ids"])


def _delete(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    catalog.remove(info)


def _properties(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    info.properties = dict(values["properties"])
    catalog.changed.add(info.id)


def _terminate(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    info.terminated = Position(*values["at"])
    catalog.changed.add(info.id)


def _compacted(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    info.compacted = list(values["ids"])
    catalog.next_id = max([catalog.next_id, *(i + 1 for i in info.compacted)])
    catalog.changed.add(info.id)


def _cursor(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    catalog.next_id = max(catalog.next_id, values["id"] + 1)
    cursor = info.cursors.get(values["id"])
    if cursor is None:
        cursor = CursorInfo(values["id"], values["name"], Position(*values["mark_delete"]))
        info.cursors[cursor.id] = cursor
    # Properties and mark-delete change together: the result of a compaction and its horizon.
    cursor.properties = dict(values["properties"])
    cursor.mark_delete = max(cursor.mark_delete, Position(*values["mark_delete"]))
    forget_passed_windows(cursor)
    catalog.cursor_changed(info.id, cursor)


def _reset(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    cursor = info.cursors.get(values["cursor"])
    if cursor is not None:
        cursor.dirty_windows.update(cursor.windows)
        cursor.windows.clear()
        cursor.mark_delete = Position(*values["mark_delete"])
        catalog.cursor_changed(info.id, cursor)


def _delete_cursor(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    catalog.remove_cursor(info, values["cursor"])


_APPLY: dict[str, Callable[[Catalog, ManagedLedgerInfo, Change], None]] = {
    "ledger": _ledger,
    "seal": _seal,
    "trim": _trim,
    "delete": _delete,
    "properties": _properties,
    "terminate": _terminate,
    "compacted": _compacted,
    "cursor": _cursor,
    "reset": _reset,
    "delete-cursor": _delete_cursor,
}
