"""Reads for a dispatcher: new entries at the cursor's read position, and earlier ones to send again.

Reads come from memory where they can. One that needs the disk runs in the background, one at a time, and its block
is used on the dispatcher's next wake.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.dispatch.context import DispatchContext
    from broker_core.dispatch.redelivery import Run
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.storage.records.block import Block

log = logging.getLogger(__name__)

_new = tuple.__new__  # makes a Position in a third of the time that its own constructor takes
READ_RETRY_SECONDS = 5.0  # after a read that failed


class Source(Protocol):
    """The log that a dispatcher reads: the managed ledger, or the compacted view of it."""

    @property
    def visible_end(self) -> Position:
        """The last position that may be read."""

    @property
    def has_trimmed(self) -> bool:
        """Whether it has entries that the log no longer has."""

    def read_cached(self, start: Position, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from memory, or None."""

    async def read(self, start: Position, max_entries: int, max_bytes: int) -> Block:
        """Entries from memory or disk; skips those that no longer exist; empty at the end."""


class EntryReader:
    def __init__(
        self, cursor: ManagedCursor, source: Source, context: DispatchContext, wake: Callable[[], None]
    ) -> None:
        self.failure = ""  # why the last read from disk failed
        self._cursor = cursor
        self._source = source
        self._context = context
        self._config = context.config
        self._wake = wake
        self._task: asyncio.Task[None] | None = None
        self._ahead: Block | None = None
        self._replay: tuple[Position, Block] | None = None  # asked for, and read from disk to be sent again
        self._retry = asyncio.Event()
        self._epoch = 0  # raised when the read position jumps: a read that began before is thrown away

    def new_block(self, max_entries: int) -> Block | None:
        """Entries at the read position; None when there are none, or while they are read from disk."""
        if self._ahead is not None:
            return self._ahead
        start = self._cursor.read_position
        if self._task is not None or start > self._source.visible_end:
            return None
        max_entries = min(max_entries, self._config.read_batch_entries)
        block = self._source.read_cached(start, max_entries, self._config.read_batch_bytes)
        if block is None:
            self._fetch(start, self._config.read_batch_entries, self._found_ahead)
        elif not len(block):
            return None  # everything between the read position and the end was trimmed
        return block

    def _found_ahead(self, block: Block) -> None:
        if len(block):
            self._ahead = block
            self._wake()

    def passed(self, block: Block, count: int) -> bool:
        """The dispatcher is done with the first `count` entries of a new block; the next step gets the others.

        Returns whether there is a next step: False at the last entry, where a step would find nothing.
        """
        position: Position = _new(Position, (block.ledger_id, block.first_entry_id + count))
        self._cursor.read_position = position
        if self._ahead is block:
            self._ahead = block.slice(count, len(block)) if count < len(block) else None
        return self._ahead is not None or position <= self._source.visible_end

    def again(self, run: Run, discard: Callable[[int, int, int], None]) -> Block | None:
        """Entries from the start of the run, none after its end; None while they are read from disk.

        Entries that are gone, trimmed or lost, go to `discard` (ledger, first entry, number), and a wake follows.
        """
        start = Position(run.ledger_id, run.first)
        block = self._replay_block(start, run.length)
        if block is None:
            return None
        gone = missing(run, block)
        if not gone:
            return block if len(block) <= run.length else block.slice(0, run.length)
        discard(run.ledger_id, run.first, gone)
        self._wake()
        return None

    def _replay_block(self, start: Position, length: int) -> Block | None:
        if self._replay is not None:
            (asked, block), self._replay = self._replay, None
            if asked == start:
                return block  # else something earlier was given back in the meantime
        if self._task is not None:
            return None
        cached = self._source.read_cached(start, length, self._config.read_batch_bytes)
        if cached is None:
            self._fetch(start, length, partial(self._found_replay, start))
        return cached

    def _found_replay(self, start: Position, block: Block) -> None:
        self._replay = start, block
        self._wake()

    def jump(self) -> None:
        """Forgets what was read ahead, because the cursor's read position was moved (rewind, seek)."""
        self._epoch += 1
        self._ahead = None

    def forget_replay(self) -> None:
        self._replay = None

    def rewind(self) -> None:
        """Goes back to the first entry that is not acknowledged."""
        self._cursor.rewind(also_trimmed=self._source.has_trimmed)
        self.jump()

    def close(self) -> None:
        self._ahead = self._replay = None
        self._wake = _not_at_all  # so that the dispatcher's memory does not wait for the garbage collector
        if self._task is not None:
            self._task.cancel()

    def _fetch(self, start: Position, max_entries: int, use: Callable[[Block], None]) -> None:
        """Reads in the background; `use` gets the block, unless the read position jumps in the meantime."""
        self._task = self._context.spawn(self._read(start, max_entries, use, self._epoch))

    async def _read(self, start: Position, max_entries: int, use: Callable[[Block], None], epoch: int) -> None:
        block = None
        try:
            block = await self._source.read(start, max_entries, self._config.read_batch_bytes)
            self.failure = ""
        except Exception as error:  # also an unexpected one: else the messages wait for the next event
            self._failed(start, error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._retry.wait(), READ_RETRY_SECONDS)
        finally:
            self._task = None
        if block is not None and epoch == self._epoch:
            use(block)
        else:
            self._wake()

    def retry(self) -> None:
        """Retries a failed read: the entries may be readable now, or may be skipped."""
        self._retry.set()

    def _failed(self, start: Position, error: Exception) -> None:
        """Logs a failure once; the read is retried until it works, the loss is accepted, or the cursor moves.

        The cause of an error may quote a store, so only the log has it: stats go to tenants. The same applies to the
        text of an unexpected one.
        """
        self._retry.clear()
        expected = isinstance(error, StorageError | OSError)
        failure = f"cannot read at {start}: {error if expected else type(error).__name__}"
        if failure != self.failure:
            self.failure = failure
            cause = "" if error.__cause__ is None else f" ({error.__cause__})"
            log.warning(
                "subscription %s of %s: %s%s",
                self._cursor.name,
                self._context.topic,
                failure,
                cause,
                exc_info=None if expected else error,
            )


def _not_at_all() -> None:
    """Wakes nothing, because the dispatcher is closed."""


def missing(run: Run, block: Block) -> int:
    """How many entries of the run are missing before what a read found at its start."""
    if not len(block) or block.ledger_id != run.ledger_id:
        return run.length
    return min(run.length, block.first_entry_id - run.first)
