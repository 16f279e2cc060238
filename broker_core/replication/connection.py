"""A connection to a broker of another cluster, shared by the replicators whose topics it serves.

Every wait has a deadline. A task reads: it hands receipts to their producers, answers PING, and sends PING itself when
the other side is silent. Whatever ends the connection fails its requests and its producers once, with the reason.
`turn` lets one replicator write at a time, so that a slow broker holds one block of entries in memory and not one of
each topic. docs/protocol.md "Connections" states the rules.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from broker_core import __version__
from broker_core.replication.errors import CannotReplicate, ClosedThere, ConnectionLost, Refused
from broker_core.wire import client_commands, commands
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSendError, CommandSendReceipt, ServerError
from broker_core.wire.wrong_port import WEB_SERVER_ANSWERED, is_web_server

if TYPE_CHECKING:
    from broker_core.replication.cluster_settings import Address, ClusterSettings
    from broker_core.tasks import Spawn

log = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
FRAME_PADDING_BYTES = 10 * 1024  # of a frame beyond the largest message, as brokers allow
MAX_MESSAGE_BYTES = 5 * 1024 * 1024  # until CONNECTED says otherwise
REQUEST_SECONDS = 30.0  # for connecting, and for the answer to a request
STALL_SECONDS = 60.0  # without taking any bytes, or without saying anything
PING_SECONDS = 30.0
CLIENT_VERSION = f"pulsarctl-{__version__}"

Reply = TypeVar("Reply")
_ERROR_NAMES: dict[int, str] = {number: name for name, number in ServerError.items()}
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


class RemoteConnection:
    """Made by `open`, with the handshake complete."""

    def __init__(self, settings: ClusterSettings, via: Address, proxied: Address | None) -> None:
        self.url = f"{settings.cluster} at {proxied or via}"
        self.turn = asyncio.Lock()
        self.lost: ConnectionLost | None = None
        self.max_message_size = MAX_MESSAGE_BYTES
        self.names_source_positions = False
        """Whether the broker tells copies apart by their source positions (docs/geo-replication.md)."""
        self.asks_without_creating = False
        """Whether a question for a topic's partitions does not create the topic."""
        self.via = via
        self._settings = settings
        self._proxied = proxied
        self._ids = itertools.count(1)
        self._producer_ids = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._producers: dict[int, Attached] = {}
        self._decoder = FrameDecoder(MAX_MESSAGE_BYTES + FRAME_PADDING_BYTES)
        self._connected: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pinged = False
        self._last_receipt = asyncio.get_running_loop().time()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls, settings: ClusterSettings, via: Address, proxied: Address | None, spawn: Spawn
    ) -> RemoteConnection:
        """Connects to `via`, which may be a proxy for the broker `proxied`. Raises `CannotReplicate`."""
        connection = cls(settings, via, proxied)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await connection._open(spawn)
        except TimeoutError:
            raise connection._end(f"cannot connect to {connection.url}: no answer") from None
        except OSError as error:
            reason = error.strerror or str(error) or type(error).__name__
            raise connection._end(f"cannot connect to {connection.url}: {reason}") from error
        except BaseException:
            connection._end("the attempt to connect was given up")
            raise
        return connection

    async def _open(self, spawn: Spawn) -> None:
        credentials = self._settings.credentials
        data = await asyncio.to_thread(credentials.data)
        context = await asyncio.to_thread(self._settings.tls_context)
        name = (self._proxied or self.via).host if context is not None else None
        self._streams = await asyncio.open_connection(
            *self.via, limit=CHUNK_BYTES, ssl=context, server_hostname=name if context else None
        )
        self._task = spawn(self._read())
        self._write(
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
        self._begin(await self._connected)

    def _begin(self, connected: Any) -> None:
        if connected.HasField("max_message_size") and connected.max_message_size > 0:
            self.max_message_size = connected.max_message_size
            self._decoder.frame_size_max = max(MAX_MESSAGE_BYTES, self.max_message_size) + FRAME_PADDING_BYTES
        flags = connected.feature_flags
        self.names_source_positions = flags.supports_repl_dedup_by_lid_and_eid
        self.asks_without_creating = flags.supports_get_partitioned_metadata_without_auto_creation

    # -- out ---------------------------------------------------------------------------------------------

    async def request(self, frame_of: Callable[[int], bytes], reply: type[Reply], tried: str) -> Reply:
        """Sends the frame for a new request ID; returns its answer. Raises `Refused` or `ConnectionLost`.

        `tried` is for the reason: `cannot TRIED: ...`.
        """
        self.check()
        request_id = next(self._ids)
        future = self._replies[request_id] = asyncio.get_running_loop().create_future()
        try:
            self._write(frame_of(request_id))
            async with asyncio.timeout(REQUEST_SECONDS):
                found = await future
        except TimeoutError:
            raise self._end(f"cannot {tried}: {self.url} did not answer within {REQUEST_SECONDS:.0f} s") from None
        finally:
            del self._replies[request_id]
        if not isinstance(found, reply):
            raise refusal(tried, found.error, found.message)
        return found

    async def write(self, frames: bytes) -> None:
        """Queues frames, and waits until the broker takes bytes. Call it with `turn`. Raises `ConnectionLost`."""
        self.check()
        assert self._streams is not None, "`open` connected it"
        self._write(frames)
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await self._streams[1].drain()
        except TimeoutError:
            raise self._end(f"{self.url} took no bytes for {STALL_SECONDS:.0f} s") from None
        except OSError as error:
            raise self._end(f"lost the connection to {self.url}: {error}") from error

    def _write(self, frames: bytes) -> None:
        if self._streams is not None and self.lost is None:
            self._streams[1].write(frames)

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
            self._write(commands.close_producer(producer_id, next(self._ids)))

    # -- in ----------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        assert self._streams is not None, "`_open` connected it"
        reader = self._streams[0]
        try:
            while self.lost is None:
                try:
                    async with asyncio.timeout(PING_SECONDS):
                        chunk = await reader.read(CHUNK_BYTES)
                except TimeoutError:
                    self._silent()
                    continue
                if not chunk:
                    self._end(f"{self.url} closed the connection")
                    return
                self._pinged = False
                self._take(chunk)
        except (OSError, ProtocolError) as error:
            self._end(f"lost the connection to {self.url}: {error}")
        finally:
            self._end(f"the connection to {self.url} was closed")

    def _silent(self) -> None:
        if self._pinged:
            self._end(f"{self.url} has been silent for {2 * PING_SECONDS:.0f} s")
        self._pinged = True
        self._write(commands.ping())

    def _take(self, chunk: bytes) -> None:
        if is_web_server(chunk) and not self._connected.done():
            self._end(f"cannot connect to {self.url}: {WEB_SERVER_ANSWERED}")
            return
        touched: dict[int, Attached] = {}
        for item in self._decoder.feed(chunk):
            if not isinstance(item, Command):
                continue
            if item.type in _OF_PRODUCERS:
                self._to_producer(item, touched)
            else:
                self._answer(item)
        if touched:
            self._last_receipt = asyncio.get_running_loop().time()
        for producer in touched.values():
            producer.settle()

    def _to_producer(self, item: Command, touched: dict[int, Attached]) -> None:
        producer = self._producers.get(item.message.producer_id)
        if producer is None:
            return
        if item.type == BaseCommand.SEND_RECEIPT:
            producer.received(item.message)
            touched[item.message.producer_id] = producer
        elif item.type == BaseCommand.SEND_ERROR:
            producer.refused(item.message)
        else:
            del self._producers[item.message.producer_id]
            producer.failed(ClosedThere(f"{self.url} closed the producer"))

    def _answer(self, item: Command) -> None:
        if item.type == BaseCommand.PING:
            self._write(commands.pong())
        elif item.type == BaseCommand.CONNECTED:
            self._resolve(self._connected, item.message)
        elif item.type == BaseCommand.AUTH_CHALLENGE:
            self._prove()
        elif item.type == BaseCommand.ERROR and not self._connected.done():
            self._connected.set_exception(refusal(f"connect to {self.url}", item.message.error, item.message.message))
        elif (waiting := self._replies.get(getattr(item.message, "request_id", -1))) is not None:
            self._resolve(waiting, item.message)

    def _prove(self) -> None:
        """Credentials expired over there, or are asked for again: reads them once more."""
        credentials = self._settings.credentials
        try:
            data = credentials.data()
        except CannotReplicate as error:
            self._end(str(error))
            return
        self._write(client_commands.auth_response(CLIENT_VERSION, credentials.method, data))

    @staticmethod
    def _resolve(future: asyncio.Future[Any], value: Any) -> None:
        if not future.done():
            future.set_result(value)

    # -- end ---------------------------------------------------------------------------------------------

    def close(self, reason: str) -> None:
        self._end(reason)

    def close_without_receipts(self, seconds: float, reason: str) -> None:
        """Closes it unless a producer on it got a receipt within these seconds, so that only a slow topic waits."""
        if asyncio.get_running_loop().time() - self._last_receipt >= seconds:
            self._end(reason)

    def _end(self, reason: str) -> ConnectionLost:
        """Fails everything that waits, once; returns the error."""
        if self.lost is None:
            self.lost = ConnectionLost(reason)
            for future in (*self._replies.values(), self._connected):
                if not future.done():
                    future.set_exception(ConnectionLost(reason))
                    future.exception()  # marks it as seen: its owner may have given up
            for producer in list(self._producers.values()):
                producer.failed(self.lost)
            self._producers.clear()
            if self._streams is not None:
                self._streams[1].transport.abort()
            if self._task is not None:
                self._task.cancel()
        return self.lost


def refusal(tried: str, code: int, message: str) -> Refused:
    """The error for a broker's ServerError."""
    name = _ERROR_NAMES.get(code, f"error {code}")
    reason = name if message in ("", name) else f"{message} ({name})"
    return Refused(f"cannot {tried}: {reason}", code)
