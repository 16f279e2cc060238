"""Admits producers to a topic: names, limits, access mode, and the durable topic epoch.

`access` has the rules; this module does what takes time: probe whether a producer with the same name is still alive,
wait for exclusive access, store the epoch. The name and the access are reserved from the decision on, so that no other
producer takes them in the meantime, and released if a later step fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_core.errors import ProducerBusy, ProducerFenced
from broker_core.publishing.access import AccessMode, GrantedAccess, ProducerAccess
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from broker_core.limits.topic_limits import TopicLimits
    from broker_core.publishing.producer import Producer


class AccessRequest(NamedTuple):
    """The request of a client. `queued` is called if it has to wait; `check_wanted` raises if it has given up.

    `epoch`: the topic epoch at which the client had the topic before, or None.
    """

    mode: AccessMode
    epoch: int | None
    queued: Callable[[], None]
    check_wanted: Callable[[], None]


class AdmittingTopic(Protocol):
    """A topic, as a producer that joins calls it."""

    def check_publishable(self) -> None:
        """Raises `TopicTerminated`, `TopicFenced`, or `PersistenceFailed` if no producer may join now."""

    async def store_epoch(self, epoch: int | None) -> None:
        """Stores the epoch; durable on return."""

    def producer_joined(self, name: str) -> None:
        """A producer of that name may now publish."""


class ProducerAdmission:
    __slots__ = ("_access", "_limits", "_promotions", "_topic", "by_name")

    def __init__(self, topic: AdmittingTopic, limits: TopicLimits, epoch: int | None) -> None:
        self._topic = topic
        self._limits = limits
        self._access: ProducerAccess[Producer] = ProducerAccess(epoch)
        self._promotions: dict[Producer, asyncio.Future[None]] = {}
        self.by_name: dict[str, Producer] = {}

    @property
    def epoch(self) -> int | None:
        """The topic epoch; None until a producer has had exclusive access."""
        return self._access.epoch

    @property
    def is_exclusive(self) -> bool:
        """Whether no other producer may publish now."""
        return self._access.is_taken

    @property
    def waiting(self) -> int:
        """The number of producers that wait for exclusive access."""
        return len(self._promotions)

    @property
    def users(self) -> list[Producer]:
        """All producers except replicators, which belong to another cluster."""
        return [producer for producer in self.by_name.values() if not producer.is_replicator]

    async def attach(self, producer: Producer, request: AccessRequest) -> int | None:
        """Attaches a producer as soon as it may publish; returns the topic epoch, None if there is none.

        `WAIT_FOR_EXCLUSIVE` waits without a limit; the others wait for the disk and, if the name is in use, for the
        liveness timeout. Raises `ProducerBusy`, `ProducerFenced`, `TopicFenced`, `TopicTerminated`, or
        `PersistenceFailed`.
        """
        self._topic.check_publishable()
        self._check_room(producer)
        await self._evict_dead_namesake(producer, request.mode)
        admission = self._access.request(producer, request.mode, request.epoch, occupied=bool(self.by_name))
        for waiter in admission.fenced_waiters:
            self.withdraw(waiter, ProducerFenced("Fenced out"))
        if admission.fences_producers:
            for fenced in list(self.by_name.values()):
                fenced.disconnect()
        if admission.access is GrantedAccess.SHARED:
            self._add(producer, request)
        else:
            await self._take(producer, request, waits=admission.access is GrantedAccess.WAITING)
        return self.epoch

    async def _take(self, producer: Producer, request: AccessRequest, *, waits: bool) -> None:
        try:
            if waits:
                await self._wait(producer, request)
            await self._store_epoch(producer)
            if not self._access.owns(producer):
                raise ProducerFenced("Fenced out")
            self._add(producer, request)
        except BaseException:  # also if the client is gone: the next one in the queue gets the access
            self._leave(producer)
            raise

    async def _store_epoch(self, producer: Producer) -> None:
        epoch = self.epoch
        try:
            await self._topic.store_epoch(epoch)
        except StorageError:  # not if this is canceled: the record is on its way to the disk
            self._access.epoch_failed(producer)
            raise
        self._access.epoch_stored(epoch)

    async def _wait(self, producer: Producer, request: AccessRequest) -> None:
        promotion: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._promotions[producer] = promotion
        try:
            request.queued()
            await promotion
        finally:
            del self._promotions[producer]

    def withdraw(self, producer: Producer, reason: Exception) -> None:
        """Ends the wait of a producer: `attach` raises the reason."""
        promotion = self._promotions.get(producer)
        if promotion is not None and not promotion.done():
            promotion.set_exception(reason)

    def withdraw_all(self, reason: Exception) -> None:
        for producer in list(self._promotions):
            self.withdraw(producer, reason)

    def remove(self, producer: Producer) -> bool:
        """Removes a producer; returns false if the topic has no producer of its name, or another one."""
        if self.by_name.get(producer.name) is not producer:
            return False
        del self.by_name[producer.name]
        self._leave(producer)
        return True

    def _leave(self, producer: Producer) -> None:
        promoted = self._access.leave(producer, occupied=bool(self.by_name))
        if promoted is not None and not self._promotions[promoted].done():
            self._promotions[promoted].set_result(None)

    def _add(self, producer: Producer, request: AccessRequest) -> None:
        request.check_wanted()
        self._topic.check_publishable()
        self._check_room(producer)
        if producer.name in self.by_name:
            raise ProducerBusy(f"Producer with name '{producer.name}' is already connected to topic")
        self.by_name[producer.name] = producer
        self._topic.producer_joined(producer.name)

    def _check_room(self, producer: Producer) -> None:
        """Raises `ProducerBusy` if the topic, or the client's address, has reached its limit of producers."""
        if not self._limits.any_of_producers:
            return
        if not producer.is_replicator:
            self._limits.check_users_producers(len(self.users))
        self._limits.check_producers([other.client for other in self.by_name.values()], producer.client)

    async def _evict_dead_namesake(self, producer: Producer, mode: AccessMode) -> None:
        """Removes a producer of that name whose connection no longer answers (the probe of PIP-201)."""
        namesake = self.by_name.get(producer.name)
        if namesake is None or mode is AccessMode.EXCLUSIVE_WITH_FENCING:
            return
        other_connection = namesake.client is not producer.client
        if other_connection and not await namesake.client.outbound.is_alive():
            return
        if mode is AccessMode.SHARED:
            raise ProducerBusy(f"Producer with name '{producer.name}' is already connected to topic")
