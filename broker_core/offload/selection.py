"""Which ledgers are offloaded next, and which local files are due for deletion. Pure: no clock, no disk.

As in Pulsar's ManagedLedgerImpl: only sealed ledgers with entries, oldest first. By request, those before a position.
By threshold, those beyond the newest ledgers that fill the size, or sealed longer ago than the time.
"""

from collections.abc import Mapping, Sequence

from broker_core.metadata.policies.offload_policies import OffloadRules
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.position import Position


def before(sealed: Sequence[LedgerInfo], position: Position) -> list[int]:
    """The ledgers that a request offloads: those whose entries are all in front of a position."""
    return [info.id for info in sealed if _ends_before(info, position) and not is_offloaded(info)]


def _ends_before(info: LedgerInfo, position: Position) -> bool:
    return info.id < position.ledger_id or (info.id == position.ledger_id and 0 < info.entries <= position.entry_id)


def over_thresholds(sealed: Sequence[LedgerInfo], rules: OffloadRules, now_ms: int) -> list[int]:
    """The ledgers that the thresholds offload; the open ledger counts 0 bytes. Either threshold suffices."""
    if not rules.is_automatic:
        return []
    ids, newest_bytes = [], 0
    for info in reversed(sealed):
        newest_bytes += info.size
        too_big = 0 <= rules.threshold_bytes < newest_bytes
        too_old = rules.threshold_seconds >= 0 and now_ms - info.sealed_ms >= rules.threshold_seconds * 1000
        if (too_big or too_old) and not is_offloaded(info):
            ids.append(info.id)
    return ids[::-1]


def next_threshold_due(sealed: Sequence[LedgerInfo], rules: OffloadRules) -> int | None:
    """When (wall ms) the time threshold is next exceeded; None if only a new ledger makes work."""
    if not rules.is_automatic or rules.threshold_seconds < 0:
        return None
    times = [info.sealed_ms for info in sealed if not is_offloaded(info)]
    return min(times) + rules.threshold_seconds * 1000 if times else None


def files_due(
    sealed: Sequence[LedgerInfo], lag_ms: int, now_ms: int, seen_ms: Mapping[str, int]
) -> tuple[list[int], int | None]:
    """Ledgers whose local file may go, and when (wall ms) the next one may.

    `seen_ms`: when a copy was first seen that is complete in the future, because the wall clock was set back since. Its
    lag counts from there: the file is neither deleted early nor kept forever.
    """
    if lag_ms < 0:
        return [], None
    due: list[int] = []
    later: int | None = None
    for info in sealed:
        copy = info.copy
        if copy is None or not copy.is_complete or copy.local_gone:
            continue
        at = min(copy.complete_ms, seen_ms.get(copy.uuid, copy.complete_ms)) + lag_ms
        if at <= now_ms:
            due.append(info.id)
        else:
            later = at if later is None else min(later, at)
    return due, later


def is_offloaded(info: LedgerInfo) -> bool:
    return info.copy is not None and info.copy.is_complete
