"""A ledger file written again from the ledger's copy in tiered storage.

Its records are cut where the copy's row groups are, so its length differs from that of the first file. It has another
name until `place`, and is read back as a whole before; what a crash leaves goes when the managed ledger is loaded.

A restore can be canceled: it ends when its step in a thread ends, so that no thread writes to the file afterwards.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.storage.disk import Disk
from broker_core.storage.log.copy_reader import CopyReader
from broker_core.storage.log.open_files import OpenFiles
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import Block, encode_run
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.spans import Spans
from broker_core.tasks import waited_out

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class RestoredFile:
    def __init__(self, disk: Disk, files: OpenFiles, ledger: Ledger, in_thread: InThread) -> None:
        self._disk = disk
        self._files = files
        self._ledger = ledger
        self._in_thread = in_thread
        self._path = unplaced(ledger.path)
        self._info = replace(ledger.info, end=ledger_file.DATA_START)
        self._spans = Spans()
        self._fd = -1
        self._messages = self._size = self._newest = 0

    async def write(self, copies: CopyReader, copy: OffloadedCopy, check: Callable[[], None]) -> int:
        """Returns the end of the records. `check` raises if the restore is to end.

        Raises Damaged, Unreachable, OSError; then no file is left.
        """
        source = await copies.load_spans(self._ledger, copy)
        try:
            await self._step(self._begin)
            for span in range(len(source)):
                check()
                block = await copies.read(self._ledger, copy, span)
                await self._step(partial(self._append, block))
            await self._step(self._seal)
        except BaseException:
            await self._step(self.remove)
            raise
        finally:
            await self._step(self._close)
        return self._info.end

    async def place(self) -> None:
        """Gives the file the name of the ledger file; durable on return."""
        await self._step(self._name)

    async def _step(self, work: Callable[[], Any]) -> None:
        await waited_out(self._in_thread(work))

    def remove(self) -> None:
        self._disk.remove(self._path)

    def _begin(self) -> None:
        self._disk.make_directory(self._path.parent)
        self._disk.remove(self._path)
        self._fd = self._disk.open(self._path, create=True)
        self._disk.pwrite(self._fd, ledger_file.file_header(self._info.id, self._info.created_ms), 0)

    def _append(self, block: Block) -> None:
        head, blob, _ = encode_run(block, self._info.id, block.first_entry_id)
        self._newest = max(self._newest, *block.publish_times)
        self._spans.add(block.first_entry_id, self._info.end, self._messages, self._size, self._newest)
        self._disk.pwrite(self._fd, head + bytes(blob), self._info.end)
        self._info.end += len(head) + len(blob)
        self._messages += sum(block.counts)
        self._size += block.size

    def _seal(self) -> None:
        self._disk.pwrite(self._fd, ledger_file.footer(self._info, self._spans), self._info.end)
        self._disk.sync(self._fd)
        ledger_file.verify(self._disk, self._fd, self._path, self._info)

    def _close(self) -> None:
        if self._fd >= 0:
            self._disk.close(self._fd)

    def _name(self) -> None:
        self._disk.rename(self._path, self._ledger.path)
        self._files.forget(self._ledger.path)
        self._disk.sync_directory(self._path.parent)


def unplaced(path: Path) -> Path:
    """The name of a ledger file that is being written again."""
    return path.with_suffix(".ledger.new")
