"""The clients of a topic go to another cluster, which has a copy of it (blue-green migration, PIP-188).

There are two ways. With Pulsar's own switches, the flags of the cluster and of the namespace, producers go at once,
unless a replicator still has a backlog, and the consumers of a subscription go when it has no backlog left.

With the phases of one topic, which `pulsarctl migrate --switch` sets, nothing is published or acknowledged anywhere
while the copy is completed:

    IN_USE   -> STOPPED   the topic takes no more messages; producers wait
    STOPPED  -> HELD      it delivers none, consumers acknowledge what they have; new consumers wait
    HELD     -> FROZEN    no subscription moves: the copy would not have what is acknowledged now
    FROZEN   -> MOVED     producers and consumers go to the other cluster; for good

Until MOVED, the topic can return to IN_USE. Readers stay: their positions mean nothing in the other cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed, TopicFenced, TopicMoved, TopicTerminated
from broker_core.metadata.policies.migration import Destination
from broker_core.storage.errors import Terminated
from broker_core.topic_context import TopicContext, TopicPart

if TYPE_CHECKING:
    from broker_core.publishing.producer import Producer
    from broker_core.replication.replicators import Replicators
    from broker_core.topic.subscription import Subscription

WAIT_SECONDS = 10.0  # for the next phase; clients give up a request after 30 s
PROPERTY = "pulsarctl.migration"
"""Our own property of the managed ledger: the phase and the destination as JSON."""


class Phase(enum.Enum):
    IN_USE = "in-use"
    STOPPED = "stopped"
    HELD = "held"
    FROZEN = "frozen"
    MOVED = "moved"


WAITING = frozenset({Phase.STOPPED, Phase.HELD, Phase.FROZEN})
NOTHING_PUBLISHED = WAITING | {Phase.MOVED}


class TopicMigration(TopicPart):
    def __init__(
        self,
        context: TopicContext,
        find_destination: Callable[[], Destination | None],
        store: Callable[[Mapping[str, str]], Awaitable[None]],
        producers: Mapping[str, Producer],
        subscriptions: Mapping[str, Subscription],
        replicators: Replicators,
    ) -> None:
        """`find_destination` follows Pulsar's flags; `store` changes properties of the log, durably."""
        self._context = context
        self._find_destination = find_destination
        self._store = store
        self._producers = producers
        self._subscriptions = subscriptions
        self._replicators = replicators
        self._changing = asyncio.Lock()  # one change of the phase at a time
        self._changed = asyncio.Event()
        stored = json.loads(context.log.properties.get(PROPERTY, "{}"))
        self.phase = Phase(stored.get("phase", Phase.IN_USE.value))
        self._to = Destination(*stored.get("to", ("", "")))
        self._leaving = find_destination()

    @property
    def is_running(self) -> bool:
        return self.phase is not Phase.IN_USE or self._leaving is not None

    def delivers(self) -> bool:
        """Whether durable subscriptions deliver messages."""
        return self.phase in (Phase.IN_USE, Phase.STOPPED)

    def is_frozen(self) -> bool:
        """Whether no durable subscription may move."""
        return self.phase is Phase.FROZEN

    # -- checks for clients

    def check_publishable(self) -> None:
        """Raises `TopicMoved`, or `TopicFenced` for a producer that should try again later."""
        if self.phase is Phase.MOVED:
            raise self._moved(self._to)
        if self.phase is not Phase.IN_USE:
            raise self._busy()
        if self._leaving is not None:
            if any(replicator.cursor.backlog_entries for replicator in self._replicators.values()):
                raise self._busy()
            raise self._moved(self._leaving)

    def check_consumable(self, subscription: str) -> None:
        """Like `check_publishable`, for consumers of a durable subscription."""
        if self.phase is Phase.MOVED:
            raise self._moved(self._to)
        if self.phase in (Phase.HELD, Phase.FROZEN):
            raise self._busy()
        if self._leaving is not None:
            existing = self._subscriptions.get(subscription)
            if existing is None or not existing.cursor.backlog_entries:
                raise self._moved(self._leaving)

    def check_acknowledgeable(self) -> None:
        """Raises `TopicMoved` or `TopicFenced` once an acknowledgment would be lost: the copy has its own positions."""
        if self.phase is Phase.MOVED:
            raise self._moved(self._to)
        if self.phase is Phase.FROZEN:
            raise self._busy()

    async def ended(self) -> None:
        """Waits a moment for the end of a change, so that clients need not ask again."""
        if self.phase not in WAITING:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WAIT_SECONDS):
                while self.phase in WAITING:
                    await self._changed.wait()

    def _moved(self, to: Destination) -> TopicMoved:
        reason = f"Topic {self._context.name} was moved to {to}: connect to that address"
        return TopicMoved(reason, to.service_url, to.service_url_tls)

    def _busy(self) -> TopicFenced:
        return TopicFenced(f"Topic {self._context.name} is being moved to another cluster; try again")

    # -- phases of this topic

    async def enter(self, phase: Phase, to: Destination) -> None:
        """Durable on return; earlier publishes have their receipts. Raises `NotAllowed` for a topic that has moved."""
        async with self._changing:
            if self.phase is Phase.MOVED and phase is not Phase.MOVED:
                raise NotAllowed(f"Topic {self._context.name} was moved to {self._to}, and its clients with it")
            if self._context.log.on_disk is None:
                raise NotAllowed("Migration of a non-persistent topic is not allowed")
            before, self.phase, self._to = (self.phase, self._to), phase, to
            try:
                await self._apply(phase)
            except Exception:  # not if this is canceled: the record is on its way to the disk
                self.phase, self._to = before
                raise
            finally:
                self._tell()
                if self.phase is Phase.MOVED:
                    self._context.spawn(self._send_consumers(to, list(self._subscriptions.values())))

    async def _apply(self, phase: Phase) -> None:
        """No producer joins any longer, so the record is on disk after everything that was published."""
        producers = list(self._producers.values()) if phase in NOTHING_PUBLISHED else []
        for producer in producers:
            producer.ignore_sends()  # a SEND_ERROR would make clients close the connection before receipts are read
        try:
            await self._store({PROPERTY: json.dumps({"phase": phase.value, "to": [*_urls(self._to)]})})
        finally:
            for producer in producers:
                producer.disconnect()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for subscription in list(self._subscriptions.values()):
            subscription.delivery.limit()
            subscription.wake()

    def waits_for(self) -> list[str]:
        """The subscriptions whose consumers have messages that they have not acknowledged."""
        durable = (subscription for subscription in self._subscriptions.values() if subscription.durable)
        return sorted(subscription.name for subscription in durable if subscription.delivery.has_unacknowledged)

    def may_skip(self) -> list[str]:
        """The subscriptions with a consumer whose client may skip messages of the copy: it takes those whose IDs are
        not above its last cumulative acknowledgment for repeated ones.
        """
        durable = (subscription for subscription in self._subscriptions.values() if subscription.durable)
        return sorted(
            subscription.name for subscription in durable if subscription.delivery.may_acknowledge_cumulatively
        )

    # -- the copy of a topic of another cluster

    async def open_above(self, ledger_id: int) -> None:
        """Gives everything stored from now on greater ledger IDs; durable on return. Raises `TopicTerminated`.

        Clients that come from the other cluster take smaller IDs for messages that they have acknowledged there.
        """
        on_disk = self._context.log.on_disk
        if on_disk is None:
            raise NotAllowed("Migration of a non-persistent topic is not allowed")
        try:
            await on_disk.open_above(ledger_id)
        except Terminated as error:
            raise TopicTerminated(f"Topic {self._context.name} is terminated and takes no more messages") from error

    # -- Pulsar's flags

    async def policies_changed(self) -> None:
        """Applies the flags."""
        self._leaving = self._find_destination()
        if self._leaving is None:
            return
        for producer in list(self._producers.values()):
            producer.disconnect()
        await self._send_consumers(self._leaving, list(self._without_backlog()))

    def acknowledged(self) -> None:
        """A cursor moved."""
        if self._leaving is not None and any(subscription.consumers for subscription in self._without_backlog()):
            self._context.spawn(self._send_consumers(self._leaving, list(self._without_backlog())))

    def _without_backlog(self) -> Iterator[Subscription]:
        return (
            subscription for subscription in self._subscriptions.values() if not subscription.cursor.backlog_entries
        )

    async def _send_consumers(self, to: Destination, subscriptions: list[Subscription]) -> None:
        for subscription in subscriptions:
            if subscription.durable or self._context.log.on_disk is None:
                await subscription.delivery.redirect(to)


def _urls(to: Destination) -> tuple[str, str]:
    return to.service_url, to.service_url_tls
