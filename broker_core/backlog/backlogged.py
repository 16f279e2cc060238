"""The backlog of a replicator, as housekeeping, quotas, and the admin API see it.

Entries that are acknowledged here are never sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.storage.position import Position

if TYPE_CHECKING:
    from broker_core.rates.rate import Rate
    from broker_core.storage.cursor import ManagedCursor
    from broker_core.topic_log import TopicLog


class ReplicatorBacklog:
    """`passed` is called when the cursor passed entries."""

    durable = True

    def __init__(self, log: TopicLog, cursor: ManagedCursor, expired: Rate, passed: Callable[[], None]) -> None:
        self.cursor = cursor
        self.name = cursor.name
        self.expired = expired
        self._log = log
        self._passed = passed

    def retry_now(self) -> None:
        """Goes on with the entries that are left."""

    async def skip(self, entries: int) -> None:
        """Acknowledges the next `entries` unacknowledged entries."""
        self.cursor.skip(entries)
        self._moved()
        await self.cursor.flush()

    async def clear_backlog(self) -> None:
        """Acknowledges everything in the topic now."""
        self.cursor.expire_to(self._log.last_confirmed)
        self._moved()
        await self.cursor.flush()

    @property
    def has_reader(self) -> bool:
        return True

    async def expire_before(self, publish_time_ms: int) -> int:
        """Acknowledges the messages published before that time, up to the first later one; returns how many."""
        if not self.cursor.backlog_entries:
            return 0
        return await self.expire_up_to(await self._log.find_by_time(publish_time_ms), inclusive=False)

    async def expire_up_to(self, position: Position, *, inclusive: bool) -> int:
        """Acknowledges everything up to the position, or before it; returns how many messages expired."""
        last = position if inclusive else Position(position.ledger_id, position.entry_id - 1)
        _, expired = self.cursor.expire_to(last)
        if expired:
            self.expired.add(expired, 0)
            self._moved()
        return expired

    def _moved(self) -> None:
        """The cursor passed entries that were perhaps not sent, or that could not be sent."""
        if self.cursor.read_position <= self.cursor.mark_delete:
            self.cursor.rewind()
        self.retry_now()
        self._passed()
