"""The owner of a backlog: a subscription or a replicator, as housekeeping, quotas, and the admin API see it.

Its cursor can be moved forward over messages that were not delivered. A replicator never sends those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from broker_core.rates.rate import Rate
from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic_log import TopicLog


class Backlogged(ABC):
    def __init__(self, log: TopicLog, cursor: ManagedCursor, clock: Clock) -> None:
        self.cursor = cursor
        self.name = cursor.name
        self.clock = clock
        self.expired = Rate(clock)
        self.last_expired_ms = 0
        self._log = log

    @property
    @abstractmethod
    def durable(self) -> bool:
        """Whether its cursor survives a restart."""

    @property
    @abstractmethod
    def has_reader(self) -> bool:
        """Whether a consumer or another cluster gets its messages now."""

    @property
    def is_frozen(self) -> bool:
        """Whether its cursor must stay where it is, because the topic goes to another cluster with it."""
        return False

    @abstractmethod
    def _moved(self) -> None:
        """The cursor moved forward over entries that are being delivered, or were about to be."""

    async def skip(self, entries: int) -> None:
        """Acknowledges the next `entries` unacknowledged entries; durable on return."""
        self.cursor.skip(entries)
        self._moved()
        await self.cursor.flush()

    async def clear_backlog(self) -> None:
        """Acknowledges everything in the topic now; durable on return."""
        self.cursor.expire_to(self._log.last_confirmed)
        self._moved()
        await self.cursor.flush()

    async def expire_before(self, publish_time_ms: int) -> int:
        """Acknowledges the messages published before that time, up to the first later one; returns how many expired.

        Acknowledged messages do not count. Otherwise, one of a producer whose clock is ahead would keep those after it.
        """
        oldest = self.cursor.oldest_unacknowledged()
        if oldest is None:
            return 0
        return await self.expire_up_to(await self._log.find_by_time(publish_time_ms, oldest), inclusive=False)

    async def expire_up_to(self, position: Position, *, inclusive: bool) -> int:
        """Acknowledges everything up to the position, or before it; returns how many messages expired.

        What no consumer can get yet, because a transaction is open, does not expire, and nothing does while this is
        frozen. It is durable after the next `cursor.flush`. Housekeeping does not wait for that, since it would expire
        the same messages again.
        """
        if self.is_frozen:
            return 0
        last = position if inclusive else Position(position.ledger_id, position.entry_id - 1)
        entries, expired = self.cursor.expire_to(min(last, self._log.visible_end))
        if entries:  # the number of messages may be an estimate
            self.expired.add(max(expired, 0), 0)
            self.last_expired_ms = self.clock.wall_ms()
            self._moved()
        return expired
