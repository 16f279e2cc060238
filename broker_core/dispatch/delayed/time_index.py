"""Delayed entries in order of delivery time: the next ones in memory, the others on disk.

New rows collect in a heap. When there are enough of them, they become a bucket: sorted, written to a file, and read a
chunk at a time, ahead of use. The earliest row is the minimum of the heap's and the buckets' first rows, so taking due
rows is a merge. Chunks shrink as the number of buckets grows, so that memory does not grow with the index. While a
bucket waits for its next chunk the earliest row is unknown: no row is available then, and `on_ready` is called when one
is.

Rows are removed only by taking them. The reader has to know whether a row is still valid.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from broker_core.dispatch.delayed.bucket import ROW_SIZE, Bucket, fields_of, row_of

if TYPE_CHECKING:
    from broker_core.dispatch.delayed.bucket_files import BucketFiles
    from broker_core.tasks import Spawn

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0  # after a failed read
MOST_UNWRITTEN = 4  # buckets being written at which no more should be added
_ROWS_IN_MEMORY = 100_000  # of all buckets together; a bucket has at least
_LEAST_CHUNK_ROWS = 64
_ROW_OBJECT = ROW_SIZE + 41  # bytes of a row in the heap

Row = tuple[int, int, int]  # delivery time (ms), ledger ID, entry ID


class TimeIndex:
    def __init__(
        self,
        files: BucketFiles,
        spawn: Spawn,
        *,
        bucket_rows: int,
        chunk_rows: int,
        on_ready: Callable[[], None],
    ) -> None:
        self._files = files
        self._spawn = spawn
        self._bucket_rows = bucket_rows
        self._chunk_rows = chunk_rows
        self._on_ready = on_ready
        self._fresh: list[bytes] = []  # heap
        self._heads: list[tuple[bytes, int, Bucket]] = []  # heap of the buckets whose next row is in memory
        self._buckets: dict[int, Bucket] = {}
        self._numbered = 0
        self._unwritten = 0
        self._out: set[int] = set()  # buckets that wait for their next chunk

    def add(self, rows: Iterable[Row]) -> None:
        fresh, push = self._fresh, heapq.heappush
        for row in rows:
            push(fresh, row_of(*row))
        if len(fresh) >= self._bucket_rows:
            self._seal()

    def earliest(self) -> int | None:
        """The delivery time of the first available row."""
        row = self._first()
        return None if row is None else fields_of(row)[0]

    def take(self, before_ms: int) -> Row | None:
        """The first available row, if its delivery time is not after the given one."""
        row = self._first()
        if row is None:
            return None
        first: Row = fields_of(row)
        if first[0] > before_ms:
            return None
        if self._fresh and row is self._fresh[0]:
            heapq.heappop(self._fresh)
        else:
            self._advance()
        return first

    @property
    def is_behind(self) -> bool:
        """Whether rows arrive faster than the disk takes them."""
        return self._unwritten >= MOST_UNWRITTEN

    @property
    def memory(self) -> int:
        """Bytes."""
        return _ROW_OBJECT * len(self._fresh) + sum(bucket.memory for bucket in self._buckets.values())

    def clear(self) -> None:
        for bucket in self._buckets.values():
            if bucket.path is not None:
                self._files.remove(bucket.path)
        self._buckets.clear()
        self._heads.clear()
        self._fresh.clear()
        self._out.clear()

    # Order

    def _first(self) -> bytes | None:
        if self._out:
            return None
        if not self._heads:
            return self._fresh[0] if self._fresh else None
        head = self._heads[0][0]
        return self._fresh[0] if self._fresh and self._fresh[0] < head else head

    def _advance(self) -> None:
        """Moves past the least of the buckets' heads."""
        _, number, bucket = self._heads[0]
        bucket.advance()
        if bucket.head:
            heapq.heapreplace(self._heads, (bucket.head, number, bucket))
        else:
            heapq.heappop(self._heads)
        if bucket.is_over:
            del self._buckets[number]
            if bucket.path is not None:
                self._files.remove(bucket.path)
        else:
            if not bucket.head:
                self._out.add(number)
            self._read_ahead(number, bucket)

    # Disk

    @property
    def _chunk(self) -> int:
        """Bytes per read of a bucket."""
        share = _ROWS_IN_MEMORY // max(1, len(self._buckets))
        return ROW_SIZE * min(self._chunk_rows, max(share, _LEAST_CHUNK_ROWS))

    def _seal(self) -> None:
        """Turns the heap into a bucket."""
        self._numbered += 1
        bucket = Bucket(b"".join(sorted(self._fresh)))
        self._fresh.clear()
        self._buckets[self._numbered] = bucket
        heapq.heappush(self._heads, (bucket.head, self._numbered, bucket))
        self._unwritten += 1
        self._spawn(self._write(self._numbered, bucket))

    async def _write(self, number: int, bucket: Bucket) -> None:
        path = None
        try:
            if number in self._buckets:
                path = await self._files.write(bucket.all_rows)
        except OSError as error:
            log.warning("delayed messages stay in memory: cannot write their index: %s", error)
        finally:
            self._unwritten -= 1
            self._on_ready()
        if path is None:
            return
        if number in self._buckets:
            bucket.written(path, self._chunk)
            self._read_ahead(number, bucket)
        else:  # taken completely, or cleared, in the meantime
            self._files.remove(path)

    def _read_ahead(self, number: int, bucket: Bucket) -> None:
        place = bucket.to_read(self._chunk)
        if place is not None:
            bucket.reading = True
            self._spawn(self._read(number, bucket, *place))

    async def _read(self, number: int, bucket: Bucket, offset: int, size: int) -> None:
        assert bucket.path is not None
        data = None
        while data is None and number in self._buckets:
            try:
                data = await self._files.read(bucket.path, offset, size)
            except OSError as error:
                if number in self._buckets:  # else it was cleared, and its file is gone
                    log.warning("cannot read the index of delayed messages: %s", error)
                    await asyncio.sleep(RETRY_SECONDS)
        if data is None or number not in self._buckets:
            return
        bucket.reading = False
        bucket.was_read(data)
        if number in self._out:
            self._out.remove(number)
            heapq.heappush(self._heads, (bucket.head, number, bucket))
            self._on_ready()
