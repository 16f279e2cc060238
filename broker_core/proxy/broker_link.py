"""A connection from the proxy to a broker, made for one client: first the handshake, then requests or a splice.

Each client has its own links, because a broker judges a request by the identity of its connection.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from broker_core.broker_client.addresses import Endpoint
from broker_core.broker_client.connection import BrokerConnection
from broker_core.errors import BrokerError, BrokerUnreachable, ProtocolViolation
from broker_core.proxy.introduction import Introduction
from broker_core.wire.commands import frame_of
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandAuthChallenge, CommandConnected, CommandError

HANDSHAKE_FRAME = 64 * 1024


class BrokerRefused(BrokerUnreachable):
    """The broker answered with an ERROR for the whole connection; `frame` is for the client."""

    def __init__(self, error: CommandError) -> None:
        super().__init__(error.message)
        self.frame = frame_of(Command(BaseCommand.ERROR, error))


class BrokerLink(BrokerConnection):
    """`challenged` passes the frame of an AUTH_CHALLENGE to the client, which may answer by `send`.

    With `splices`, nothing is read after the handshake: `greeting` is the frame of the broker's CONNECTED, and `early`
    has what came after it.
    """

    def __init__(
        self,
        target: Endpoint,
        introduction: Introduction,
        most: int,
        challenged: Callable[[BrokerLink, bytes], None],
        *,
        splices: bool,
    ) -> None:
        super().__init__(introduction.client.client_version, introduction.own)
        self.decoder = FrameDecoder(HANDSHAKE_FRAME, items_max=1 if splices else sys.maxsize)
        self.target = target
        self.greeting = self.early = b""
        self._introduction = introduction
        self._most = most
        self._challenged = challenged
        self._splices = splices

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(BrokerUnreachable(f"lost the connection to the broker at {self.target}"))

    async def introduce(self) -> None:
        """Returns after the broker's CONNECTED. Raises `BrokerError`; the caller has the deadline."""
        try:
            await self.shake_hands(self._introduction.connect())
        except BaseException:
            self.close()
            raise

    async def pass_on(self, command: Command) -> Command:
        """The response to a request, with the client's request ID in it. Raises `BrokerError`."""
        response = await self.ask(lambda request_id: frame_of(command, request_id=request_id))
        response.message.request_id = command.message.request_id
        return response

    def close(self) -> None:
        """At once: its client is gone, and the end of TLS would wait for the broker's answer."""
        if self.transport is not None:
            self.transport.abort()

    @property
    def _is_handed_over(self) -> bool:
        return self._splices and self.connected is not None

    def data_received(self, data: bytes) -> None:
        if self._is_handed_over:
            self.early += data
            return
        try:
            super().data_received(data)
            while self.decoder.more and not self._is_handed_over:
                super().data_received(b"")
        except ProtocolError as error:
            self.end(ProtocolViolation(str(error)))
        except BrokerError as error:
            self.end(error)
        if self._is_handed_over and self.transport is not None:
            self.early = self.decoder.rest
            self.transport.pause_reading()

    def greeted(self, connected: CommandConnected) -> None:
        super().greeted(connected)
        self.greeting = frame_of(Command(BaseCommand.CONNECTED, connected))
        self.decoder.frame_size_max = self._most

    def on_command(self, command: Command) -> None:
        if self.connected is None:
            raise ProtocolViolation(f"the broker at {self.target} answers CONNECT with a command {command.type}")
        super().on_command(command)

    def refusal(self, error: CommandError) -> BrokerRefused:
        return BrokerRefused(error)

    def prove(self, challenge: CommandAuthChallenge) -> None:
        """The broker wants credentials again: the client's if it knows them, else those of the proxy."""
        introduction = self._introduction
        if introduction.client_can_renew and (self.connected is not None or not introduction.answers_for_client):
            self._challenged(self, frame_of(Command(BaseCommand.AUTH_CHALLENGE, challenge)))
        elif introduction.own is not None:
            super().prove(challenge)
