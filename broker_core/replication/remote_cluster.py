"""Another cluster as replicators see it: lookups, and one connection for each of its brokers.

The record of the cluster is read for each connection. A changed record closes the connections at once and wakes the
replicators that wait to try again, so a new URL takes effect without a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.replication.cluster_settings import PLAIN, TLS, ClusterSettings, addresses_of
from broker_core.replication.connection import RemoteConnection, refusal
from broker_core.replication.errors import CannotReplicate, ConnectionLost
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import CommandLookupTopicResponse

if TYPE_CHECKING:
    from broker_core.broker_client.addresses import Endpoint
    from broker_core.config.security import SecurityConfig
    from broker_core.replication.cluster_settings import FindRecord
    from broker_core.tasks import Spawn

REDIRECTS_MAX = 20
Attempt = asyncio.Task["RemoteConnection | CannotReplicate"]


class RemoteCluster:
    def __init__(self, name: str, record_of: FindRecord, config: SecurityConfig, spawn: Spawn) -> None:
        self.name = name
        self.on_change: set[Callable[[], None]] = set()
        self._record_of = record_of
        self._config = config
        self._spawn = spawn
        self._settings: ClusterSettings | None = None
        self._connections: dict[tuple[Endpoint, Endpoint | None], Attempt] = {}

    def settings(self) -> ClusterSettings:
        """The settings in the record as it is now. Raises `CannotReplicate`."""
        settings = ClusterSettings.of(self.name, self._record_of(self.name), self._config)
        if self._settings is not None and settings != self._settings:
            self._close(f"the record of cluster {self.name} changed")
        self._settings = settings
        return settings

    def changed(self) -> None:
        """The record changed: what depends on it starts over."""
        self._close(f"the record of cluster {self.name} changed")
        self._wake_all()

    async def connect(self, topic: str) -> RemoteConnection:
        """The connection to the broker that serves the topic. Raises `CannotReplicate`.

        A broker accepts a producer only on a topic that was looked up, so this comes before each PRODUCER.
        """
        settings = self.settings()
        connection, authoritative = await self._any(settings), False
        for _ in range(REDIRECTS_MAX):
            answer = await _lookup(connection, topic, settings.listener, authoritative=authoritative)
            owner = _owner(answer, settings)
            if answer.response == CommandLookupTopicResponse.Connect:
                if answer.proxy_through_service_url:
                    return await self._connection(settings, connection.via, owner)
                return await self._connection(settings, owner)
            connection, authoritative = await self._connection(settings, owner), answer.authoritative
        raise CannotReplicate(f"cannot look up {topic}: more than {REDIRECTS_MAX} redirects")

    async def _any(self, settings: ClusterSettings) -> RemoteConnection:
        """A connection to the first address that answers."""
        failure: CannotReplicate | None = None
        for address in settings.addresses:
            try:
                return await self._connection(settings, address)
            except ConnectionLost as error:
                failure = error
        assert failure is not None, "a URL names at least one address"
        raise failure

    async def _connection(
        self, settings: ClusterSettings, via: Endpoint, proxied: Endpoint | None = None
    ) -> RemoteConnection:
        """The replicators of many topics share one attempt to connect."""
        key = via, None if proxied == via else proxied
        task = self._connections.get(key)
        if task is None or (task.done() and _is_over(task)):
            task = self._connections[key] = self._spawn(self._opened(settings, *key))
        await asyncio.wait([task])
        if task.cancelled():
            raise ConnectionLost(f"the record of cluster {self.name} changed")
        outcome = task.result()
        if isinstance(outcome, CannotReplicate):
            raise ConnectionLost(str(outcome))
        return outcome

    async def _opened(
        self, settings: ClusterSettings, via: Endpoint, proxied: Endpoint | None
    ) -> RemoteConnection | CannotReplicate:
        """The error as a result: each of those who wait reports it, and not the owner of the task."""
        try:
            connection = await RemoteConnection.open(settings, via, proxied)
        except CannotReplicate as error:
            return error
        self._wake_all()  # the cluster is back: the other topics do not wait for the end of their pauses
        return connection

    def _wake_all(self) -> None:
        for wake in list(self.on_change):
            wake()

    def close(self) -> None:
        """Close all connections, because the broker stops."""
        self._close("the broker stops")

    def _close(self, reason: str) -> None:
        attempts, self._connections = list(self._connections.values()), {}
        for attempt in attempts:
            if not attempt.done():
                attempt.cancel()
            elif (connection := _opened_by(attempt)) is not None:
                connection.close(reason)


def _is_over(attempt: Attempt) -> bool:
    """Whether it failed, or what it connected has been lost."""
    connection = _opened_by(attempt)
    return connection is None or connection.lost is not None


def _opened_by(attempt: Attempt) -> RemoteConnection | None:
    """The connection of an attempt that has ended; None if it failed, also with an unexpected error."""
    if attempt.cancelled() or attempt.exception() is not None:
        return None
    outcome = attempt.result()
    return None if isinstance(outcome, CannotReplicate) else outcome


async def _lookup(
    connection: RemoteConnection, topic: str, listener: str, *, authoritative: bool
) -> CommandLookupTopicResponse:
    answer = await connection.request(
        lambda request_id: client_commands.lookup(
            request_id, topic, authoritative=authoritative, listener=listener or None
        ),
        CommandLookupTopicResponse,
        f"look up {topic}",
    )
    if answer.response == CommandLookupTopicResponse.Failed:
        raise refusal(f"look up {topic} at {connection.url}", answer.error, answer.message)
    return answer


def _owner(answer: CommandLookupTopicResponse, settings: ClusterSettings) -> Endpoint:
    url = answer.brokerServiceUrlTls if settings.is_tls else answer.brokerServiceUrl
    if not url:
        scheme = TLS if settings.is_tls else PLAIN
        raise CannotReplicate(f"cluster {settings.cluster} serves the topic at no {scheme} address")
    return addresses_of(url)[0]
