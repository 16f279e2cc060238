"""Applies the events that other clusters sent, in the order of the topic, from a durable cursor.

An event is acknowledged when its policies are on disk, so a crash repeats at most the last one, which changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from broker_core.change_events.policy_event import FindSchema, PolicyChange, UnreadableEvent, changes_in
from broker_core.errors import BrokerError
from broker_core.replication.backoff import Backoff
from broker_core.storage.errors import StorageError
from broker_core.storage.position import Position

if TYPE_CHECKING:
    from broker_core.storage.block import Block
    from broker_core.storage.cursor import ManagedCursor
    from broker_core.topic_context import TopicContext

log = logging.getLogger(__name__)

READ_ENTRIES = 100
READ_BYTES = 1 << 20
FLUSH_SECONDS = 5.0


class Follower:
    """`accept` stores the policies; `passed` is called when the cursor moved."""

    def __init__(
        self,
        context: TopicContext,
        cursor: ManagedCursor,
        accept: Callable[[PolicyChange], Awaitable[None]],
        schema_of: FindSchema,
        passed: Callable[[], None],
    ) -> None:
        self._context = context
        self._cursor = cursor
        self._accept = accept
        self._schema_of = schema_of
        self._passed = passed
        self._backoff = Backoff()
        self._awake = asyncio.Event()
        cursor.rewind()
        self._task = context.spawn(self._run())

    def wake(self) -> None:
        """There are new entries."""
        self._awake.set()

    async def close(self) -> None:
        """The cursor stays, with what was applied on disk."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._cursor.flush()

    async def _run(self) -> None:
        while True:
            self._awake.clear()  # before the look at what there is: what comes later wakes
            pause = None
            try:
                while await self._follow_some():
                    self._backoff.reset()
            except (BrokerError, StorageError, OSError) as error:
                log.warning("topic %s: cannot apply policies of another cluster: %s", self._context.name, error)
                self._cursor.rewind()
                pause = self._backoff.next_seconds()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._awake.wait()

    async def _follow_some(self) -> bool:
        """Applies the next entries; returns whether there were any."""
        if self._cursor.read_position > self._context.log.last_confirmed:
            return False
        block = await self._context.log.read(self._cursor.read_position, READ_ENTRIES, READ_BYTES)
        if not len(block):
            return False
        for first, stop in self._cursor.unacknowledged(block):
            for index in range(first, stop):
                await self._apply(block, index)
        self._cursor.read_position = Position(block.ledger_id, block.first_entry_id + len(block))
        self._passed()
        return True

    async def _apply(self, block: Block, index: int) -> None:
        entry_id = block.first_entry_id + index
        try:
            for change in changes_in(block.entry(index), self._schema_of):
                await self._take(change)
        except UnreadableEvent as error:
            where = f"{block.ledger_id}:{entry_id}"
            log.warning("topic %s: the event at %s is skipped: %s", self._context.name, where, error)
        self._cursor.acknowledge(block.ledger_id, [entry_id])

    async def _take(self, change: PolicyChange) -> None:
        """An event can only change topics of its own namespace: its producer needed no permission for others."""
        if change.topic.namespace != self._context.name.namespace:
            raise UnreadableEvent(f"it is about {change.topic}, which is in another namespace")
        await self._accept(change)
