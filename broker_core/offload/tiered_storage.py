"""The broker's tiered storage: offloads a ledger of a topic, reads copies, and removes unwanted objects.

Most brokers never offload, so the modules that only an offload, a removal, or an audit needs are imported there, in a
few milliseconds. Topics decide what to offload and when (`topic.offloading`). The record of a copy is durable before
its first object exists, and objects leave the store before their record does: whatever a crash leaves is on record.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from broker_core.metadata.policies.offload_stores import AllowedStores, OffloadStore
from broker_core.offload.errors import NotConfigured, OffloadFailed, detail_of, masked
from broker_core.offload.store_threads import StoreThreads
from broker_core.offload.stores import (
    SECRETS,
    Store,
    StoreLimits,
    check_available,
    check_driver,
    open_store,
    place_of,
)
from broker_core.offload.tables import PROGRAM, check_tables, table_of
from broker_core.offload.tier_reader import TierReader
from broker_core.storage import filenames
from broker_core.storage.errors import StorageError
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.tasks import OneAtATime

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.offload import OffloadConfig
    from broker_core.metadata.policies.offload_policies import OffloadRules
    from broker_core.offload.audit import StoreAudit
    from broker_core.offload.orders import OffloadJob, Removal
    from broker_core.offload.worker_process import WorkerProcess
    from broker_core.storage.engine import StorageEngine
    from broker_core.storage.records.ledger_file import Ledger
    from broker_core.topic_log import DurableLog

log = logging.getLogger(__name__)

StoreName = tuple[str, str]  # driver, and directory or bucket
INSTANCE = "instance"  # kind of the document with the name of this instance in stores
_DOCUMENT = "offload"
STORE_THREADS = 2  # for removals and audits: a store without answers must not block readers of local files
EARLIER_LEDGERS = 8  # ledgers that are searched for the beginning of a chunked message


class TieredStorage:
    """For the name of a managed ledger, `rules_of` returns the rules of its topic, and `schemas_of` all its schemas."""

    def __init__(
        self,
        config: OffloadConfig,
        cluster: str,
        clock: Clock,
        rules_of: Callable[[str], OffloadRules],
        schemas_of: Callable[[str], list[dict[str, Any]]],
    ) -> None:
        self.config = config
        self._allowed = AllowedStores.of(config)
        self.at_a_time = asyncio.Semaphore(config.max_threads)
        self._cluster = cluster
        self._clock = clock
        self._rules_of = rules_of
        self._schemas_of = schemas_of
        self._limits = StoreLimits(config.connect_timeout_ms / 1000, config.request_timeout_ms / 1000)
        self.reader = TierReader(config, self.store_of, self._limits)
        self._threads = StoreThreads(STORE_THREADS, "offload-store", self._limits.call_seconds)
        self._storage: StorageEngine
        self._uploading: dict[str, StoreName] = {}  # by uuid
        # No upload to a store begins while its empty folders are removed.
        self._tidying: OneAtATime[StoreName] = OneAtATime()
        self._unwanted = asyncio.Event()
        self._unremoved: dict[str, str] = {}  # by uuid: why the objects could not be removed

    async def open(self, storage: StorageEngine) -> None:
        """Nothing is removed or offloaded before."""
        self._storage = storage
        storage.catalog.on_unwanted_copy = self._unwanted.set
        if storage.catalog.unwanted_copies:
            self._unwanted.set()
        scratch = filenames.offload_directory(storage.path)
        await storage.read_thread(partial(shutil.rmtree, scratch, ignore_errors=True))

    def close(self) -> None:
        """Blocks until the calls that are on their way have ended, except those whose deadline is over."""
        self.reader.close()
        self._threads.close()

    async def instance(self) -> str:
        """The folder of this data directory in every store."""
        metadata = self._storage.metadata
        document = metadata.get(INSTANCE, _DOCUMENT)
        if document is None:
            document = {"id": f"pulsarctl-{uuid4().hex[:12]}"}
            await metadata.put(INSTANCE, _DOCUMENT, document)
        return str(document["id"])

    def store_of(self, copy: OffloadedCopy) -> Store:
        """Makes no request. Raises `NotConfigured`."""
        return open_store(copy.driver, self._settings_of(copy), self._limits)

    def _settings_of(self, copy: OffloadedCopy) -> dict[str, str]:
        """A recorded copy is read wherever it is, but credentials go only where the operator lets them go."""
        rules = self._rules_of(copy.topic)
        secrets = {key: value for key, value in rules.settings.items() if key in SECRETS}
        settings = {**copy.place, **secrets}
        if problem := self._allowed.problem_of_credentials(check_driver(copy.driver, settings), settings):
            raise NotConfigured(problem)
        return settings

    def check(self, rules: OffloadRules) -> None:
        """Raises `NotConfigured` if nothing can be offloaded by these rules."""
        self._check_store(rules.driver, rules.settings)
        check_available()
        if self.config.table_format:
            check_tables(rules.driver)

    def _check_store(self, driver: str, settings: Mapping[str, str]) -> None:
        if problem := self._allowed.problem_of(check_driver(driver, settings), settings):
            raise NotConfigured(problem)

    def worker(self, *, tables: bool = False) -> WorkerProcess:
        """`tables`: even if new copies get none."""
        from broker_core.offload import worker_process

        with_tables = tables or self.config.table_format
        return worker_process.WorkerProcess(PROGRAM if with_tables else worker_process.PROGRAM)

    # ---- one ledger

    async def offload(self, log: DurableLog, ledger_id: int, rules: OffloadRules, worker: WorkerProcess) -> bool:
        """Makes a verified copy. False if the ledger was deleted meanwhile. Raises `OffloadFailed`, StorageError."""
        self._check_store(rules.driver, rules.settings)
        ledger = await log.copies.written_out(ledger_id)
        if ledger is None:
            return False
        copy = await self._new_copy(log.name, ledger_id, rules)
        job = await self._job(log, ledger, copy, rules)
        store = _name_of(check_driver(copy.driver, copy.place))
        async with self._tidying.of(store):
            self._uploading[copy.uuid] = store
        try:
            return await self._copy(log, copy, job, worker)
        finally:
            del self._uploading[copy.uuid]
            if self._storage.catalog.unwanted_copies:
                self._unwanted.set()

    async def _new_copy(self, ledger_name: str, ledger_id: int, rules: OffloadRules) -> OffloadedCopy:
        """The record of the copy before anything is uploaded."""
        from broker_core.offload.manifest import tier_path

        uuid = str(uuid4())
        return OffloadedCopy(
            topic=ledger_name,
            ledger_id=ledger_id,
            uuid=uuid,
            driver=rules.driver,
            place=place_of(rules.driver, rules.settings),
            path=tier_path(await self.instance(), ledger_name, ledger_id, uuid),
            prepared_ms=self._clock.wall_ms(),
            table=await self._table(ledger_name),
        )

    async def _job(self, log: DurableLog, ledger: Ledger, copy: OffloadedCopy, rules: OffloadRules) -> OffloadJob:
        """The orders for the worker process."""
        from broker_core.offload.orders import OffloadJob

        return OffloadJob(
            source=str(ledger.path),
            scratch=str(filenames.offload_directory(self._storage.path) / f"{copy.uuid}.parquet"),
            topic=copy.topic,
            ledger_id=copy.ledger_id,
            entries=ledger.info.entries,
            end=ledger.info.end,
            uuid=copy.uuid,
            path=copy.path,
            driver=copy.driver,
            settings=dict(rules.settings),
            instance=await self.instance(),
            cluster=self._cluster,
            bytes_per_second=self.config.upload_mb_per_second * (1 << 20),
            limits=self._limits,
            table=dict(copy.table),
            schemas=self._schemas_of(copy.topic) if copy.table else [],
            earlier=await self._earlier(log, copy.ledger_id, copy.place) if copy.table else [],
            aborted=log.transactions.aborted.get(copy.ledger_id, []) if log.transactions is not None else [],
        )

    async def _table(self, ledger_name: str) -> dict[str, str]:
        if not self.config.table_format:
            return {}
        catalog = self.config.table_catalog or f"sqlite:///{filenames.table_catalog(self._storage.path).absolute()}"
        return table_of(await self.instance(), ledger_name, catalog)

    async def _earlier(self, log: DurableLog, ledger_id: int, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        """Ledgers before, nearest first: the written file, or the copy in the same store."""
        earlier = []
        for info in [info for info in log.copies.sealed() if info.id < ledger_id][: -EARLIER_LEDGERS - 1 : -1]:
            ledger = await log.copies.written_out(info.id)
            where = {"ledger_id": info.id, "entries": info.entries}
            if ledger is not None and ledger.info.is_local:
                earlier.append({**where, "path": str(ledger.path), "copy": ""})
            elif info.copy is not None and info.copy.place == settings:
                earlier.append({**where, "path": "", "copy": info.copy.path})
        return earlier

    async def _copy(self, log: DurableLog, copy: OffloadedCopy, job: OffloadJob, worker: WorkerProcess) -> bool:
        if not await log.copies.record(copy):
            return False
        try:
            done = await worker.run(job)
        except OffloadFailed:
            if not await log.copies.discard(copy):
                return False
            raise
        verified = replace(
            copy, complete_ms=self._clock.wall_ms(), size=done.size, tail=done.tail, tail_crc=done.tail_crc
        )
        return await log.copies.complete(verified)

    # ---- unwanted objects

    @property
    def unremoved(self) -> dict[str, str]:
        """Copies whose objects could not be removed yet, by uuid, and why."""
        return dict(self._unremoved)

    async def remove_unwanted(self) -> None:
        """Runs until the broker stops: removes objects of deleted ledgers, and tries again at intervals."""
        while True:
            await self._wait_for_unwanted()
            copies = [copy for copy in self._storage.copies.unwanted() if copy.uuid not in self._uploading]
            if not copies:
                continue
            try:
                await self._remove_all(copies)
            except (OSError, StorageError, OffloadFailed) as error:  # removing objects again does no harm
                log.warning("cannot remove the objects of deleted ledgers: %s; trying again later", detail_of(error))

    async def _wait_for_unwanted(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._unwanted.wait(), self.config.sweep_seconds)
        self._unwanted.clear()

    async def _remove_all(self, copies: Iterable[OffloadedCopy]) -> None:
        removed: list[OffloadedCopy] = []
        offloaded = {copy.ledger_id for copy in await self._wanted()}
        async with self.worker(tables=True) as worker:
            for copy in copies:
                self.reader.forget(copy)
                try:
                    if copy.table:
                        await worker.remove_rows(self._removal(copy, replaced=copy.ledger_id in offloaded))
                    await self._threads.run(partial(self._remove, copy))
                except (OSError, OffloadFailed) as error:
                    self._not_removed(copy, error)
                else:
                    removed.append(copy)
                    self._unremoved.pop(copy.uuid, None)
        if removed:
            await self._storage.copies.removed([copy.uuid for copy in removed])
            await self._remove_folders({(copy.driver, copy.path.rpartition("/")[0]): copy for copy in removed}.values())

    async def _remove_folders(self, copies: Iterable[OffloadedCopy]) -> None:
        """Folders that stay, because an upload to a store runs or a store fails, are orphans of an audit."""
        for copy in copies:
            store = _name_of(check_driver(copy.driver, copy.place))
            async with self._tidying.of(store):
                if store in self._uploading.values():
                    continue
                try:
                    await self._threads.run_to_end(lambda copy=copy: self._remove_folders_of(copy))  # type: ignore[misc]  # binds now
                except (OSError, OffloadFailed) as error:
                    log.warning("cannot remove the folder of %s: %s", copy.topic, detail_of(error))

    def _remove_folders_of(self, copy: OffloadedCopy) -> None:
        """Blocks."""
        from broker_core.offload.tables import files_folder

        store = self.store_of(copy)
        store.remove_folders(copy.path.rpartition("/")[0])
        if copy.table:
            store.remove_folders(files_folder(copy.table, copy.ledger_id, copy.uuid))

    async def _wanted(self) -> list[OffloadedCopy]:
        known = await self._storage.copies.known()
        return [copy for copy in known.values() if copy.uuid not in self._storage.catalog.unwanted_copies]

    def _removal(self, copy: OffloadedCopy, *, replaced: bool) -> Removal:
        from broker_core.offload.orders import Removal

        settings = self._settings_of(copy)
        return Removal(copy.ledger_id, copy.uuid, copy.driver, settings, dict(copy.table), self._limits, replaced)

    def _remove(self, copy: OffloadedCopy) -> None:
        """Blocks. The manifest goes first: what is left of a copy without one is never taken for a copy."""
        from broker_core.offload.manifest import manifest_path

        store = self.store_of(copy)
        store.remove(manifest_path(copy.path))
        store.remove(copy.path)

    async def audit(self, driver: str, settings: Mapping[str, str], *, sweep: bool) -> StoreAudit:
        """Compares the objects of this instance in a store with the catalog; `sweep` removes orphans.

        Raises `OffloadFailed` if nothing is there and nothing should be, and OSError.
        """
        from broker_core.offload.audit import compare, objects_of, remove_orphans

        self._check_store(driver, settings)
        store = await self._threads.run(partial(open_store, driver, settings, self._limits))
        instance = await self.instance()
        listed = await self._threads.run(partial(objects_of, store, instance), self._limits.listing_seconds)
        known = await self._storage.copies.known()  # after the list: an object is on record before it exists
        unwanted = self._storage.catalog.unwanted_copies.keys()
        current = [copy for copy in known.values() if copy.uuid not in unwanted]
        here = [copy for copy in current if _is_in(check_driver(driver, settings), copy)]
        if not (listed or here) and not await self._threads.run(lambda: store.has_root):
            raise OffloadFailed(f"{store.uri} does not exist; check its name")
        report = compare(store, listed, known.values(), here)
        if sweep:
            name = _name_of(check_driver(driver, settings))
            async with self._tidying.of(name):
                work = partial(remove_orphans, store, report, folders=name not in self._uploading.values())
                await self._threads.run_to_end(work)
        return report

    def _not_removed(self, copy: OffloadedCopy, error: Exception) -> None:
        reason = masked(error)
        if self._unremoved.get(copy.uuid) != reason:
            log.warning("cannot remove the copy of ledger %d of %s: %s", copy.ledger_id, copy.topic, detail_of(error))
        self._unremoved[copy.uuid] = reason


def _name_of(target: OffloadStore) -> StoreName:
    """Whatever its endpoint: the store of a copy may get no credentials any more."""
    return target.driver, target.root


def _is_in(target: OffloadStore, copy: OffloadedCopy) -> bool:
    try:
        other = check_driver(copy.driver, copy.place)
    except NotConfigured:
        return False
    return _name_of(other) == _name_of(target)
