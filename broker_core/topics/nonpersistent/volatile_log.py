"""The log of a non-persistent topic: it holds messages from their arrival until every dispatcher has seen them.

It writes nothing and keeps nothing. Cursors are those of the storage, over one ledger of which only the number of
entries is known; their acknowledgments are not stored. The ledger's ID is the load time, so message IDs never repeat,
and clients that skip what they have received do not skip new messages.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from broker_core.clock import SystemClock
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.storage.errors import Closed, Lost
from broker_core.storage.log.cache import BlockCache
from broker_core.storage.log.cache_traffic import CacheTraffic
from broker_core.storage.log.ledger_list import LedgerList
from broker_core.storage.log.weights import Weights
from broker_core.storage.records.block import EMPTY, Block
from broker_core.storage.records.catalog import CursorInfo, LedgerInfo
from broker_core.storage.records.position import LATEST, Position

if TYPE_CHECKING:
    from broker_core.storage.records.block import EntryRun
    from broker_core.storage.records.ledger_file import Ledger
    from broker_core.topic_log import PublishDone


class VolatileLog:
    """`on_confirmed` wakes the dispatchers; `on_dealt`, called in each loop iteration, says whether they are done."""

    on_disk = None
    has_trimmed = False
    has_ended = False  # no later load has its cursors

    def __init__(self, name: str, ledger_id: int, on_dealt: Callable[[], bool]) -> None:
        self.name = name
        self.properties: dict[str, str] = {}
        self.on_confirmed: Callable[[], None] | None = None
        self.fenced_reason: str | None = None
        self.entries = self.messages = self.size = 0  # it keeps none
        self.lost: list[Lost] = []  # data that was never kept cannot be lost
        self.cursors: dict[str, ManagedCursor] = {}
        self.owner_id = 0
        self._ledger = LedgerInfo(ledger_id, ledger_id)
        self.ledgers = LedgerList({ledger_id: self._ledger})
        self.weights = Weights({}, _EMPTY_CACHE, _read_nothing)
        self._on_dealt = on_dealt
        self._passing: deque[tuple[Block, PublishDone]] = deque()
        self._loop = asyncio.get_running_loop()
        self._closed = False

    # Appending

    @property
    def last_confirmed(self) -> Position:
        return self.ledgers.last_confirmed

    @property
    def visible_end(self) -> Position:
        return self.ledgers.last_confirmed

    @property
    def first_position(self) -> Position:
        return self.next_position

    @property
    def next_position(self) -> Position:
        """The position after the last message; a new cursor starts here too, because nothing before it is left."""
        return self.ledgers.next_valid(LATEST)

    def append(self, run: EntryRun, done: PublishDone) -> Position:
        """`done` is called when every dispatcher has seen the run."""
        self._check_open()
        first = self.next_position
        block = Block(*first, run.data, run.starts, run.ends, run.counts, run.publish_times)
        self._ledger.entries += len(block)
        self._passing.append((block, done))
        if self.on_confirmed is not None:
            self.on_confirmed()
        if len(self._passing) == 1:
            self._loop.call_soon(self._deal)  # after the dispatchers' passes
        return first

    @property
    def newest(self) -> Block:
        """The block that was appended last, during `on_confirmed`."""
        return self._passing[-1][0]

    def _deal(self) -> None:
        if self._closed or not self._passing:
            return
        if self._on_dealt():
            self._pass_all()
        else:
            self._loop.call_soon(self._deal)

    def _pass_all(self) -> None:
        passing, self._passing = self._passing, deque()
        for block, done in passing:
            done(Position(block.ledger_id, block.first_entry_id), None)

    def messages_from(self, position: Position) -> int:
        """The number of passing messages from the position on."""
        skipped = [max(0, min(position.entry_id - block.first_entry_id, len(block))) for block, _ in self._passing]
        return sum(sum(block.counts[skip:]) for (block, _), skip in zip(self._passing, skipped, strict=True))

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        for block, _ in self._passing:
            first = max(0, start.entry_id - block.first_entry_id)
            if first < len(block):
                return block.slice(first, min(len(block), first + max_entries))
        return EMPTY

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        return self.read_cached(start, max_entries, max_bytes)

    async def read_all(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        return self.read_cached(start, max_entries, max_bytes)

    async def find_by_time(self, publish_time_ms: int, start: Position | None = None) -> Position:
        return self.next_position

    async def publish_time(self, position: Position) -> int | None:
        return None

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"{self.name} is closed")

    # Cursors

    async def open_cursor(
        self,
        name: str,
        *,
        initial: Position | None = None,
        durable: bool = True,
        properties: dict[str, str] | None = None,
    ) -> ManagedCursor:
        cursor = self.cursors.get(name)
        if cursor is None:
            at = self.next_position
            info = CursorInfo(0, name, Position(at.ledger_id, at.entry_id - 1), dict(properties or {}))
            cursor = self.cursors[name] = ManagedCursor(self, info, durable=durable)
        return cursor

    async def set_cursor_properties(self, name: str, properties: dict[str, str]) -> None:
        self._check_open()
        self.cursors[name].info.properties = dict(properties)

    async def delete_cursor(self, name: str) -> None:
        self.cursors.pop(name, None)

    def cursor_dirty(self, cursor: ManagedCursor) -> None:
        cursor.take_acks()  # or they would stay queued for the journal

    def cursor_write(self, cursor: ManagedCursor) -> None:
        pass

    async def cursor_flush(self, cursor: ManagedCursor) -> None:
        pass

    def cursor_inexact(self, cursor: ManagedCursor) -> None:
        pass

    async def cursor_reset(self, cursor: ManagedCursor, record: bytes, failed: Callable[[], None]) -> None:
        pass

    # Properties and closing

    async def store_properties(self, changed: Mapping[str, str]) -> None:
        self.properties = {**self.properties, **changed}

    def unfence(self) -> None:
        pass

    def ledger_infos(self) -> list[LedgerInfo]:
        return []

    async def close(self) -> None:
        """Closes the log, after an answer to the passing messages."""
        self._closed = True
        self._pass_all()
        self._on_dealt = _all_dealt  # its owner and the cursors hold this log
        self.cursors.clear()


def _all_dealt() -> bool:
    return True


def _nothing() -> None:
    """Does nothing, because there is no cache to evict from."""


async def _read_nothing(ledger: Ledger, entry_id: int) -> Block | None:
    return None


_EMPTY_CACHE = BlockCache(0, _nothing, CacheTraffic(SystemClock()))
