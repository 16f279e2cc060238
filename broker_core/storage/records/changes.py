"""The journal records beside entries, and what each does to the catalog when the journal is replayed.

Changes are JSON, one table row per kind; acknowledgments are binary, because they are many. Applying the same
records again, in order, over a checkpoint that already holds some of them gives the same catalog.
"""

import json
import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.block import ACKS, BATCH_ACKS, CHANGE, HEADER, HEADER_SIZE, column, encode_record
from broker_core.storage.records.catalog import Catalog, Change, CursorInfo, LedgerInfo, ManagedLedgerInfo
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.open_batches import OpenBatch, bits_of, decode_batches, encode_batches, words_of
from broker_core.storage.records.position import Position

_ACKS = struct.Struct("<QQqq")  # managed ledger, cursor, mark-delete; then u32 entry ids, or batches


def change(op: str, owner: int, **values: Any) -> bytes:
    """The record of a change to managed ledger `owner`."""
    return encode_record(CHANGE, json.dumps({"op": op, "owner": owner, **values}, separators=(",", ":")).encode())


def nothing() -> bytes:
    """A record that changes nothing: waiting for it means waiting for all records before it."""
    return encode_record(CHANGE, b'{"op":"nothing","owner":0}')


def acks(owner: int, cursor_id: int, mark_delete: Position, ledger_id: int, entry_ids: Sequence[int]) -> bytes:
    """A cursor's mark-delete, and entries of one ledger that were acknowledged above it."""
    ids = column("I", array("I", entry_ids).tobytes()).tobytes()
    payload = _ACKS.pack(owner, cursor_id, *mark_delete) + ids
    return encode_record(ACKS, payload, ledger_id=ledger_id, n=len(entry_ids))


def batch_acks(
    owner: int, cursor_id: int, mark_delete: Position, ledger_id: int, batches: dict[int, OpenBatch]
) -> bytes:
    """A cursor's mark-delete, and what is open of batches in one ledger of which other messages were acknowledged."""
    payload = _ACKS.pack(owner, cursor_id, *mark_delete) + encode_batches(batches)
    return encode_record(BATCH_ACKS, payload, ledger_id=ledger_id, n=len(batches))


def reset(owner: int, cursor: CursorInfo) -> bytes:
    """The record of a cursor that was moved, perhaps into the middle of a batch."""
    batches = [[*place, batch.messages, words_of(batch.bits)] for *place, batch in cursor.batches]
    values = {"batches": batches} if batches else {}
    return change("reset", owner, cursor=cursor.id, mark_delete=list(cursor.mark_delete), **values)


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
    if values["op"] == "forget-copies":
        catalog.forget_copies(values["uuids"])
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


def describe_batch_acks(record: bytes) -> str:
    n, ledger_id = HEADER.unpack_from(record)[5:7]
    owner, cursor_id, *mark_delete = _ACKS.unpack_from(record, HEADER_SIZE)
    batches = decode_batches(record[HEADER_SIZE + _ACKS.size :], n)
    text = " ".join(f"{ledger_id}:{entry_id} {describe_batch(batch)}" for entry_id, batch in batches.items())
    return f"managed ledger {owner} cursor {cursor_id} mark-delete {mark_delete[0]}:{mark_delete[1]} and {text}"


def describe_batch(batch: OpenBatch) -> str:
    """Such as `0110 of 4`: 1 = not acknowledged, message 0 first."""
    width = max(batch.messages, batch.bits.bit_length())
    return f"{batch.bits:0{width}b}"[::-1] + f" of {batch.messages or 'unknown'}"


def apply_acks(catalog: Catalog, load: Callable[[int], ManagedLedgerInfo | None], record: bytes) -> None:
    kind, _, _, n, ledger_id = HEADER.unpack_from(record)[2:7]
    owner, cursor_id, *mark_delete = _ACKS.unpack_from(record, HEADER_SIZE)
    info = load(owner)
    cursor = info.cursors.get(cursor_id) if info else None
    if info is None or cursor is None:
        return
    cursor.mark_delete = max(cursor.mark_delete, Position(*mark_delete))
    ledger = info.ledgers.get(ledger_id)
    if n and ledger is not None:
        table = record[HEADER_SIZE + _ACKS.size :]
        if kind == BATCH_ACKS:
            _acknowledge_batches(cursor, ledger, decode_batches(table, n))
        else:
            _acknowledge_entries(cursor, ledger, column("I", table[: 4 * n]))
    forget_passed(cursor)
    catalog.cursor_changed(owner, cursor)


def _acknowledge_entries(cursor: CursorInfo, ledger: LedgerInfo, entry_ids: Sequence[int]) -> None:
    window = cursor.windows.setdefault(ledger.id, AckWindow(0))
    window.acknowledge(entry_ids, ledger.entries)
    cursor.dirty_windows.add(ledger.id)
    cursor.batches.discard(ledger.id, entry_ids)


def _acknowledge_batches(cursor: CursorInfo, ledger: LedgerInfo, batches: dict[int, OpenBatch]) -> None:
    """The checkpoint may already have more: then the bits, or the entry, are acknowledged and stay so."""
    window = cursor.windows.get(ledger.id)
    for entry_id, batch in batches.items():
        if entry_id < ledger.entries and not (window is not None and window.is_acknowledged(entry_id)):
            _, left = cursor.batches.clear_bits(ledger.id, entry_id, batch.messages, batch.bits)
            if left is None:
                _acknowledge_entries(cursor, ledger, (entry_id,))


def commit_acks(catalog: Catalog, info: ManagedLedgerInfo, cursor: CursorInfo, acks: TransactionAcks) -> None:
    """Carries out the acknowledgments of a committed transaction on a cursor that is not open."""
    rows = list(acks)
    if acks.cumulative is not None:
        ledger_id, entry_id = acks.cumulative.position
        ends = [Position(ledger.id, ledger.entries - 1) for ledger in info.ledgers.values() if ledger.entries]
        passed = min(Position(ledger_id, entry_id - 1), max(ends, default=cursor.mark_delete))
        cursor.mark_delete = max(cursor.mark_delete, passed)
        rows.append((ledger_id, entry_id, acks.cumulative.left))
    for ledger_id, entry_id, left in rows:
        ledger = info.ledgers.get(ledger_id)
        if ledger is None or Position(ledger_id, entry_id) <= cursor.mark_delete:
            continue
        if left.bits:
            _acknowledge_batches(cursor, ledger, {entry_id: left})
        else:
            _acknowledge_entries(cursor, ledger, (entry_id,))
    _advance(info, cursor)
    forget_passed(cursor)
    catalog.cursor_changed(info.id, cursor)


def _advance(info: ManagedLedgerInfo, cursor: CursorInfo) -> None:
    """Moves mark-delete over the entries that are acknowledged after it."""
    for ledger_id in sorted(info.ledgers):
        mark_ledger, mark_entry = cursor.mark_delete
        if ledger_id < mark_ledger:
            continue
        entries, window = info.ledgers[ledger_id].entries, cursor.windows.get(ledger_id)
        start = mark_entry + 1 if ledger_id == mark_ledger else 0
        stop = start if window is None else min(window.first_unacknowledged(start), entries)
        if stop > start:
            cursor.mark_delete = Position(ledger_id, stop - 1)
        if stop < entries:
            return


def forget_passed(cursor: CursorInfo) -> None:
    """Drops acknowledgments up to mark-delete, and batches before it, which say nothing any more."""
    mark_ledger, mark_entry = cursor.mark_delete
    cursor.batches.discard_below(cursor.mark_delete.next)
    for ledger_id in [i for i in cursor.windows if i <= mark_ledger]:
        window = cursor.windows[ledger_id]
        window.drop_before(mark_entry + 1)
        if ledger_id < mark_ledger or not window.bits:
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


def _offload(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    ledger = info.ledgers.get(values["id"])
    if ledger is not None:
        if "end" in values:  # the local file was written again
            ledger.end = values["end"]
            catalog.ledger_changed(info.id, ledger)
        catalog.set_copy(info.id, ledger, OffloadedCopy.from_document(values["copy"]) if values["copy"] else None)


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
    forget_passed(cursor)
    catalog.cursor_changed(info.id, cursor)


def _reset(catalog: Catalog, info: ManagedLedgerInfo, values: Change) -> None:
    cursor = info.cursors.get(values["cursor"])
    if cursor is not None:
        cursor.dirty_windows.update(cursor.windows)
        cursor.windows.clear()
        cursor.batches.clear()
        for ledger_id, entry_id, messages, words in values.get("batches", ()):
            cursor.batches.put(ledger_id, entry_id, OpenBatch(messages, bits_of(words)))
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
    "offload": _offload,
    "compacted": _compacted,
    "cursor": _cursor,
    "reset": _reset,
    "delete-cursor": _delete_cursor,
}
