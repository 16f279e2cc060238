"""Held back entries in order of time: what comes next in memory, the rest on disk.

New rows gather in a heap. When there are enough of them they become a bucket: sorted, written to a file, and from
then on read a chunk at a time, ahead of need. The earliest row is the least of the heap's and the buckets' first
ones, so taking what is due is a merge. Chunks shrink as buckets grow in number, so that memory does not grow with
the index. While a bucket waits for its next chunk nobody knows what comes first: nothing is at hand then, and
`on_ready` is called when something is.

Rows are never removed but by being taken: whether a row still means anything its reader has to know.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from broker_core.delayed.bucket import ROW_SIZE, Bucket, fields_of, row_of

if TYPE_CHECKING:
    from broker_core.delayed.bucket_files import BucketFiles
    from broker_core.tasks import Spawn

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0  # after a read that failed
MOST_UNWRITTEN = 4  # buckets on their way to the disk at which nothing more should be added
_ROWS_IN_MEMORY = 100_000  # of all buckets together; a bucket has at least
_LEAST_CHUNK_ROWS = 64
_ROW_OBJECT = ROW_SIZE + 41  # bytes of a row in the heap

Row = tuple[int, int, int]  # delivery time (ms), ledger id, entry id


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
        """The delivery time of the first row at hand."""
        row = self._first()
        return None if row is None else fields_of(row)[0]

    def take(self, before_ms: int) -> Row | None:
        """The first row at hand, if its delivery time is not after the given one."""
        row = self._first()
        if row is None:
            return None
        found: Row = fields_of(row)
        if found[0] > before_ms:
            return None
        if self._fresh and row is self._fresh[0]:
            heapq.heappop(self._fresh)
        else:
            self._advance()
        return found

    @property
    def is_behind(self) -> bool:
        """Rows come faster than the disk takes them."""
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

    # ---- in order

    def _first(self) -> bytes | None:
        if self._out:
            return None
        if not self._heads:
            return self._fresh[0] if self._fresh else None
        head = self._heads[0][0]
        return self._fresh[0] if self._fresh and self._fresh[0] < head else head

    def _advance(self) -> None:
        """Past the least of the buckets' heads."""
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

    # ---- on disk

    @property
    def _chunk(self) -> int:
        """Bytes that a bucket reads at a time."""
        share = _ROWS_IN_MEMORY // max(1, len(self._buckets))
        return ROW_SIZE * min(self._chunk_rows, max(share, _LEAST_CHUNK_ROWS))

    def _seal(self) -> None:
        """The heap becomes a bucket."""
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
            log.warning("delayed messages stay in memory, since their index cannot be written: %s", error)
        finally:
            self._unwritten -= 1
            self._on_ready()
        if path is None:
            return
        if number in self._buckets:
            bucket.written(path, self._chunk)
            self._read_ahead(number, bucket)
        else:  # taken whole, or cleared, meanwhile
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
                    log.warning("the index of delayed messages cannot be read: %s", error)
                    await asyncio.sleep(RETRY_SECONDS)
        if data is None or number not in self._buckets:
            return
        bucket.reading = False
        bucket.was_read(data)
        if number in self._out:
            self._out.remove(number)
            heapq.heappush(self._heads, (bucket.head, number, bucket))
            self._on_ready()
