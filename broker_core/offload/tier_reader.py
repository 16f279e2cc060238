"""Reads offloaded ledgers for the storage engine: ranged reads in threads, verified, with read-ahead.

Everything kept is bounded by the configuration: parsed footers with their open files, and decoded row groups. Readers
that want the same row group share one request. A reader that goes forward finds the next row groups in memory, and
one request gets several of them: a store answers each after tens of milliseconds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from crc32c import crc32c

from broker_core.config.offload import OffloadConfig
from broker_core.offload.errors import NotConfigured, OffloadFailed, masked
from broker_core.offload.store_threads import StoreThreads
from broker_core.offload.stores import Store, StoreLimits
from broker_core.storage.errors import Damaged, Lost, Unreachable
from broker_core.storage.filenames import offloaded_copy
from broker_core.storage.records.block import Block
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.spans import Spans

if TYPE_CHECKING:
    from broker_core.offload.tier_file import Group
    from broker_core.offload.tier_footer import TierFooter

_T = TypeVar("_T")
_ENTRY_COST = 20  # bytes of columns per entry


@dataclass(slots=True, eq=False, repr=False)
class _OpenCopy:
    """An open object and its footer; closed when the last user lets it go."""

    store: Store
    file: Any
    footer: TierFooter
    span: int = -2  # the span that was read last
    goes_forward: bool = False

    def moved(self, span: int) -> None:
        if span != self.span:
            self.goes_forward = span == self.span + 1
            self.span = span

    def stretch(self, first: int, bytes_max: int) -> range:
        """The row groups from `first` on that fit, and at least one if there is one."""
        groups, stop, size = self.footer.index.groups, first, 0
        while stop < len(groups) and (stop == first or size + _cost_of(groups[stop]) <= bytes_max):
            size += _cost_of(groups[stop])
            stop += 1
        return range(first, stop)


class TierReader:
    """Used on the event loop, except where a method says that it blocks. `open_store` makes no request."""

    def __init__(
        self, config: OffloadConfig, open_store: Callable[[OffloadedCopy], Store], limits: StoreLimits
    ) -> None:
        self._config = config
        self._open_store = open_store
        self._threads = StoreThreads(config.read_threads, "offload-reader", limits.call_seconds)
        self._open: OrderedDict[str, _OpenCopy] = OrderedDict()  # by uuid
        self._blocks: OrderedDict[tuple[str, int], Block] = OrderedDict()
        self._block_bytes = 0
        self._running: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self.requests = 0  # ranged reads of row groups, read-ahead included

    @property
    def open_copies(self) -> int:
        return len(self._open)

    @property
    def cached_bytes(self) -> int:
        return self._block_bytes

    async def load_spans(self, ledger: Ledger, copy: OffloadedCopy) -> Spans:
        return (await self._opened(ledger, copy)).footer.index.spans()

    async def read(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> Block:
        block = self._blocks.get((copy.uuid, span))
        if block is None:
            block = await self._loaded(ledger, copy, span)
        else:
            self._blocks.move_to_end((copy.uuid, span))
        self._read_ahead(ledger, copy, span)
        return block

    def forget(self, copy: OffloadedCopy) -> None:
        self._open.pop(copy.uuid, None)
        for key in [key for key in self._blocks if key[0] == copy.uuid]:
            self._block_bytes -= _cost(self._blocks.pop(key))

    def close(self) -> None:
        """Blocks until running requests end, except those whose deadline is over."""
        for task in self._running.values():
            task.cancel()
        self._threads.close()
        self._open.clear()
        self._blocks.clear()

    # ---- opening

    async def _opened(self, ledger: Ledger, copy: OffloadedCopy) -> _OpenCopy:
        opened = self._open.get(copy.uuid)
        if opened is None:
            opened = await self._shared((copy.uuid, -1), lambda: self._open_copy(ledger, copy))
        if copy.uuid in self._open:
            self._open.move_to_end(copy.uuid)
        return opened

    async def _open_copy(self, ledger: Ledger, copy: OffloadedCopy) -> _OpenCopy:
        opened = await self._in_thread(lambda: self._open_blocking(ledger, copy))
        self._open[copy.uuid] = opened
        while len(self._open) > self._config.open_objects:
            self._open.popitem(last=False)
        return opened

    def _open_blocking(self, ledger: Ledger, copy: OffloadedCopy) -> _OpenCopy:
        from broker_core.offload.tier_footer import TierFooter  # most brokers never read a copy

        store = self._store(copy)
        try:
            file = store.filesystem.open_input_file(store.key(copy.path))
            size = file.size()
            if size != copy.size:
                raise _damaged(ledger, store, copy, 0, f"has {size} bytes instead of {copy.size}")
            tail = file.read_at(copy.tail, copy.size - copy.tail)
        except OSError as error:
            raise self._failure(ledger, store, copy, error) from error
        if len(tail) != copy.tail or crc32c(tail) != copy.tail_crc:
            raise _damaged(ledger, store, copy, 0, "has another footer than the one that was uploaded")
        try:
            footer = TierFooter(tail)
            footer.index.check_is_of(copy.uuid, ledger.info)
            return _OpenCopy(store, file, footer)
        except ValueError as error:
            raise _damaged(ledger, store, copy, 0, str(error)) from error

    def _store(self, copy: OffloadedCopy) -> Store:
        try:
            return self._open_store(copy)
        except NotConfigured as error:
            raise Unreachable(f"cannot read ledger {copy.ledger_id}: {error}") from error

    def _failure(self, ledger: Ledger, store: Store, copy: OffloadedCopy, error: OSError) -> Exception:
        """Whether the object is gone or altered, or the store did not answer. Blocks."""
        where = store.describe(copy.path)
        unreachable = Unreachable(f"cannot read ledger {copy.ledger_id} from {where}: {masked(error)}")
        try:
            if not store.has_root:
                return Unreachable(f"cannot read ledger {copy.ledger_id}: {store.uri} does not exist")
            info = store.filesystem.get_file_info(store.key(copy.path))
        except OSError:
            return unreachable
        if not info.is_file:
            return _damaged(ledger, store, copy, 0, "is missing")
        if info.size != copy.size:
            return _damaged(ledger, store, copy, 0, f"has {info.size} bytes instead of {copy.size}")
        return unreachable

    # ---- row groups

    async def _loaded(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> Block:
        alone = range(span, span + 1)
        blocks = await self._shared((copy.uuid, span), lambda: self._load(ledger, copy, alone))
        if span not in blocks:  # a request for several fails if one of them was altered
            blocks = await self._load(ledger, copy, alone)
        return blocks[span]

    async def _load(self, ledger: Ledger, copy: OffloadedCopy, spans: range) -> dict[int, Block]:
        """Load the groups with one request.

        Of several, those from the first altered one on are missing: its own reader asks for it alone, and gets Damaged.
        """
        opened = await self._opened(ledger, copy)
        self.requests += 1
        try:
            blocks = await self._in_thread(lambda: self._load_blocking(ledger, copy, opened, spans))
        except (Damaged, Unreachable):
            self._open.pop(copy.uuid, None)  # the next attempt opens it again
            raise
        for span, block in blocks.items():
            self._keep((copy.uuid, span), block)
        return blocks

    def _load_blocking(self, ledger: Ledger, copy: OffloadedCopy, opened: _OpenCopy, spans: range) -> dict[int, Block]:
        from broker_core.offload.tier_groups import GroupReader

        footer, store = opened.footer, opened.store
        extents = {span: footer.extent(span) for span in spans}
        start, end = extents[spans[0]][0], sum(extents[spans[-1]])
        try:
            data = memoryview(opened.file.read_at(end - start, start))
        except OSError as error:
            raise self._failure(ledger, store, copy, error) from error
        blocks: dict[int, Block] = {}
        groups = GroupReader(footer)  # requests run in several threads
        for span, (offset, length) in extents.items():
            try:
                blocks[span] = groups.block(span, offset, data[offset - start : offset - start + length])
            except ValueError as error:
                if len(spans) > 1:
                    break
                group = footer.index.groups[span]
                lost = Lost(copy.ledger_id, group.first, group.first + group.entries - 1)
                raise _damaged(ledger, store, copy, offset, f"was altered: {error}", lost) from error
        return blocks

    def _keep(self, key: tuple[str, int], block: Block) -> None:
        self._blocks[key] = block
        self._block_bytes += _cost(block)
        while self._block_bytes > self._config.read_cache_mb << 20 and len(self._blocks) > 1:
            self._block_bytes -= _cost(self._blocks.popitem(last=False)[1])

    def _read_ahead(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> None:
        opened = self._open.get(copy.uuid)
        if opened is None:
            return
        opened.moved(span)
        first = span + 1
        while self._is_known(copy, first):
            first += 1
        for stretch in self._ahead(opened, span, first):
            spans = range(stretch.start, next(filter(partial(self._is_known, copy), stretch), stretch.stop))
            if spans and len(set(self._running.values())) < self._config.read_threads:
                self._start(copy.uuid, spans, lambda spans=spans: self._load(ledger, copy, spans))  # type: ignore[misc]  # binds now

    def _is_known(self, copy: OffloadedCopy, span: int) -> bool:
        """Whether the span is in memory, or on its way."""
        return (copy.uuid, span) in self._blocks or (copy.uuid, span) in self._running

    def _ahead(self, opened: _OpenCopy, span: int, first: int) -> list[range]:
        """The ranges to request, each with one request: all from `span` to `first` is in memory, or on its way."""
        rounds = self._config.prefetch_rounds
        if not opened.goes_forward or not rounds:
            stop = min(span + 1 + rounds, len(opened.footer.index.groups))
            return [range(index, index + 1) for index in range(first, stop)]
        bytes_max = (self._config.read_cache_mb << 20) // 2
        coming = sum(map(_cost_of, opened.footer.index.groups[span + 1 : first]))
        return [opened.stretch(first, bytes_max)] if coming <= bytes_max // 4 else []

    # ---- threads

    async def _shared(self, key: tuple[str, int], work: Callable[[], Awaitable[_T]]) -> _T:
        """All callers with the same key share one request, which outlives a caller that is canceled."""
        future = self._running.get(key)
        if future is None:
            future = self._start(key[0], range(key[1], key[1] + 1), work)
        result: _T = await asyncio.shield(future)
        return result

    def _start(self, uuid: str, spans: range, work: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
        task = asyncio.ensure_future(work())
        self._running |= {(uuid, span): task for span in spans}
        task.add_done_callback(lambda task: self._ended(uuid, spans, task))
        return task

    def _ended(self, uuid: str, spans: range, task: asyncio.Future[Any]) -> None:
        for span in spans:
            del self._running[uuid, span]
        if not task.cancelled():
            task.exception()  # its callers report it; a failed read-ahead is repeated by the reader

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        try:
            return await self._threads.run(work)
        except OffloadFailed as error:
            raise Unreachable(f"cannot read an offloaded ledger: {error}") from error


def _cost(block: Block) -> int:
    return len(block.data) + _ENTRY_COST * len(block)


def _cost_of(group: Group) -> int:
    return group.size + _ENTRY_COST * group.entries


def _damaged(
    ledger: Ledger, store: Store, copy: OffloadedCopy, offset: int, problem: str, lost: Lost | None = None
) -> Damaged:
    """The damage of the whole ledger, unless `lost` says which entries."""
    lost = lost or Lost(copy.ledger_id, 0, ledger.info.entries - 1)
    reason = f"ledger {copy.ledger_id}: the object {store.describe(copy.path)} {problem}"
    return Damaged(offloaded_copy(ledger.path), offset, reason, lost)
