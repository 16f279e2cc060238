"""Handles each group that the journal has synced or failed to sync: the only place where appends are answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager

from broker_core.storage import filenames
from broker_core.storage.disk import NO_SPACE
from broker_core.storage.errors import DiskFull, Fenced, StorageError
from broker_core.storage.log.synced_mark import Mark, write_mark
from broker_core.storage.managed_ledger.ledger_services import LedgerServices
from broker_core.storage.pressure import RUN_COST
from broker_core.storage.records.journal_group import Appender, Group

log = logging.getLogger("broker_core.storage")

_MARK_SECONDS = 0.1  # between a sync and the mark that says so


class SyncedGroups:
    def __init__(
        self,
        services: LedgerServices,
        answers: AbstractContextManager[None],
        spawn: Callable[[Coroutine[None, None, None]], None],
        off_loop: Callable[[Callable[[], None]], object],
    ) -> None:
        """Each group is answered inside `answers`. `off_loop` calls a function in a thread, soon."""
        self._services = services
        self._answers = answers
        self._cache = services.cache
        self._pressure = services.pressure
        self._spawn = spawn
        self._off_loop = off_loop
        self._synced_file = filenames.synced_file(services.path)
        self._loop = asyncio.get_running_loop()
        self._mark_timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._failing: tuple[type[Exception], int | None] | None = None  # logged, and the same since

    def synced(self, group: Group, error: Exception | None) -> None:
        """Handles a group. Called on the loop, once per group."""
        if error is not None:
            self._failed(group, error)
            return
        self._failing = None
        services = self._services
        services.times.renew(services.clock)
        if self._mark_timer is None and services.config.journal_sync:
            self._mark_timer = self._loop.call_later(_MARK_SECONDS, self._mark_synced)
        with self._answers:
            runs = self._confirm(group)
        self._pressure.release(runs * RUN_COST)
        if 2 * self._pressure.bytes > self._pressure.limit:
            services.writer.relieve()
        services.checkpoints.note(group.size)

    def _confirm(self, group: Group) -> int:
        """Answers what waited for the group, in order; returns how many runs it held."""
        touched: dict[Appender, None] = {}
        last = None
        runs = 0
        for appender, run_or_done in group.waiting:
            try:
                if appender is None:
                    run_or_done(None)
                    continue
                runs += 1
                if appender is not last:
                    touched[appender] = None
                    last = appender
                appender.confirm(run_or_done)
            except Exception:
                log.exception("a callback of a synced record failed")
        self._cache.end_group()
        for appender in touched:
            try:
                appender.group_ended()
            except Exception:
                log.exception("a reader of synced records failed")
        return runs

    def close(self) -> None:
        self._closed = True
        if self._mark_timer is not None:
            self._mark_timer.cancel()

    def _mark_synced(self) -> None:
        self._mark_timer = None
        if not self._closed:
            self._off_loop(self._mark)

    def _mark(self) -> None:
        """Writes the mark, in a thread. It may be older than the last sync, so it may also be missing."""
        try:
            write_mark(self._services.disk, self._synced_file, Mark(*self._services.journal.synced_end))
        except OSError:
            pass
        except Exception:  # nothing waits for the result
            log.exception("cannot record how far the journal is synced")

    def _failed(self, group: Group, error: Exception) -> None:
        """Fences everything that the group touched before anything else is written: what is on disk is unknown."""
        full = isinstance(error, OSError) and error.errno in NO_SPACE
        reason = (
            DiskFull(f"no space left for the journal: {error}")
            if full
            else Fenced(f"write to the journal failed: {error}")
        )
        failing = type(error), getattr(error, "errno", None)
        if failing != self._failing:  # clients try again and again
            self._failing = failing
            log.error("%s", reason)
        _fail(group, reason)
        if full:
            self._spawn(self._resume_on_full_disk(reason))
        else:
            _fail(self._services.journal.resume(), reason)

    async def _resume_on_full_disk(self, reason: StorageError) -> None:
        try:
            await self._services.space.ran_out(str(reason))
        except OSError:
            log.exception("cannot release the disk reserve")
        finally:
            # What was appended in the meantime continues runs that failed: it must not be written either.
            _fail(self._services.journal.resume(), reason)


def _fail(group: Group, reason: StorageError) -> None:
    for appender, run_or_done in group.waiting:
        try:
            if appender is None:
                run_or_done(reason)
            else:
                appender.fail(run_or_done, reason)
        except Exception:
            log.exception("a callback of a failed record failed")
