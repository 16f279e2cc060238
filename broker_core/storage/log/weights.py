"""How many messages and bytes the acknowledged entries of a ledger hold.

Spans that are acknowledged wholly, or not at all, are known from the index. Only for spans in between do the tables of
their entries matter: from cached blocks at once, or, in `measure`, read from the file one span after the other. Without
them `weigh` answers with the span's average (`exact` False).
"""

import contextlib
from array import array
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import compress

from broker_core.storage.errors import Damaged
from broker_core.storage.log.cache import BlockCache
from broker_core.storage.records.ack_ranges import AckWindow
from broker_core.storage.records.block import Block
from broker_core.storage.records.catalog import LedgerInfo
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.spans import Spans

Columns = tuple[Sequence[int], Sequence[int]]  # messages and bytes of each entry


class Acknowledged:
    """The acknowledged entries of one ledger: all below `start`, and those of the window."""

    def __init__(self, start: int, window: AckWindow | None) -> None:
        self._start = start
        self._window = window

    def copy(self) -> "Acknowledged":
        return Acknowledged(self._start, self._window.copy() if self._window is not None else None)

    @property
    def stop(self) -> int:
        """No entry from here on is acknowledged."""
        window = self._window
        return self._start if window is None else max(self._start, window.base + len(window.bits))

    def flags(self, first: int, stop: int) -> bytes:
        """One byte per entry of [first, stop): 1 = acknowledged."""
        below = min(max(0, self._start - first), stop - first)
        flags = b"\x01" * below
        if self._window is not None:
            flags += self._window.acked_flags(first + below, stop)
        return flags.ljust(stop - first, b"\0")

    def count(self) -> int:
        return self._start + (self._window.acked_from(self._start) if self._window is not None else 0)


class Weights:
    def __init__(
        self,
        ledgers: dict[int, Ledger],
        cache: BlockCache,
        read_span: Callable[[Ledger, int], Awaitable[Block | None]],
    ) -> None:
        self._ledgers = ledgers
        self._cache = cache
        self._read_span = read_span

    def weigh(self, ledger_id: int, acked: Acknowledged) -> tuple[int, int, bool]:
        """Messages and bytes of the acknowledged entries, and whether that is exact."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            return 0, 0, True
        info, count = ledger.info, acked.count()
        if not count:
            return 0, 0, True
        if count >= info.entries:
            return info.messages, info.size, True
        spans = ledger.spans
        if spans is None:
            share = count / info.entries
            return round(info.messages * share), round(info.size * share), False
        messages = size = 0
        exact = True
        for span, first, flags in _partial_spans(spans, info, acked):
            span_messages, span_size = _totals(spans, info, span)
            if 0 in flags:
                columns = self._columns(ledger, first, first + len(flags))
                if columns is None:
                    exact = False
                    share = flags.count(1) / len(flags)
                    span_messages, span_size = round(span_messages * share), round(span_size * share)
                else:
                    span_messages, span_size = _selected(columns, flags)
            messages += span_messages
            size += span_size
        return messages, size, exact

    async def measure(self, ledger_id: int, acked: Acknowledged) -> tuple[int, int]:
        """Like `weigh`, but exact if the entries can be read: it reads what is not in memory."""
        ledger = self._ledgers.get(ledger_id)
        messages, size, exact = self.weigh(ledger_id, acked)
        if exact or ledger is None:
            return messages, size
        if ledger.spans is None:
            with contextlib.suppress(Damaged):  # the index is loaded all the same
                await self._read_span(ledger, 0)
        spans = ledger.spans  # the ledger may lose them during the reads below
        if spans is None:
            return messages, size  # deleted in the meantime
        messages = size = 0
        for span, first, flags in list(_partial_spans(spans, ledger.info, acked)):
            span_messages, span_size = _totals(spans, ledger.info, span)
            if 0 in flags:
                columns = await self._read_columns(ledger, first, first + len(flags))
                share = flags.count(1) / len(flags)
                span_messages, span_size = (
                    _selected(columns, flags) if columns else (round(span_messages * share), round(span_size * share))
                )
            messages += span_messages
            size += span_size
        return messages, size

    def messages_of(self, ledger_id: int, entry_id: int) -> int:
        """Messages in an entry; 0 if it is not in memory."""
        ledger = self._ledgers.get(ledger_id)
        block = self._cache.around(ledger, entry_id) if ledger is not None else None
        return block.counts[entry_id - block.first_entry_id] if block is not None else 0

    async def read_messages_of(self, ledger_id: int, entry_id: int) -> int:
        """The same, read from disk if need be; 0 when the entry does not exist. Raises Damaged."""
        ledger = self._ledgers.get(ledger_id)
        if ledger is None or not 0 <= entry_id < ledger.info.entries:
            return 0
        block = self._cache.around(ledger, entry_id) or await self._read_span(ledger, entry_id)
        return block.counts[entry_id - block.first_entry_id] if block is not None else 0

    async def _read_columns(self, ledger: Ledger, first: int, stop: int) -> Columns | None:
        """None when the ledger was deleted in the meantime, or some of the entries are lost."""
        while (columns := self._columns(ledger, first, stop)) is None:
            missing = first
            while (block := self._cache.around(ledger, missing)) is not None:
                missing = block.first_entry_id + len(block)
            try:
                if await self._read_span(ledger, missing) is None:
                    return None
            except Damaged:
                return None
        return columns

    def _columns(self, ledger: Ledger, first: int, stop: int) -> Columns | None:
        """Messages and bytes of the entries [first, stop); None when not all are cached."""
        counts: array[int] = array("I")
        sizes: array[int] = array("Q")
        while first < stop:
            block = self._cache.around(ledger, first)
            if block is None:
                return None
            a = first - block.first_entry_id
            b = min(len(block), stop - block.first_entry_id)
            counts.extend(block.counts[a:b])
            sizes.extend([end - start for start, end in zip(block.starts[a:b], block.ends[a:b], strict=True)])
            first = block.first_entry_id + b
        return counts, sizes


def _partial_spans(spans: Spans, info: LedgerInfo, acked: Acknowledged) -> Iterator[tuple[int, int, bytes]]:
    """(span, first entry, flags) of the spans in which something is acknowledged."""
    for span in range(len(spans)):
        first = spans.first[span]
        if first >= acked.stop:
            return
        stop = spans.first[span + 1] if span + 1 < len(spans) else info.entries
        flags = acked.flags(first, stop)
        if 1 in flags:
            yield span, first, flags


def _totals(spans: Spans, info: LedgerInfo, span: int) -> tuple[int, int]:
    if span + 1 < len(spans):
        messages, size = spans.messages_before[span + 1], spans.bytes_before[span + 1]
    else:
        messages, size = info.messages, info.size
    return messages - spans.messages_before[span], size - spans.bytes_before[span]


def _selected(columns: Columns, flags: bytes) -> tuple[int, int]:
    return sum(compress(columns[0], flags)), sum(compress(columns[1], flags))
