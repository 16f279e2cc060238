"""A ledger file written again from the ledger's copy in tiered storage.

Its records are cut where the copy's row groups are, so its length differs from that of the first file. The file gets
its name when it is complete and synced; what a crash leaves has another name, and the next restore replaces it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from broker_core.storage import ledger_file
from broker_core.storage.block import Block, encode_run
from broker_core.storage.copy_reader import CopyReader
from broker_core.storage.disk import Disk
from broker_core.storage.ledger_file import Ledger
from broker_core.storage.offloaded import OffloadedCopy
from broker_core.storage.spans import Spans

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class RestoredFile:
    def __init__(self, disk: Disk, ledger: Ledger) -> None:
        self._disk = disk
        self._ledger = ledger
        self._path = ledger.path.with_suffix(".ledger.new")
        self._info = replace(ledger.info, end=ledger_file.DATA_START)
        self._spans = Spans()
        self._messages = self._size = self._newest = 0

    async def write(self, copies: CopyReader, copy: OffloadedCopy, in_thread: InThread) -> int:
        """Returns the end of the records. Raises Damaged, Unreachable, OSError."""
        source = await copies.load_spans(self._ledger, copy)
        fd = await in_thread(self._begin)
        try:
            for span in range(len(source)):
                block = await copies.read(self._ledger, copy, span)
                await in_thread(partial(self._append, fd, block))
            await in_thread(partial(self._seal, fd))
        finally:
            await in_thread(partial(self._disk.close, fd))
        await in_thread(self._name)
        return self._info.end

    def _begin(self) -> int:
        self._disk.make_directory(self._path.parent)
        self._disk.remove(self._path)
        fd = self._disk.open(self._path, create=True)
        self._disk.pwrite(fd, ledger_file.file_header(self._info.id, self._info.created_ms), 0)
        return fd

    def _append(self, fd: int, block: Block) -> None:
        head, blob, _ = encode_run(block, self._info.id, block.first_entry_id)
        self._newest = max(self._newest, *block.publish_times)
        self._spans.add(block.first_entry_id, self._info.end, self._messages, self._size, self._newest)
        self._disk.pwrite(fd, head + bytes(blob), self._info.end)
        self._info.end += len(head) + len(blob)
        self._messages += sum(block.counts)
        self._size += block.size

    def _seal(self, fd: int) -> None:
        self._disk.pwrite(fd, ledger_file.footer(self._info, self._spans), self._info.end)
        self._disk.sync(fd)

    def _name(self) -> None:
        self._disk.rename(self._path, self._ledger.path)
        self._disk.sync_directory(self._path.parent)
