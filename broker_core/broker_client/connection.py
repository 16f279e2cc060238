"""A connection to another broker: requests by their IDs, and an end that fails everything that waits.

The rules of the protocol are those of every client (`wire.client_protocol`). Deadlines, and what an error says, are the
owner's.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from broker_core.wire.client_protocol import ClientProtocol, Credentials
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import CommandConnected


class BrokerConnection(ClientProtocol, asyncio.Protocol):
    """`lost`: why it ended; None while it is open. `data_received` raises what a subclass makes its end."""

    def __init__(self, client_version: str, credentials: Credentials | None) -> None:
        super().__init__(client_version, credentials)
        self.lost: Exception | None = None
        self.transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._greeting: asyncio.Future[CommandConnected] = self._loop.create_future()
        self._ids = itertools.count(1)
        self._replies: dict[int, asyncio.Future[Command]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # uvloop's is not a subclass

    async def shake_hands(self, connect: bytes) -> CommandConnected:
        """The answer to CONNECT. Raises `refusal`, or why the connection ended."""
        self.send(connect)
        return await self._greeting

    async def ask(self, frame_of: Callable[[int], bytes]) -> Command:
        """Sends the frame for a new request ID; returns its answer. Raises why the connection ended."""
        if self.lost is not None:
            raise self.lost
        request_id = next(self._ids)
        reply: asyncio.Future[Command] = self._loop.create_future()
        self._replies[request_id] = reply
        try:
            self.send(frame_of(request_id))
            return await reply
        finally:
            del self._replies[request_id]

    def send(self, frames: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(frames)

    def data_received(self, data: bytes) -> None:
        for item in self.decoder.feed(data):
            if isinstance(item, Command) and not self.answers(item):
                self.on_command(item)

    def greeted(self, connected: CommandConnected) -> None:
        super().greeted(connected)
        _resolve(self._greeting, connected)

    def on_command(self, command: Command) -> None:
        """Takes the answer to a request."""
        reply = self._replies.get(getattr(command.message, "request_id", -1))
        if reply is not None:
            _resolve(reply, command)

    def end(self, error: Exception) -> None:
        """Fails everything that waits; the first error counts."""
        if self.lost is not None:
            return
        self.lost = error
        waiters: list[asyncio.Future[Any]] = [self._greeting, *self._replies.values()]
        for waiting in waiters:
            if not waiting.done():
                waiting.set_exception(error)
                waiting.exception()  # marks it as seen: its owner may have given up
        if self.transport is not None:
            self.transport.abort()


def _resolve(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)
