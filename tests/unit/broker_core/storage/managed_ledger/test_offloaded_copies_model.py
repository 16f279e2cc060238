"""Offloads, restores, deletions of files, trims, unloads, and kills at once: every entry that was not trimmed stays."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.config.storage import StorageConfig
from broker_core.offload.ledger_blocks import blocks_of_file
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import Closed, Damaged
from broker_core.storage.log.copy_reader import CopyReader
from broker_core.storage.log.retention import Retention
from broker_core.storage.records.block import Block
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.position import EARLIEST
from broker_core.storage.records.spans import Spans
from tests.support.storage import append, crash, opened, read_all, run_of

CONFIG = StorageConfig(cache_mb=0, reserve_mb=0, journal_pace_ms=0)
ENTRIES = 6
LEDGERS = 3
FIRST_CALL = 40  # of the disk, from which on the model kills: those before make the directory


class Store(CopyReader):
    """Objects in memory, each with one row group for each entry."""

    def __init__(self, objects: dict[str, list[Block]]) -> None:
        self.objects = objects

    def put(self, uuid: str, blocks: list[Block]) -> None:
        self.objects[uuid] = [block.slice(i, i + 1) for block in blocks for i in range(len(block))]

    def _object(self, ledger: Ledger, copy: OffloadedCopy) -> list[Block]:
        if copy.uuid not in self.objects:
            raise Damaged(ledger.path, 0, f"the object of ledger {copy.ledger_id} is missing")
        return self.objects[copy.uuid]

    async def load_spans(self, ledger: Ledger, copy: OffloadedCopy) -> Spans:
        await asyncio.sleep(0)
        spans, size = Spans(), 0
        for block in self._object(ledger, copy):
            for column, value in (
                (spans.first, block.first_entry_id),
                (spans.offset, size),
                (spans.messages_before, block.first_entry_id),
                (spans.bytes_before, size),
                (spans.newest, max(block.publish_times)),
            ):
                column.append(value)
            size += block.size
        return spans

    async def read(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> Block:
        await asyncio.sleep(0)
        return self._object(ledger, copy)[span]

    def forget(self, copy: OffloadedCopy) -> None:
        pass


class KilledDisk(RealDisk):
    """Before its call number `at`, keeps what a kill at that moment leaves."""

    def __init__(self, at: int, keep: Callable[[], None]) -> None:
        self._lock = RLock()  # calls come from several threads: a kill is at one moment for all of them
        self._left = at
        self._keep = keep

    def __getattribute__(self, name: str) -> Any:
        call = super().__getattribute__(name)
        changing = (
            "pwrite",
            "write_synced",
            "preallocate",
            "truncate",
            "remove",
            "replace",
            "rename",
            "commit",
            "merge",
        )
        if name not in changing:
            return call

        def counted(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self._left -= 1
                if self._left == 0:
                    self._keep()
                return call(*arguments, **options)

        return counted


class World:
    """An open topic, its store, and which entries must be readable."""

    def __init__(self, directory: Path, kill_at: int) -> None:
        self.path = directory / "d"
        self.objects: dict[str, list[Block]] = {}
        self.disk = KilledDisk(kill_at, self.keep)
        self.kept: tuple[Path, dict[str, list[Block]], set[bytes], set[bytes]] | None = None
        self.stored: set[bytes] = set()  # acknowledged to their producer
        self.trimmed: set[bytes] = set()  # or about to be
        self.uploading: set[str] = set()
        self.offloads: set[asyncio.Task[None]] = set()  # and restores; an unload ends them
        self.others: set[asyncio.Task[None]] = set()
        self.changing = asyncio.Lock()

    def keep(self) -> None:
        self.kept = crash(self.path), dict(self.objects), set(self.stored), set(self.trimmed)

    async def open(self) -> None:
        self.engine = await opened(self.path, CONFIG, disk=self.disk, copies=Store(self.objects))
        await self.load()

    async def load(self) -> None:
        self.ledger = await self.engine.open_ledger("t")
        self.cursor = await self.ledger.open_cursor("s", initial=EARLIEST)

    async def publish(self) -> None:
        values = [uuid4().bytes for _ in range(ENTRIES)]
        for value in values:
            await append(self.ledger, run_of(value))
        self.stored |= set(values)
        await self.ledger.roll()

    def start(self, name: str) -> None:
        work: Coroutine[Any, Any, None] = getattr(self, name)()
        tasks = self.offloads if name in ("offload", "restore") else self.others
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def offload(self) -> None:
        """As `TieredStorage`; the worker's reading and writing is one step."""
        async with self.changing:
            copies = self.ledger.copies
            for info in copies.sealed():
                ledger = await copies.written_out(info.id)
                if ledger is None or (info.copy is not None and info.copy.is_complete):
                    continue
                copy = OffloadedCopy("t", info.id, str(uuid4()), "memory", prepared_ms=1)
                self.uploading.add(copy.uuid)
                try:
                    if await copies.record(copy):
                        await self.upload(ledger, copy)
                finally:
                    self.uploading.discard(copy.uuid)

    async def upload(self, ledger: Ledger, copy: OffloadedCopy) -> None:
        try:
            blocks = list(blocks_of_file(RealDisk(), ledger.path, copy.ledger_id, ENTRIES, ledger.info.end))
        except FileNotFoundError:  # it was trimmed
            await self.ledger.copies.discard(copy)
            return
        Store(self.objects).put(copy.uuid, blocks)
        await asyncio.sleep(0)
        await self.ledger.copies.complete(OffloadedCopy("t", copy.ledger_id, copy.uuid, "memory", complete_ms=1))

    async def restore(self) -> None:
        async with self.changing:
            for info in self.ledger.copies.sealed():
                await self.ledger.copies.restore(info.id)

    async def drop(self) -> None:
        await self.ledger.copies.drop_files([info.id for info in self.ledger.copies.sealed()])

    async def forget(self) -> None:
        """As housekeeping does with what a kill or an unload has left."""
        if not self.offloads:
            for info in self.ledger.copies.sealed():
                if info.copy is not None and not info.copy.is_complete:
                    await self.ledger.copies.discard(info.copy)

    async def trim(self) -> None:
        infos = self.ledger.copies.sealed()
        if len(infos) > 1:
            self.cursor.acknowledge(infos[0].id, range(ENTRIES))
            self.trimmed |= {entry for at, entry in await read_all(self.ledger) if at.ledger_id == infos[0].id}
            await self.ledger.trim(Retention(), 0)

    async def read(self) -> None:
        await read_all(self.ledger)

    async def checkpoint(self) -> None:
        await self.engine.checkpoint()

    async def sweep(self) -> None:
        unwanted = [copy.uuid for copy in self.engine.copies.unwanted() if copy.uuid not in self.uploading]
        for uuid in unwanted:
            self.objects.pop(uuid, None)
        if unwanted:
            await self.engine.copies.removed(unwanted)

    async def unload(self) -> None:
        """Ends offloads and restores first, and waits for housekeeping, as a topic does."""
        for task in list(self.offloads):
            task.cancel()
        await self.settle()
        await self.ledger.close()
        await self.load()

    async def settle(self) -> None:
        while tasks := self.offloads | self.others:
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                assert result is None or isinstance(result, Closed | asyncio.CancelledError), result

    async def check(self, stored: set[bytes], trimmed: set[bytes]) -> None:
        found = [entry for _, entry in await read_all(self.ledger)]
        assert stored - trimmed <= set(found)
        assert len(found) == len(set(found))
        assert self.engine.damage.reports == []
        unwanted = {copy.uuid for copy in self.engine.copies.unwanted()}
        for info in self.ledger.copies.sealed():
            assert info.copy is None or info.copy.uuid not in unwanted

    async def end(self) -> None:
        await self.settle()
        await self.check(self.stored, self.trimmed)
        await self.unload()
        await self.check(self.stored, self.trimmed)
        await self.engine.close()


OPERATIONS = ("offload", "restore", "drop", "drop", "trim", "read", "sweep", "checkpoint", "forget", "unload")
STORY = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 12)), min_size=2, max_size=12)


async def run(directory: Path, story: list[tuple[str, int]], kill_at: int) -> None:
    world = World(directory, kill_at)
    await world.open()
    for _ in range(LEDGERS):
        await world.publish()
    for name, iterations in [("offload", 12), *story]:
        if name == "unload":
            await world.unload()
        else:
            world.start(name)
        for _ in range(iterations * iterations):
            await asyncio.sleep(0)
    await world.end()
    if world.kept is not None:
        await restart(*world.kept)


async def restart(path: Path, objects: dict[str, list[Block]], stored: set[bytes], trimmed: set[bytes]) -> None:
    """After the kill, nothing is lost, and another restore succeeds and leaves nothing behind."""
    world = World(path.parent / "again", 0)
    world.path, world.objects = path, objects
    await world.open()
    await world.check(stored, trimmed)
    await world.forget()
    for step in (world.drop, world.sweep, world.restore, world.sweep):
        await step()
        await world.check(stored, trimmed)
    assert objects == {}
    await world.engine.close()


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(STORY, st.integers(FIRST_CALL, 220))
def test_no_interleaving_and_no_kill_loses_an_entry_of_an_offloaded_ledger(
    story: list[tuple[str, int]], kill_at: int
) -> None:
    directory = Path(tempfile.mkdtemp(prefix="copies-model-"))
    try:
        asyncio.run(run(directory, story, kill_at))
    finally:
        shutil.rmtree(directory)
