"""Whether partitions are those that an earlier run read. Positions of a topic on a wiped cluster mean other messages.

A topic that was deleted and created again on its cluster has larger ledger IDs, so a run may continue with it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CannotConnect, Conflict, NotAuthorized, NotFound, TimedOut
from pulsarctl.tables.ack_holes import LedgerPosition
from pulsarctl.tables.plan import TopicSnapshot


def created_at(admin: AdminClient, names: Sequence[str], *, must_tell: bool) -> dict[str, str] | None:
    """The times of those that exist, by their names. None if the admin API does not tell, unless it must."""
    try:
        return _creation_dates(admin, names)
    except (NotAuthorized, CannotConnect, TimedOut):
        if must_tell:
            raise
        return None


def check_same(
    admin: AdminClient,
    snapshot: TopicSnapshot,
    read: Mapping[str, LedgerPosition],
    created: Mapping[str, str],
    doing: str,
    hint: str,
) -> dict[str, str]:
    """Returns the creation times to know in the next run; `created` are those of the run that read up to `read`.

    Raises `Conflict` for the first partition that has other messages at the positions that were read.
    """
    now = created_at(admin, list(snapshot.known), must_tell=False) or {}
    for name, position in read.items():
        stats = snapshot.known.get(name)
        if stats is None:
            continue
        if _ends_before(stats, position) or (_is_another(name, created, now) and _goes_back(stats, position)):
            raise Conflict(
                f"cannot {doing}: {name} was created again or restored, and its positions start over", hint=hint
            )
    return {**created, **now}


def _ends_before(stats: Mapping[str, Any], position: LedgerPosition) -> bool:
    """A position before the first entry of a ledger may be after the last entry of the topic."""
    ledger, _, entry = str(stats["lastConfirmedEntry"]).partition(":")
    return (0, -1) <= (int(ledger), int(entry)) < position and position[1] >= 0  # -1:-1: there is no ledger now


def _is_another(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    return name in before and name in now and before[name] != now[name]


def _goes_back(stats: Mapping[str, Any], position: LedgerPosition) -> bool:
    return any(int(ledger["ledgerId"]) <= position[0] for ledger in stats["ledgers"])


def _creation_dates(admin: AdminClient, names: Sequence[str]) -> dict[str, str]:
    """Statistics tell whether a partition exists: Apache Pulsar answers 500 for `internal-info` of a missing one."""
    dates: dict[str, str] = {}
    for name in names:
        with suppress(NotFound):
            admin.topics.stats(name)
            dates[name] = str(admin.topics.internal_info(name)["creationDate"])
    return dates
