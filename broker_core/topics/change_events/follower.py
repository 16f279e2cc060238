"""Applies the events that other clusters sent, in the order of the topic, from a durable cursor.

The policies of an event and its acknowledgment reach the disk before any other change of policies: if a crash repeated
an event, it would undo the changes that were made here since.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError
from broker_core.rates.backoff import Backoff
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.metadata.policies.policy_set import PolicySet
    from broker_core.names import TopicName
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block
    from broker_core.topic_context import TopicContext
    from broker_core.topics.change_events.event_reader import EventReader

log = logging.getLogger(__name__)

READ_ENTRIES = 100
READ_BYTES = 1 << 20
CLOSE_SECONDS = 5.0

Accept = Callable[[Mapping["TopicName", "PolicySet"], Callable[[], Awaitable[None]]], Awaitable[None]]


class Follower:
    """`accept` stores policies, then awaits its argument before any other change; `passed`: the cursor moved."""

    def __init__(
        self,
        context: TopicContext,
        cursor: ManagedCursor,
        reader: EventReader,
        accept: Accept,
        passed: Callable[[], None],
    ) -> None:
        self._context = context
        self._cursor = cursor
        self._reader = reader
        self._accept = accept
        self._passed = passed
        self._backoff = Backoff()
        self._awake = asyncio.Event()
        self._closing = False
        cursor.rewind()
        self._task = context.spawn(self._run())

    def wake(self) -> None:
        """There are new entries."""
        self._awake.set()

    async def close(self) -> None:
        """Stops after the event that is being applied; the cursor keeps its place."""
        self._closing = True
        self._awake.set()
        await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._cursor.flush()

    async def _run(self) -> None:
        while not self._closing:
            self._awake.clear()  # before the check for entries: later ones wake
            pause = await self._follow_all()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._awake.wait()

    async def _follow_all(self) -> float | None:
        """Applies all entries. Returns the seconds until the next attempt if something goes wrong."""
        try:
            while await self._follow_some():
                self._backoff.reset()
        except (BrokerError, StorageError, OSError) as error:
            log.warning("topic %s: cannot apply policies of another cluster: %s", self._context.name, error)
        except Exception:  # a follower must not stop for good because of one event
            log.exception("topic %s: cannot apply policies of another cluster", self._context.name)
        else:
            return None
        self._cursor.rewind()
        return self._backoff.next_seconds()

    async def _follow_some(self) -> bool:
        """Applies the next entries; returns whether there were any."""
        if self._closing or self._cursor.read_position > self._context.log.last_confirmed:
            return False
        block = await self._context.log.read(self._cursor.read_position, READ_ENTRIES, READ_BYTES)
        if not len(block):
            return False
        for first, stop in self._cursor.unacknowledged(block):
            for index in range(first, stop):
                if self._closing:
                    return False
                await self._apply(block, index)
        self._cursor.read_position = Position(block.ledger_id, block.first_entry_id + len(block))
        self._passed()
        return True

    async def _apply(self, block: Block, index: int) -> None:
        position = Position(block.ledger_id, block.first_entry_id + index)
        holds_message = block.counts[index] != 0  # else it is a marker, or of an aborted transaction
        changes = self._reader.changes(block.entry(index), partial(self._report, position)) if holds_message else []
        if changes:
            await self._accept(
                {change.topic: change.policies for change in changes}, partial(self._acknowledge, position)
            )
        else:
            self._cursor.acknowledge(position.ledger_id, [position.entry_id])
            await asyncio.sleep(0)  # to read an event can take milliseconds, and nothing else here waits

    async def _acknowledge(self, position: Position) -> None:
        """Acknowledges an event; durable on return."""
        self._cursor.acknowledge(position.ledger_id, [position.entry_id])
        await self._cursor.flush()

    def _report(self, position: Position, reason: str) -> None:
        where = f"{position.ledger_id}:{position.entry_id}"
        log.warning("topic %s: skipped the event at %s, or a part of it: %.500s", self._context.name, where, reason)
