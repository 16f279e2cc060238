"""A connection to a broker of another cluster, shared by the replicators whose topics it serves.

Every wait has a deadline. It hands receipts to their producers, and sends PING when the other side is silent. Whatever
ends the connection fails its requests and its producers once, with the reason. `writing` lets one replicator write at a
time, so that a slow broker holds one block of entries in memory and not one of each topic.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from broker_core import __version__
from broker_core.broker_client.connection import BrokerConnection
from broker_core.replication.errors import CannotReplicate, ClosedThere, ConnectionLost, Refused
from broker_core.wire import client_commands, commands
from broker_core.wire.client_protocol import MAX_MESSAGE_BYTES, reason_of
from broker_core.wire.errors import ProtocolError
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandError, CommandSendError, CommandSendReceipt
from broker_core.wire.wrong_port import WEB_SERVER_ANSWERED, is_web_server

if TYPE_CHECKING:
    from broker_core.broker_client.addresses import Endpoint
    from broker_core.replication.cluster_settings import ClusterSettings
    from broker_core.wire.frame import Command

REQUEST_SECONDS = 30.0  # for connecting, and for the answer to a request
STALL_SECONDS = 60.0  # seconds in which the other side takes no bytes
PING_SECONDS = 30.0
CLIENT_VERSION = f"pulsarctl-{__version__}"

Reply = TypeVar("Reply")
_OF_PRODUCERS = (BaseCommand.SEND_RECEIPT, BaseCommand.SEND_ERROR, BaseCommand.CLOSE_PRODUCER)


class Attached(Protocol):
    """A producer as its connection sees it."""

    def received(self, receipt: CommandSendReceipt) -> None:
        """A receipt, in the order of arrival."""

    def settle(self) -> None:
        """No more receipts have arrived for now."""

    def refused(self, error: CommandSendError) -> None:
        """The broker did not store a message."""

    def failed(self, error: CannotReplicate) -> None:
        """It can send no more."""


class RemoteConnection(BrokerConnection):
    """Made by `open`, with the handshake complete."""

    def __init__(self, settings: ClusterSettings, via: Endpoint, proxied: Endpoint | None) -> None:
        super().__init__(CLIENT_VERSION, settings.credentials)
        self.url = f"{settings.cluster} at {proxied or via}"
        self.writing = asyncio.Lock()
        self.max_message_size = MAX_MESSAGE_BYTES
        self.names_source_positions = False
        """Whether the broker tells copies apart by their source positions (docs/how-to/geo-replication.md)."""
        self.asks_without_creating = False
        """Whether a question for a topic's partitions does not create the topic."""
        self.via = via
        self._settings = settings
        self._proxied = proxied
        self._producer_ids = itertools.count(1)
        self._producers: dict[int, Attached] = {}
        self._confirmed: dict[int, Attached] = {}  # producers with receipts in the chunk that is read now
        self._writable = asyncio.Event()
        self._writable.set()
        self._heard = self._last_receipt = self._loop.time()
        self._watcher: asyncio.TimerHandle | None = None

    @classmethod
    async def open(cls, settings: ClusterSettings, via: Endpoint, proxied: Endpoint | None) -> RemoteConnection:
        """Connects to `via`, which may be a proxy for the broker `proxied`. Raises `CannotReplicate`."""
        connection = cls(settings, via, proxied)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await connection._open()
        except TimeoutError:
            raise connection.close(f"cannot connect to {connection.url}: no answer") from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise connection.close(f"cannot connect to {connection.url}: {reason}") from error
        except BaseException:
            connection.close("the attempt to connect was given up")
            raise
        return connection

    async def _open(self) -> None:
        credentials = self._settings.credentials
        data = await asyncio.to_thread(credentials.data)
        context = await asyncio.to_thread(self._settings.tls_context)
        name = (self._proxied or self.via).host if context is not None else None
        await self._loop.create_connection(lambda: self, *self.via, ssl=context, server_hostname=name)
        self._watch()
        connected = await self.shake_hands(
            client_commands.connect(
                CLIENT_VERSION,
                auth_method_name=credentials.method or None,
                auth_data=data or None,
                supports_broker_entry_metadata=True,
                proxy_to_broker_url=str(self._proxied) if self._proxied else None,
                supports_auth_refresh=True,
                supports_source_positions=True,
            )
        )
        if connected.max_message_size > 0:
            self.max_message_size = connected.max_message_size
        flags = connected.feature_flags
        self.names_source_positions = flags.supports_repl_dedup_by_lid_and_eid
        self.asks_without_creating = flags.supports_get_partitioned_metadata_without_auto_creation

    # -- out ---------------------------------------------------------------------------------------------

    async def request(self, frame_of: Callable[[int], bytes], reply: type[Reply], tried: str) -> Reply:
        """Sends the frame for a new request ID; returns its answer. Raises `Refused` or `ConnectionLost`.

        `tried` is for the reason: `cannot TRIED: ...`.
        """
        self.check()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                answer = (await self.ask(frame_of)).message
        except TimeoutError:
            raise self.close(f"cannot {tried}: {self.url} did not answer within {REQUEST_SECONDS:.0f} s") from None
        if not isinstance(answer, reply):
            raise refusal(tried, answer.error, answer.message)
        return answer

    async def write(self, frames: bytes) -> None:
        """Queues frames and waits until the broker takes bytes, with `writing` held. Raises `ConnectionLost`."""
        self.check()
        self.send(frames)
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self._writable.wait()
        except TimeoutError:
            raise self.close(f"{self.url} took no bytes for {STALL_SECONDS:.0f} s") from None
        self.check()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def check(self) -> None:
        """Raises `ConnectionLost` once the connection has ended."""
        if self.lost is not None:
            raise ConnectionLost(str(self.lost))

    # -- producers ---------------------------------------------------------------------------------------

    def new_producer_id(self) -> int:
        return next(self._producer_ids)

    def attach(self, producer_id: int, producer: Attached) -> None:
        self._producers[producer_id] = producer

    def detach(self, producer_id: int) -> None:
        """Closes the producer, without waiting for the answer."""
        if self._producers.pop(producer_id, None) is not None:
            self.send(commands.close_producer(producer_id, next(self._ids)))

    # -- in ----------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        if self.connected is None and is_web_server(data):
            self.close(f"cannot connect to {self.url}: {WEB_SERVER_ANSWERED}")
            return
        try:
            super().data_received(data)
        except ProtocolError as error:
            self.close(f"lost the connection to {self.url}: {error}")
        except CannotReplicate as error:
            self.close(str(error))
        self._settle()

    def on_command(self, command: Command) -> None:
        if command.type in _OF_PRODUCERS:
            self._to_producer(command)
        else:
            super().on_command(command)

    def _to_producer(self, command: Command) -> None:
        producer_id = command.message.producer_id
        producer = self._producers.get(producer_id)
        if producer is None:
            return
        if command.type == BaseCommand.SEND_RECEIPT:
            producer.received(command.message)
            self._confirmed[producer_id] = producer
        elif command.type == BaseCommand.SEND_ERROR:
            producer.refused(command.message)
        else:
            del self._producers[producer_id]
            producer.failed(ClosedThere(f"{self.url} closed the producer"))

    def _settle(self) -> None:
        """Settle receipts at the end of a chunk, so that they move a cursor together."""
        if self._confirmed:
            self._last_receipt = self._heard
            confirmed, self._confirmed = self._confirmed, {}
            for producer in confirmed.values():
                producer.settle()

    def refusal(self, error: CommandError) -> Refused:
        return refusal(f"connect to {self.url}", error.error, error.message)

    # -- end ---------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Sends PING to a silent broker, and closes the connection if that brings no answer."""
        silent = self._loop.time() - self._heard
        if silent >= 2 * PING_SECONDS:
            self.close(f"{self.url} has been silent for {2 * PING_SECONDS:.0f} s")
            return
        if silent >= PING_SECONDS:
            self.send(commands.ping())
        self._watcher = self._loop.call_later(PING_SECONDS - silent % PING_SECONDS, self._watch)

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f"{self.url} closed the connection" if exc is None else f"lost the connection to {self.url}: {exc}"
        self.close(reason)

    def close_without_receipts(self, seconds: float, reason: str) -> None:
        """Closes it unless a producer on it got a receipt within these seconds, so that only a slow topic waits."""
        if self._loop.time() - self._last_receipt >= seconds:
            self.close(reason)

    def close(self, reason: str) -> ConnectionLost:
        """Fails everything that waits, once; returns the error."""
        error = ConnectionLost(reason)
        if self.lost is None:
            self.end(error)
            self._writable.set()
            if self._watcher is not None:
                self._watcher.cancel()
            producers, self._producers = list(self._producers.values()), {}
            for producer in producers:
                producer.failed(error)
        return error


def refusal(tried: str, code: int, message: str) -> Refused:
    """The error for a broker's ServerError."""
    return Refused(f"cannot {tried}: {reason_of(code, message)}", code)
