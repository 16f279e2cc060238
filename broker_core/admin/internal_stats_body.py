"""`internalStats`: the ledgers and cursors of a topic, as Pulsar's PersistentTopicInternalStats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from broker_core.clock import iso
from broker_core.rates.long_text import Json
from broker_core.rates.time_slices import sliced
from broker_core.storage.records.open_batches import words_of
from broker_core.topic.replicated_property import without_replicated

if TYPE_CHECKING:
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.catalog import LedgerInfo
    from broker_core.storage.records.position import Position
    from broker_core.topic.topic import Topic
    from broker_core.topic_log import TopicLog

_NO_LEDGER = {"ledgerId": -1, "entries": -1, "size": -1, "offloaded": False, "underReplicated": False}


async def internal_body(topic: Topic) -> dict[str, Any]:
    """Cursors are written at once, as subscriptions are in `stats`: a topic may have very many."""
    ledger = topic.ledger
    infos = ledger.ledger_infos()
    waiting, cursors = 0, {}
    async for name, cursor in sliced(list(ledger.cursors.items())):
        waiting += name in topic.subscriptions and _is_waiting(cursor, ledger)
        cursors[name] = Json.of(_cursor(topic, cursor))
    current = infos[-1] if infos and not infos[-1].sealed_ms else None
    return {
        "entriesAddedCounter": ledger.entries,
        "numberOfEntries": ledger.entries,
        "totalSize": ledger.size,
        "currentLedgerEntries": current.entries if current else 0,
        "currentLedgerSize": current.size if current else 0,
        "lastLedgerCreatedTimestamp": iso(infos[-1].created_ms if infos else topic.created_ms),
        "waitingCursorsCount": waiting,
        "pendingAddEntriesCount": 0,
        "lastConfirmedEntry": str(ledger.last_confirmed),
        "state": _state(topic),
        "ledgers": _ledgers(topic, infos),
        "cursors": cursors,
        "schemaLedgers": [],
        "compactedLedger": _compacted(topic),
        **({"properties": dict(ledger.properties)} if ledger.properties else {}),
        **_visible_end(ledger),
    }


def _visible_end(ledger: TopicLog) -> dict[str, str]:
    """Not in Pulsar: of a topic with transactions, the last position that consumers may get."""
    with_transactions = ledger.on_disk is not None and ledger.on_disk.transactions is not None
    return {"visibleEnd": str(ledger.visible_end)} if with_transactions else {}


async def info_body(topic: Topic) -> dict[str, Any]:
    """ManagedLedgerInfo: what is stored about the ledgers and cursors."""
    ledger = topic.ledger
    terminated = topic.termination.at
    cursors = [(name, cursor) for name, cursor in ledger.cursors.items() if cursor.durable]
    return {
        "version": 0,
        "creationDate": iso(topic.created_ms),
        "modificationDate": iso(max((info.written_ms for info in ledger.ledger_infos()), default=topic.created_ms)),
        "ledgers": [_ledger_info(info) for info in ledger.ledger_infos()],
        **({"terminatedPosition": _position(terminated)} if terminated is not None else {}),
        "cursors": {name: Json.of(_cursor_info(cursor)) async for name, cursor in sliced(cursors)},
        "properties": dict(ledger.properties),
    }


def _ledger_info(info: LedgerInfo) -> dict[str, Any]:
    sealed = {"entries": info.entries, "size": info.size, "timestamp": info.sealed_ms} if info.sealed_ms else {}
    offloaded = {"offloadedContextUuid": info.copy.uuid} if info.copy is not None else {}
    return {"ledgerId": info.id, **sealed, "isOffloaded": _is_offloaded(info), **offloaded}


def _is_offloaded(info: LedgerInfo) -> bool:
    return info.copy is not None and info.copy.is_complete


def _cursor_info(cursor: ManagedCursor) -> dict[str, Any]:
    return {
        "version": 0,
        "cursorsLedgerId": -1,
        "markDelete": _position(cursor.mark_delete),
        "individualDeletedMessages": [
            {"from": f"{ledger_id}:{first - 1}", "to": f"{ledger_id}:{last}"}
            for ledger_id, first, last in cursor.ack_ranges()
        ],
        "properties": without_replicated(cursor.properties),
    }


def _position(position: Position) -> dict[str, int]:
    return {"ledgerId": position.ledger_id, "entryId": position.entry_id}


def _state(topic: Topic) -> str:
    if topic.ledger.fenced_reason is not None:
        return "Fenced"
    return "Terminated" if topic.termination.at is not None else "LedgerOpened"


def _ledgers(topic: Topic, infos: Sequence[LedgerInfo]) -> list[dict[str, Any]]:
    """Before its first message a topic shows one empty ledger, as in Pulsar; its ID comes with that message."""
    if not infos and topic.name.is_persistent:
        return [{**_NO_LEDGER, "entries": 0, "size": 0}]
    return [_ledger(info, [str(lost) for lost in topic.ledger.lost if lost.ledger_id == info.id]) for info in infos]


def _ledger(info: LedgerInfo, lost: Sequence[str]) -> dict[str, Any]:
    """The open ledger shows 0 entries, as in Pulsar; `currentLedgerEntries` has their number."""
    return {
        "ledgerId": info.id,
        "entries": info.entries if info.sealed_ms else 0,
        "size": info.size if info.sealed_ms else 0,
        **({"timestamp": info.sealed_ms} if info.sealed_ms else {}),
        "offloaded": _is_offloaded(info),
        "underReplicated": False,
        **({"lost": lost} if lost else {}),  # not in Pulsar: the entries that cannot be read
    }


def _cursor(topic: Topic, cursor: ManagedCursor) -> dict[str, Any]:
    ranges = list(cursor.ack_ranges())
    subscription = topic.subscriptions.get(cursor.name)
    waiting = subscription is not None and bool(subscription.consumers) and _is_waiting(cursor, topic.ledger)
    return {
        "markDeletePosition": str(cursor.mark_delete),
        "readPosition": str(cursor.read_position),
        "waitingReadOp": waiting,
        "pendingReadOps": 0,
        "messagesConsumedCounter": max(0, topic.ledger.entries - cursor.backlog_entries),
        "cursorLedger": -1,
        "cursorLedgerLastEntry": -1,
        "individuallyDeletedMessages": _ranges_text(ranges),
        "lastLedgerSwitchTimestamp": iso(topic.created_ms),
        "state": "Open" if cursor.durable else "NoLedger",
        "active": subscription is not None and bool(subscription.consumers),
        "numberOfEntriesSinceFirstNotAckedMessage": cursor.entries_read_ahead,
        "totalNonContiguousDeletedMessagesRange": len(ranges),
        "subscriptionHavePendingRead": waiting,
        "subscriptionHavePendingReplayRead": False,
        "properties": {key: int(value) for key, value in cursor.properties.items() if _is_number(value)},
        **_open_batches(cursor),
    }


def _open_batches(cursor: ManagedCursor) -> dict[str, Any]:
    """Not in Pulsar: the batches of which only some messages are acknowledged, as in `ack_set` of the protocol."""
    batches = {f"{ledger_id}:{entry_id}": words_of(batch.bits) for ledger_id, entry_id, batch in cursor.open_batches}
    return {"openBatches": batches} if batches else {}


def _is_waiting(cursor: ManagedCursor, ledger: TopicLog) -> bool:
    return cursor.read_position > ledger.last_confirmed


def _ranges_text(ranges: list[tuple[int, int, int]]) -> str:
    """Ranges are open at the left end: `[(3:1..3:4]]` are the entries 2 to 4 of ledger 3."""
    parts = (f"({ledger_id}:{first - 1}..{ledger_id}:{last}]" for ledger_id, first, last in ranges)
    return f"[{','.join(parts)}]"


LONG_DIGITS = 18  # the numbers of a 64-bit field; the positions of a replicator's copies are longer


def _is_number(text: str) -> bool:
    """Clients read cursor properties as numbers; those of a subscription are strings and shown in `stats`."""
    return text.lstrip("-").isdigit() and len(text) <= LONG_DIGITS


def _compacted(topic: Topic) -> dict[str, Any]:
    compacted = topic.compaction.compacted
    if compacted is None:
        return dict(_NO_LEDGER)
    return {
        "ledgerId": compacted.ledger_id,
        "entries": compacted.entries,
        "size": compacted.size,
        "offloaded": False,
        "underReplicated": False,
    }
