"""The parts that all connections of a proxy share: its settings, its brokers, its limits, and its tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from broker_core.broker_client.addresses import configured_endpoints
from broker_core.clock import Clock, SystemClock
from broker_core.config.broker import BrokerConfig
from broker_core.config.proxy import ProxyConfig
from broker_core.proxy.counts import Counts
from broker_core.proxy.dialing import Dialer, Resolve, resolve
from broker_core.proxy.lookups import Brokers
from broker_core.proxy.splice import Splice
from broker_core.proxy.targets import Targets
from broker_core.security.connection_count import ConnectionCount
from broker_core.security.own_credentials import own_credentials
from broker_core.security.service import Security
from broker_core.wire.bounds import CommandBounds

log = logging.getLogger(__name__)

STOPS = "the proxy stops"


class Client(Protocol):
    """A connection that no splice has."""

    @property
    def is_asking(self) -> bool:
        """Whether it waits for an answer."""

    def close(self) -> None:
        """Sends what is queued, then closes."""

    def give_up(self, reason: str) -> None:
        """Closes at once."""


class Gateway:
    """Raises `InvalidConfiguration`."""

    def __init__(self, config: ProxyConfig, *, clock: Clock | None = None, resolve: Resolve = resolve) -> None:
        brokers = config.brokers
        if brokers.tls:
            endpoints = configured_endpoints("brokerServiceURLTLS", brokers.service_url_tls, "pulsar+ssl")
        else:
            endpoints = configured_endpoints("brokerServiceURL", brokers.service_url, "pulsar")
        self.config = config
        self.clock = clock or SystemClock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.security = Security(config.security, config.openid, self.clock, self.spawn)
        self.brokers = Brokers(endpoints)
        self.dialer = Dialer(brokers, Targets(brokers, endpoints), resolve=resolve)
        self.own = own_credentials(brokers.plugin, brokers.parameters)
        self.bounds = CommandBounds(BrokerConfig().by_key())
        self.counts = Counts()
        self.connection_count = ConnectionCount(config.limits.max_connections, config.limits.max_connections_per_ip)
        self.looking_up = 0  # requests in flight
        self.is_leaving = False  # load balancers should send no more clients
        self._has_ended = False
        self.clients: set[Client] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self.splices: dict[Splice, tuple[str, str]] = {}  # with the addresses of the client and of the broker

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that `stop` ends; its failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a task of the proxy failed", exc_info=task.exception())

    async def cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def arrived(self, client: Client) -> None:
        self.clients.add(client)
        self._empty.clear()
        if self._has_ended:
            client.give_up(STOPS)

    def end(self) -> None:
        """Ends all connections, also those that were on their way when the listeners closed."""
        self._has_ended = True
        for client in list(self.clients):
            client.give_up(STOPS)
        for splice in list(self.splices):
            splice.abort()

    def left(self, client: Client) -> None:
        """It is gone, or a splice has it."""
        self.clients.discard(client)
        self._check_empty()

    def _check_empty(self) -> None:
        if not self.clients and not self.splices:
            self._empty.set()

    async def empty_within(self, seconds: float) -> bool:
        """Return whether all connections end within that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    def spliced(self, splice: Splice, client: str, broker: str) -> None:
        self.splices[splice] = (client, broker)

    def unspliced(self, splice: Splice) -> None:
        del self.splices[splice]
        self.counts.bytes += splice.bytes
        self.counts.chunks += sum(splice.progress)
        self._check_empty()
