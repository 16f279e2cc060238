"""Offloading of one topic: on request and by thresholds, its status, and the deletion of local files after their lag.

One run at a time, of an offload or a restore. An offload goes on after a ledger that fails; the first error is its
result (Pulsar docs, "Tiered storage"). After an error, thresholds wait before they start the next run.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker_core.errors import Conflict, NotAcceptable, NotAllowed, TopicFenced
from broker_core.metadata.policies.offload_policies import OffloadRules
from broker_core.metadata.tenancy.system_topics import is_system_topic
from broker_core.offload import selection
from broker_core.offload.errors import NotConfigured, OffloadFailed, detail_of, masked
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import Position
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.offload.tiered_storage import TieredStorage
    from broker_core.storage.records.catalog import LedgerInfo
    from broker_core.topic_log import DurableLog

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 3600.0
UNLOADED = "the topic was unloaded"


class OffloadState(enum.Enum):
    """The names of the admin API's OffloadProcessStatus."""

    NOT_RUN = "NOT_RUN"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    ERROR = "ERROR"


class Offloading(TopicPart):
    def __init__(self, context: TopicContext, tier: TieredStorage, ended: Callable[[], None]) -> None:
        """`ended` is called after a run: more may be due."""
        self._context = context
        self._tier = tier
        self._call_ended = ended
        self._task: asyncio.Task[None] | None = None
        self._is_restoring = False
        self._closed = False
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._not_before = 0.0  # monotonic: thresholds wait until then
        self._seen_ms: dict[str, int] = {}  # see `selection.files_due`
        self.state = OffloadState.NOT_RUN
        self.last_error = ""
        self.first_unoffloaded: Position | None = None
        self.last_ledger_id = 0
        self.last_success_ms = 0
        self.last_failure_ms = 0

    @property
    def is_running(self) -> bool:
        return self.state is OffloadState.RUNNING

    @property
    def offloaded_bytes(self) -> int:
        total = 0
        for info in self._context.log.ledger_infos():
            if info.copy is not None and selection.is_offloaded(info):  # a scrape asks thousands of topics
                total += info.size
        return total

    @property
    def rules(self) -> OffloadRules:
        return self._context.policies.offload_rules(self._tier.config)

    async def policies_changed(self) -> None:
        if self._context.log.on_disk is not None:
            self._context.log.on_disk.copies.copies_first(self.rules.copies_first)
            self._not_before = 0.0

    # ---- on request

    def start(self, before: Position) -> Position:
        """Offloads the ledgers before a position, in the background.

        Returns the first position that is not offloaded yet. Raises `Conflict`,
        `NotAllowed` if no store is configured, `NotAcceptable`, and `TopicFenced` if the topic is unloaded.
        """
        self._check_free()
        ledger_ids = selection.before(self._sealed(), before)
        try:
            self._tier.check(self.rules)
        except NotConfigured as error:
            raise NotAllowed(f"cannot offload: {error}") from None
        self._start(ledger_ids)
        return self._first_unoffloaded()

    async def restore(self, seconds: float) -> int:
        """Writes local files again and lets the copies go; returns the number of ledgers.

        After `seconds` it starts no other ledger; 0 means that none is left. Raises `Conflict`, StorageError, and
        `TopicFenced` if the topic is unloaded; then the ledgers before are restored.
        """
        self._check_free()
        self.state, self._is_restoring = OffloadState.RUNNING, True
        restored: list[int] = []
        errors: list[StorageError] = []
        task = self._task = self._context.spawn(self._restore(seconds, restored, errors))
        await asyncio.wait([task])
        if task.cancelled():
            raise self._unloaded()
        if errors:
            raise errors[0]
        task.result()  # raises any other error
        return len(restored)

    async def _restore(self, seconds: float, restored: list[int], errors: list[StorageError]) -> None:
        deadline = self._context.clock.monotonic() + seconds
        try:
            for ledger_id in [info.id for info in self._sealed() if selection.is_offloaded(info)]:
                if await self._on_disk().copies.restore(ledger_id):
                    restored.append(ledger_id)
                if restored and self._context.clock.monotonic() >= deadline:
                    break
        except (StorageError, OSError) as error:
            log.warning("topic %s: cannot restore: %s", self._context.name, error.__cause__ or error)
            reason = f"cannot restore a ledger of {self._context.name}"
            errors.append(error if isinstance(error, StorageError) else StorageError(f"{reason}: {masked(error)}"))
        finally:
            self.state, self._is_restoring = OffloadState.NOT_RUN, False
            self._call_ended()

    def _unloaded(self) -> TopicFenced:
        return TopicFenced(f"Topic {self._context.name} was unloaded: try again")

    def _check_free(self) -> None:
        self._on_disk()
        if self._closed:
            raise self._unloaded()
        if self.is_running:
            raise Conflict("Offload already in progress")

    # ---- by thresholds

    async def check(self, now_ms: int) -> None:
        """Starts what the thresholds ask for, and deletes local files whose lag has passed. Raises StorageError."""
        if self._context.log.on_disk is None or is_system_topic(self._context.name):
            return
        await self._forget_unfinished()
        await self._drop_files(now_ms)
        ledger_ids = selection.over_thresholds(self._sealed(), self.rules, now_ms)
        if ledger_ids and not self.is_running and self._context.clock.monotonic() >= self._not_before:
            self._start(ledger_ids)

    async def _forget_unfinished(self) -> None:
        """Forgets copies that a crash left prepared; their objects are removed."""
        if self.is_running:
            return
        for info in self._sealed():
            if info.copy is not None and not info.copy.is_complete:
                await self._on_disk().copies.discard(info.copy)

    async def _drop_files(self, now_ms: int) -> None:
        sealed = self._sealed()
        self._note_copies_of_the_future(sealed, now_ms)
        due, _ = self._files_due(sealed, now_ms)
        if due or self._on_disk().copies.leaves_files:
            await self._on_disk().copies.drop_files(due)

    def _files_due(self, sealed: Sequence[LedgerInfo], now_ms: int) -> tuple[list[int], int | None]:
        """The ledgers whose files are due; none during a restore, which is about to need them."""
        if self._is_restoring:
            return [], None
        return selection.files_due(sealed, self.rules.deletion_lag_ms, now_ms, self._seen_ms)

    def _note_copies_of_the_future(self, sealed: Sequence[LedgerInfo], now_ms: int) -> None:
        copies = [info.copy for info in sealed if info.copy is not None and not info.copy.local_gone]
        future = {copy.uuid for copy in copies if copy.complete_ms > now_ms}
        kept = future | {copy.uuid for copy in copies if copy.uuid in self._seen_ms}
        self._seen_ms = {uuid: self._seen_ms.get(uuid, now_ms) for uuid in kept}

    def next_due(self, now_ms: int) -> int | None:
        """Wall time (ms) at which `check` has something to do if nothing else changes."""
        if self._context.log.on_disk is None or is_system_topic(self._context.name):
            return None
        sealed, rules = self._sealed(), self.rules
        due = [self._files_due(sealed, now_ms)[1]]
        if not self.is_running:
            if selection.over_thresholds(sealed, rules, now_ms):
                wait = max(0.0, self._not_before - self._context.clock.monotonic())
                due.append(now_ms + round(wait * 1000))
            else:
                due.append(selection.next_threshold_due(sealed, rules))
        return min((moment for moment in due if moment is not None), default=None)

    @property
    def watches_rolls(self) -> bool:
        """Whether a ledger that is sealed may be due at once."""
        return self.rules.is_automatic

    # ---- a run

    def _start(self, ledger_ids: list[int]) -> None:
        self.state, self.last_error = OffloadState.RUNNING, ""
        self._task = self._context.spawn(self._run(ledger_ids, self.rules))

    async def _run(self, ledger_ids: list[int], rules: OffloadRules) -> None:
        errors: list[str] = []
        try:
            async with self._tier.at_a_time:
                await self._offload_all(ledger_ids, rules, errors)
        except asyncio.CancelledError:
            errors.append(UNLOADED)
            raise
        except Exception as error:  # it must not seem to run forever
            errors.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            self._ended(errors)

    async def _offload_all(self, ledger_ids: list[int], rules: OffloadRules, errors: list[str]) -> None:
        async with self._tier.worker() as worker:
            for ledger_id in ledger_ids:
                try:
                    if await self._tier.offload(self._on_disk(), ledger_id, rules, worker):
                        self.last_ledger_id = ledger_id
                        self.last_success_ms = self._context.clock.wall_ms()
                except (OffloadFailed, StorageError, OSError) as error:
                    errors.append(str(error) if isinstance(error, StorageError) else masked(error))
                    log.warning("topic %s: %s", self._context.name, detail_of(error))

    def _ended(self, errors: list[str]) -> None:
        self.first_unoffloaded = self._first_unoffloaded()
        self._call_ended()
        if not errors:
            self.state = OffloadState.SUCCESS
            self._retry_seconds, self._not_before = FIRST_RETRY_SECONDS, 0.0
            return
        self.state, self.last_error = OffloadState.ERROR, errors[0]
        self.last_failure_ms = self._context.clock.wall_ms()
        self._not_before = self._context.clock.monotonic() + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, LAST_RETRY_SECONDS)

    def _first_unoffloaded(self) -> Position:
        """The first position that is not offloaded; if all are, the next one, for which a new ledger is begun."""
        infos, last = self._context.log.ledger_infos(), self._context.log.last_confirmed
        next_position = Position(last.ledger_id, last.entry_id + 1)
        return next((Position(info.id, 0) for info in infos if not selection.is_offloaded(info)), next_position)

    async def close(self) -> None:
        """Ends a run, and allows no other one: the next load uses the same ledgers.

        The worker process goes with the run, and the next load forgets what it has not finished.
        """
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.is_running:  # the run had not begun
            self.state, self.last_error = OffloadState.ERROR, UNLOADED

    # ---- parts

    def _sealed(self) -> list[LedgerInfo]:
        """The sealed ledgers. One with messages of an open transaction is not offloaded before it ends."""
        sealed, end = self._on_disk().copies.sealed(), self._context.log.visible_end
        return [info for info in sealed if Position(info.id, info.entries - 1) <= end]

    def _on_disk(self) -> DurableLog:
        if self._context.log.on_disk is None:
            raise NotAcceptable("Offload of a non-persistent topic is not allowed")
        return self._context.log.on_disk
