"""A connection from the proxy to a broker, made for one client: first the handshake, then requests or a splice.

Each client has its own links, because a broker judges a request by the identity of its connection.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from broker_core.errors import BrokerError, BrokerUnreachable, ProtocolViolation
from broker_core.proxy.addresses import Endpoint
from broker_core.proxy.frames import Frames, command_in, frame_of
from broker_core.proxy.introduction import Introduction
from broker_core.wire import client_commands, commands
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand

HANDSHAKE_FRAME = 64 * 1024


class BrokerRefused(BrokerUnreachable):
    """The broker answered CONNECT with an ERROR; `frame` is for the client."""

    def __init__(self, command: Command, frame: bytes) -> None:
        super().__init__(command.message.message)
        self.command = command
        self.frame = frame


class BrokerLink(asyncio.Protocol):
    """`challenged` passes the frame of an AUTH_CHALLENGE to the client, which may answer by `send`."""

    def __init__(
        self, target: Endpoint, introduction: Introduction, most: int, challenged: Callable[[BrokerLink, bytes], None]
    ) -> None:
        self.target = target
        self._introduction = introduction
        self._most = most
        self._challenged = challenged
        self._frames = Frames(HANDSHAKE_FRAME)
        self._connected: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._splices = False
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Command]] = {}
        self.is_lost = False
        self.greeting = b""  # the frame of the broker's CONNECTED

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]  # uvloop's is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(BrokerUnreachable(f"lost the connection to the broker at {self.target}"))

    async def shake_hands(self, *, splices: bool) -> None:
        """Returns after the broker's CONNECTED, the `greeting`. With `splices`, nothing is read after it.

        Raises `BrokerRefused` or `BrokerUnreachable`; the caller has the deadline.
        """
        self._splices = splices
        try:
            self.send(self._introduction.connect())
            self.greeting = await self._connected
        except BaseException:
            self.close()
            raise

    def rest(self) -> bytes:
        """What came after CONNECTED."""
        return self._frames.rest()

    async def ask(self, command: Command) -> Command:
        """The response to a request, with the client's request ID in it. Raises `BrokerUnreachable`."""
        if self.is_lost:
            raise BrokerUnreachable(f"lost the connection to the broker at {self.target}")
        request_id = next(self._ids)
        answer: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = answer
        try:
            self.send(frame_of(command, request_id=request_id))
            found = await answer
        finally:
            del self._asked[request_id]
        found.message.request_id = command.message.request_id
        return found

    def send(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def close(self) -> None:
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        self._frames.feed(data)
        try:
            while not (self._splices and self._connected.done()):
                whole = self._frames.next()
                if whole is None:
                    return
                self._on_frame(whole)
        except BrokerError as error:
            self._end(error)
            self.transport.abort()
            return
        self.transport.pause_reading()

    def _on_frame(self, whole: bytes) -> None:
        command = command_in(whole)
        if command.type == BaseCommand.PING:
            self.send(commands.pong())
        elif command.type == BaseCommand.AUTH_CHALLENGE:
            self._on_challenge(whole, command.message)
        elif not self._connected.done():
            self._on_handshake(whole, command)
        else:
            self._on_response(command)

    def _on_handshake(self, whole: bytes, command: Command) -> None:
        if command.type == BaseCommand.ERROR:
            raise BrokerRefused(command, whole)
        if command.type != BaseCommand.CONNECTED:
            raise ProtocolViolation(f"the broker at {self.target} answers CONNECT with a command {command.type}")
        self._frames.most = self._most
        self._connected.set_result(whole)

    def _on_response(self, command: Command) -> None:
        request_id = getattr(command.message, "request_id", None)
        answer = self._asked.get(request_id) if request_id is not None else None
        if answer is not None and not answer.done():
            answer.set_result(command)

    def _on_challenge(self, whole: bytes, challenge: Any) -> None:
        """The broker wants credentials again: the client's if it knows them, else those of the proxy."""
        introduction = self._introduction
        handshake = not self._connected.done()
        if introduction.client_can_renew and not (handshake and introduction.answers_for_client):
            self._challenged(self, whole)
        elif introduction.own is not None:
            version, own = introduction.client.client_version, introduction.own
            self.send(client_commands.auth_response(version, own.method, own.data()))

    def _end(self, error: BrokerError) -> None:
        self.is_lost = True
        waiters: list[asyncio.Future[Any]] = [self._connected, *self._asked.values()]
        for waiting in waiters:
            if not waiting.done():
                waiting.set_exception(error)
                waiting.exception()  # marks it as seen: the client may have left
