"""One client until it is spliced to a broker: CONNECT, authentication, and the requests of a lookup connection.

CONNECT says what a connection is for. With `proxy_to_broker_url` it is spliced to that broker at once. Without it the
client looks up topics, and the proxy answers, once a broker does. If such a client sends anything else, as after a
lookup over HTTP, it means the only broker there is.

Frames are handled one at a time: while the proxy authenticates or connects to a broker, it does not read the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from enum import Enum, auto
from typing import Any

from broker_core.broker_client.addresses import Endpoint, parse_target
from broker_core.client_log import ClientLog
from broker_core.config import descriptors
from broker_core.errors import BrokerError, BrokerUnreachable, ProtocolViolation, TooManyRequests
from broker_core.proxy.broker_link import BrokerLink, BrokerRefused
from broker_core.proxy.dialing import REFUSED as TARGET_REFUSED
from broker_core.proxy.gateway import Gateway
from broker_core.proxy.handshake import Handshake
from broker_core.proxy.lookups import METRIC_NAMES, Lookups, refusal
from broker_core.proxy.splice import Splice
from broker_core.security.peer_certificate import peer_certificate
from broker_core.security.unauthenticated import TOO_MANY, UnauthenticatedConnection
from broker_core.server.liveness import Liveness
from broker_core.tasks import close_with
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, FrameDecoder, Item

log = ClientLog(__name__)

FRAME_MAX = 64 * 1024  # a token has a few KiB, and no request of a lookup connection is larger
REQUESTS_PER_CLIENT = 1_000  # in flight


class State(Enum):
    NEW = auto()
    LOOKING_UP = auto()
    SPLICED = auto()
    CLOSED = auto()


class ClientConnection(asyncio.Protocol):
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._decoder = FrameDecoder(FRAME_MAX, gateway.bounds, items_max=1)
        self._unread = b""
        self._state = State.NEW
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._handshake: Handshake | None = None
        self._lookups: Lookups | None = None
        self._challengers: list[BrokerLink] = []  # brokers that wait for new credentials of the client
        self._liveness = Liveness(self, gateway.config.limits.keep_alive_seconds, lambda: True, lambda: self._busy)
        self._is_counted = False
        self._unauthenticated: UnauthenticatedConnection | None = None  # until the client has authenticated

    # -- life --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]  # uvloop's is not a subclass
        host, port = (transport.get_extra_info("peername") or ("gone", 0))[:2]
        self.host, self.address = str(host), f"/{host}:{port}"
        gateway = self._gateway
        gateway.arrived(self)
        gateway.counts.new += 1
        if refused := self._admit(descriptors.descriptor_of(transport)):
            gateway.counts.rejected_connections += 1
            self._send_error(pb.NotAllowedError, refused)

    def _admit(self, descriptor: int) -> str:
        """Why the connection is refused, or ""."""
        if descriptors.are_scarce(descriptor):
            return descriptors.TOO_MANY
        if refused := self._gateway.connection_count.take(self.host):
            return refused
        self._is_counted = True
        self._unauthenticated = self._gateway.security.unauthenticated.admit(self.host, self.give_up)
        return "" if self._unauthenticated is not None else TOO_MANY

    def _leave_count(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._gateway.connection_count.free(self.host)

    def connection_lost(self, exc: Exception | None) -> None:
        self.left()
        self._leave_count()

    def left(self) -> None:
        """The connection is closed, or a splice has it."""
        if self._state is not State.SPLICED:
            self._state = State.CLOSED
        self._gateway.left(self)
        self.authenticated()
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        self._liveness.stop()
        del self._liveness  # the cycle would keep the memory until a garbage collection
        if self._handshake is not None:
            self._handshake.end()
        if self._lookups is not None:
            self._lookups.close()

    def authenticated(self) -> None:
        if self._unauthenticated is not None:
            self._unauthenticated.leave()
            self._unauthenticated = None

    @property
    def is_closed(self) -> bool:
        return self._state in (State.CLOSED, State.SPLICED) or self.transport.is_closing()

    @property
    def is_asking(self) -> bool:
        return bool(self._tasks)

    @property
    def certificate(self) -> bytes:
        """The client's certificate in DER form, verified by TLS; empty without one."""
        return peer_certificate(self.transport)

    def send(self, data: bytes) -> None:
        if not self.is_closed:
            self.transport.write(data)

    def give_up(self, reason: str) -> None:
        if not self.is_closed:
            log.info(self.host, "", "closing the connection of %s: %s", self.address, reason)
        self.transport.abort()

    def close(self) -> None:
        """Sends what is queued, then closes."""
        self.transport.close()

    def _send_error(self, server_error: int, reason: str) -> None:
        self.send(commands.error(commands.BROKER_REQUEST_ID, server_error, reason))
        self.close()

    # -- in ----------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._liveness.heard = True
        self._unread += data
        self._read()

    def _read(self) -> None:
        try:
            while not self._busy and not self.is_closed and (self._unread or self._decoder.more):
                data, self._unread = self._unread, b""
                for item in self._decoder.feed(data):
                    self._on_item(item)
        except (ProtocolError, ProtocolViolation) as error:
            self.give_up(str(error))

    def _on_item(self, item: Item) -> None:
        if not isinstance(item, Command):
            raise ProtocolViolation("the client sent a message without a producer")
        if item.flaw is not None:
            self._send_error(*item.flaw)
        elif self._state is State.NEW:
            if item.type != pb.BaseCommand.CONNECT:
                raise ProtocolViolation("the client sent a command before CONNECT")
            self._alone(self._connect(item.message))
        else:
            self._on_command(item)

    def _on_command(self, command: Command) -> None:
        assert self._handshake is not None
        if command.type == pb.BaseCommand.PING:
            self.send(commands.pong())
        elif command.type == pb.BaseCommand.PONG:
            pass  # any command shows that the client is alive
        elif command.type == pb.BaseCommand.AUTH_RESPONSE:
            self._alone(self._renew(command))
        elif self._handshake.refusal is not None:
            self._refuse_request(command, self._handshake.refusal)
            self.close()
        elif command.type in METRIC_NAMES:
            self._look_up(command)
        elif command.type == pb.BaseCommand.CONNECT:
            raise ProtocolViolation("the client sent a second CONNECT")
        else:
            self._alone(self._join_only_broker(command))

    def _alone(self, work: Coroutine[Any, Any, None]) -> None:
        """Reads no further frame until the work is done."""
        self._busy = True
        if not self.transport.is_closing():
            self.transport.pause_reading()
        close_with(self._spawn(self._to_the_end(work)), work)

    async def _to_the_end(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await self._or_refused(work)
        finally:
            self._busy = False
        if not self.is_closed:
            self.transport.resume_reading()
            self._read()

    async def _or_refused(self, work: Coroutine[Any, Any, None]) -> None:
        """A failure ends the connection, and the client learns why."""
        try:
            await work
        except BrokerRefused as error:
            self.send(error.frame)
            self.close()
        except BrokerError as error:
            if error.closes_connection:
                self.give_up(str(error))
            else:
                self._send_error(error.server_error, error.reason)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._gateway.spawn(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- handshake ---------------------------------------------------------------------------------------

    async def _connect(self, command: pb.CommandConnect) -> None:
        self._handshake = handshake = Handshake(self._gateway, self, command)
        await handshake.authenticate()
        self.authenticated()
        if handshake.refusal is not None or not command.HasField("proxy_to_broker_url"):
            self._begin_lookups(handshake)
            return
        if command.proxy_to_broker_url:
            link = await self._link_to_splice(_target(command.proxy_to_broker_url))
        else:
            link = await self._gateway.brokers.first(self._link_to_splice)
        self._splice(link, b"", greets=True)

    def _begin_lookups(self, handshake: Handshake) -> None:
        gateway = self._gateway
        tls = gateway.config.brokers.tls
        self._lookups = Lookups(
            gateway.brokers,
            self._open_link,
            lambda target: gateway.dialer.check(target, self.host),
            host=self.host,
            tls=tls,
        )
        self._state = State.LOOKING_UP
        welcome = self._welcome(handshake, self._lookups)
        work = self._or_refused(welcome)
        task = self._spawn(work)  # frames are read meanwhile: the broker may have a question for the client
        close_with(task, work)
        close_with(task, welcome)

    async def _welcome(self, handshake: Handshake, lookups: Lookups) -> None:
        """CONNECTED. Raises `BrokerUnreachable` if no broker can be reached, which the client would not learn from its
        lookups: official clients repeat those until their timeout.
        """
        features = await lookups.reach_a_broker() if handshake.refusal is None else pb.FeatureFlags()
        self.send(handshake.connected(features))
        handshake.watch_expiry()
        self._liveness.start()

    async def _renew(self, command: Command) -> None:
        """New credentials of the client, for the proxy, and for the brokers that asked."""
        assert self._handshake is not None
        await self._handshake.renew(command.message)
        while self._challengers:
            self._challengers.pop().send(commands.frame_of(command))

    def _challenged(self, link: BrokerLink, frame: bytes) -> None:
        """A broker wants new credentials of the client."""
        if link not in self._challengers:
            self._challengers.append(link)
        self.send(frame)

    # -- requests ----------------------------------------------------------------------------------------

    def _look_up(self, command: Command) -> None:
        gateway, name = self._gateway, METRIC_NAMES[command.type]
        gateway.counts.requests[name] += 1
        most = gateway.config.limits.max_lookups
        if gateway.looking_up >= most or len(self._tasks) >= REQUESTS_PER_CLIENT:
            gateway.counts.rejected[name] += 1
            self._refuse_request(command, TooManyRequests("Too many concurrent lookup and partitionsMetadata requests"))
            return
        self._spawn(self._answer(command))

    async def _answer(self, command: Command) -> None:
        assert self._lookups is not None
        gateway = self._gateway
        gateway.looking_up += 1
        try:
            async with asyncio.timeout(gateway.dialer.seconds):
                self.send(await self._lookups.answer(command))
        except TimeoutError:
            reason = f"no broker answered within {gateway.dialer.seconds:g} s"
            self._refuse_request(command, BrokerUnreachable(reason))
        except BrokerError as error:
            self._refuse_request(command, error)
        finally:
            gateway.looking_up -= 1

    def _refuse_request(self, command: Command, error: BrokerError) -> None:
        if "request_id" in command.message.DESCRIPTOR.fields_by_name:
            self.send(refusal(command, error))

    # -- brokers -----------------------------------------------------------------------------------------

    async def _open_link(self, target: Endpoint, *, splices: bool = False) -> BrokerLink:
        assert self._handshake is not None
        gateway, introduction = self._gateway, self._handshake.introduction
        most = gateway.config.limits.max_message_size
        link = await gateway.dialer.open(
            target, self.host, lambda: BrokerLink(target, introduction, most, self._challenged, splices=splices)
        )
        try:
            async with asyncio.timeout(gateway.dialer.seconds):
                await link.introduce()
        except TimeoutError:
            raise BrokerUnreachable(f"the broker at {target} did not answer CONNECT") from None
        return link

    async def _join_only_broker(self, command: Command) -> None:
        """The client speaks to this address as to its broker, and has CONNECTED already."""
        endpoints = self._gateway.brokers.endpoints
        if len(endpoints) > 1:
            raise ProtocolViolation(
                "a command other than a lookup needs proxy_to_broker_url: there are several brokers"
            )
        others = [task for task in self._tasks if task is not asyncio.current_task()]
        await asyncio.gather(*others, return_exceptions=True)
        self._splice(await self._link_to_splice(endpoints[0]), commands.frame_of(command), greets=False)

    async def _link_to_splice(self, target: Endpoint) -> BrokerLink:
        return await self._open_link(target, splices=True)

    def _splice(self, link: BrokerLink, early: bytes, *, greets: bool) -> None:
        """Hands the connection over; the client has sent `early`, and `greets` passes the broker's CONNECTED on."""
        assert self._handshake is not None
        if self.is_closed or link.transport is None:
            link.close()
            return
        gateway, limits = self._gateway, self._gateway.config.limits
        splice = Splice(
            self.transport,
            link.transport,
            buffer_bytes=limits.write_buffer_bytes,
            silence_seconds=gateway.config.brokers.silence_seconds,
            ended=self._splice_ended,
        )
        gateway.spliced(splice, self.address, str(link.target))
        self._state = State.SPLICED
        self.left()
        self._handshake.watch_splice(splice)
        early += self._decoder.rest + self._unread
        del self._decoder, self._unread  # the splice keeps this object for as long as it lives
        splice.start(early, (link.greeting if greets else b"") + link.early)

    def _splice_ended(self, splice: Splice) -> None:
        if self._handshake is not None:
            self._handshake.end()
        self._gateway.unspliced(splice)
        self._leave_count()


def _target(text: str) -> Endpoint:
    try:
        return parse_target(text)
    except BrokerError:
        raise BrokerUnreachable(TARGET_REFUSED) from None
