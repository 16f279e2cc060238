"""Cold reads: whole spans out of ledger files, in a reader thread, or of copies in tiered storage, into the cache.

A ledger changes between the two (`Ledger.source`) at any moment. Each has its own index, so a read that ends with
another `Ledger.spans` than it began with starts again, and a failure of the source that it left counts for nothing:
a restored ledger's copy is removed, an offloaded ledger's file is deleted, and a trimmed ledger loses both.

Everything that is not in the tail cache is in a file (see `cache`), so a read never waits for a write.
Indexes of ledgers are loaded on demand and kept within a budget, least recently used first to go.
"""

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from broker_core.storage.disk import Disk
from broker_core.storage.errors import Damaged, StorageError, Unreachable
from broker_core.storage.log.cache import BlockCache, limited
from broker_core.storage.log.copy_reader import CopyReader
from broker_core.storage.log.ledger_reading import Stretch, load_spans
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.records.block import Block
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.spans import Spans

_T = TypeVar("_T")
AHEAD_BYTES = 1 << 20  # read at once for a reader that goes forward: each read is a hand-over to a thread


class Reader:
    def __init__(
        self,
        disk: Disk,
        files: OpenFiles,
        executor: Executor,
        cache: BlockCache,
        index_bytes: int,
        report: Callable[[Ledger, list[Damaged]], None],
        copies: CopyReader,
    ) -> None:
        self._disk = disk
        self._files = files
        self._executor = executor
        self._cache = cache
        self._index_limit = index_bytes
        self._report = report
        self.copies = copies
        self._index_bytes = 0
        self._indexed: OrderedDict[int, Ledger] = OrderedDict()  # loaded from files, by ledger id

    async def read(self, ledger: Ledger, entry_id: int, max_entries: int, max_bytes: int) -> Block | None:
        """Entries from `entry_id` on; None when the ledger is gone. Raises Damaged."""
        spans = await self.spans(ledger)
        if spans is None:
            return None
        first_span = spans.find(entry_id)
        stop_span = spans.until(first_span, self._ahead(ledger, entry_id, max_bytes))
        if max_entries < 1000:
            stop_span = first_span + 1
        block = await self._read_spans(ledger, spans, first_span, stop_span, entry_id)
        if block is None and ledger.spans is not spans:
            return await self.read(ledger, entry_id, max_entries, max_bytes)
        if block is None:
            return None
        if entry_id > block.last_entry_id:
            return await self.read(ledger, entry_id, max_entries, max_bytes)
        part = limited(block, entry_id - block.first_entry_id, max_entries, max_bytes)
        return _apart(part)  # it may wait long for its consumer, and must not keep what was read ahead

    def _ahead(self, ledger: Ledger, entry_id: int, max_bytes: int) -> int:
        """The bytes to read: more than was asked for if the entry before was read and is still cached."""
        if not entry_id or self._cache.around(ledger, entry_id - 1) is None:
            return max_bytes
        return max(max_bytes, min(AHEAD_BYTES, self._cache.cold_share))

    async def read_span(self, ledger: Ledger, entry_id: int) -> Block | None:
        """The span around an entry, or the sound part of it, which then is in the cache. Raises Damaged."""
        spans = await self.spans(ledger)
        if spans is None:
            return None
        span = spans.find(entry_id)
        block = await self._read_spans(ledger, spans, span, span + 1, entry_id)
        if block is None and ledger.spans is not spans:
            return await self.read_span(ledger, entry_id)
        return block

    async def read_records(self, ledger: Ledger, first: int, stop: int) -> bytes:
        """The records of the spans around entries [first, stop) in the ledger's file; empty if it is gone."""
        spans = await self.spans(ledger)
        if spans is None:
            return b""
        begin, last = spans.offset[spans.find(first)], spans.find(stop - 1) + 1
        end = min(spans.offset[last], ledger.flushed_end) if last < len(spans) else ledger.flushed_end

        def work() -> bytes:
            with self._files.use(ledger.path) as fd:
                return self._disk.pread(fd, end - begin, begin)

        return await self._run(work) or b""

    async def find_by_time(self, ledger: Ledger, publish_time_ms: int, start: int = 0) -> int | None:
        """The first entry of the ledger, from `start` on, that was published at or after the time.

        Entries that cannot be read are left out.
        """
        spans = await self.spans(ledger)
        span = spans.at_time(publish_time_ms) if spans is not None else 0
        if spans is None or span >= len(spans):
            return None
        entry_id = max(spans.first[span], start)
        while entry_id < ledger.info.entries:
            try:
                block = self._cache.around(ledger, entry_id) or await self.read_span(ledger, entry_id)
            except Damaged as damage:
                if damage.lost is None:
                    raise
                entry_id = damage.lost.last + 1
                continue
            if block is None:
                return None
            for index, time in enumerate(block.publish_times):
                if time >= publish_time_ms and block.first_entry_id + index >= entry_id:
                    return block.first_entry_id + index
            entry_id = block.last_entry_id + 1
        return None

    def forget(self, ledger: Ledger) -> None:
        if self._indexed.pop(ledger.info.id, None) and ledger.spans is not None:
            self._index_bytes -= ledger.spans.memory
            ledger.spans = None

    async def _read_spans(self, ledger: Ledger, spans: Spans, start: int, stop: int, entry_id: int) -> Block | None:
        """The entries around `entry_id` in spans [start, stop), or some of them."""
        source, moves = ledger.source, ledger.moves
        try:
            if source is None:
                block = await self._read_file(ledger, spans, start, stop, entry_id)
            else:
                block = await self.copies.read(ledger, source, spans.find(entry_id))
        except (Damaged, Unreachable) as error:
            if ledger.removed or ledger.moves != moves:
                return None  # it has no index any more, or another one
            self._report_damage(ledger, error)
            raise
        if block is not None:
            self._cache.add_cold(block)
        return block

    async def _read_file(self, ledger: Ledger, spans: Spans, start: int, stop: int, entry_id: int) -> Block | None:
        """Reads only entries that are in the file."""
        begin, entries = spans.offset[start], ledger.flushed_entries
        end = spans.offset[stop] if stop < len(spans) else ledger.flushed_end
        next_entry = spans.first[stop] if stop < len(spans) else entries
        end, next_entry = min(end, ledger.flushed_end), min(next_entry, entries)
        stretch = Stretch(ledger.path, ledger.info.id, spans.first[start], next_entry, entries, begin, end)

        def work() -> Block:
            with self._files.use(ledger.path) as fd:
                return stretch.read(self._disk, fd, entry_id)

        return await self._run(work)

    async def spans(self, ledger: Ledger) -> Spans | None:
        """The index of a ledger; None when the ledger is gone. Raises Damaged."""
        ledger_id = ledger.info.id
        if ledger.spans is not None:
            if ledger_id in self._indexed:
                self._indexed.move_to_end(ledger_id)
            return ledger.spans

        source, moves = ledger.source, ledger.moves
        spans = await (self._spans_of_file(ledger) if source is None else self._spans_of_copy(ledger, source))
        if ledger.removed:
            return None
        if ledger.moves != moves:
            return await self.spans(ledger)
        if spans is not None and ledger.spans is None:
            ledger.spans = spans
            self.indexed(ledger)
        return ledger.spans

    async def _spans_of_file(self, ledger: Ledger) -> Spans | None:
        def work() -> tuple[Spans, list[Damaged]]:
            with self._files.use(ledger.path) as fd:
                return load_spans(self._disk, fd, ledger.path, ledger.info)

        loaded = await self._run(work)
        if loaded is None:
            return None
        self._report(ledger, loaded[1])
        return loaded[0]

    async def _spans_of_copy(self, ledger: Ledger, copy: OffloadedCopy) -> Spans | None:
        moves = ledger.moves
        try:
            return await self.copies.load_spans(ledger, copy)
        except (Damaged, Unreachable) as error:
            if ledger.removed or ledger.moves != moves:
                return None
            self._report_damage(ledger, error)
            raise

    def _report_damage(self, ledger: Ledger, error: StorageError) -> None:
        if isinstance(error, Damaged):
            self._report(ledger, [error])

    def moved(self, ledger: Ledger) -> None:
        """The ledger is read from its copy, or from its file again, which has another index."""
        ledger.moves += 1
        self.forget(ledger)
        ledger.spans = None

    def indexed(self, ledger: Ledger) -> None:
        """The ledger's index can be read from its file from now on: it counts against the budget."""
        if ledger.spans is None or ledger.info.id in self._indexed:
            return
        self._indexed[ledger.info.id] = ledger
        self._index_bytes += ledger.spans.memory
        while self._index_bytes > self._index_limit and len(self._indexed) > 1:
            self.forget(next(iter(self._indexed.values())))

    async def _run(self, work: Callable[[], _T]) -> _T | None:
        """In a reader thread; None when the file is gone, because the ledger was deleted."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except FileNotFoundError:
            return None


def _apart(block: Block) -> Block:
    """Copies a small part of what was read, so that the large buffer can be freed."""
    base, stop = block.starts[0], block.ends[-1]
    if 2 * (stop - base) >= len(block.data):
        return block
    starts, ends = (array("I", [at - base for at in column]) for column in (block.starts, block.ends))
    columns = (block.counts, block.publish_times, block.delivery_times)
    return Block(block.ledger_id, block.first_entry_id, block.data[base:stop], starts, ends, *columns)
