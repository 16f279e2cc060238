"""A client that sends single commands, for tests of what official clients never do or hide."""

import socket
import ssl
import time
from collections import deque
from typing import Any, Self

from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command, FrameDecoder, MessageFrame
from broker_core.wire.pulsar_api_pb2 import BaseCommand

FRAME_SIZE_MAX = 6 * 1024 * 1024
DEADLINE_SECONDS = 10.0


class Closed(Exception):
    """The broker closed the connection."""


class RawClient:
    """A connected client. `next` returns items in order, and `expect` the next one of a type.

    What expects something skips PING; `next` does not.
    `context` is for a `pulsar+ssl` URL; `source` is the address from which the client comes, and `version` is that in
    CONNECT.
    """

    def __init__(
        self,
        service_url: str,
        *,
        handshake: bool = True,
        receive_buffer: int | None = None,
        context: ssl.SSLContext | None = None,
        source: str = "",
        version: str = "raw",
    ) -> None:
        host, _, port = service_url.partition("://")[2].rpartition(":")
        self.socket = socket.create_connection((host, int(port)), DEADLINE_SECONDS, (source, 0) if source else None)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._version = version
        self._decoder = FrameDecoder(FRAME_SIZE_MAX)
        self._items: deque[Any] = deque()
        if handshake:
            self._shake_hands()

    def _shake_hands(self) -> None:
        try:
            self.send(client_commands.connect(self._version))
            self.connected = self.expect(BaseCommand.CONNECTED)
        except BaseException:  # no caller gets this client, so none could close it
            self.close()
            raise

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, command: BaseCommand, answer: int) -> Any:
        self.send(frame(command))
        return self.expect(answer)

    def next(self, seconds: float = DEADLINE_SECONDS) -> Command | MessageFrame:
        """Raises `Closed`, or `TimeoutError` if nothing arrives in time."""
        deadline = time.monotonic() + seconds
        while not self._items:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                chunk = self.socket.recv(65536)
            except ConnectionError as error:
                raise Closed from error
            if not chunk:
                raise Closed
            self._items.extend(self._decoder.feed(chunk))
        found: Command | MessageFrame = self._items.popleft()
        return found

    @property
    def arrived(self) -> int:
        """How many items arrived together with the last one, after it."""
        return len(self._items)

    def expect_any(self, seconds: float = DEADLINE_SECONDS) -> Any:
        """The next command, except PING."""
        return self._next_except_ping(seconds).message

    def expect(self, kind: int, seconds: float = DEADLINE_SECONDS) -> Any:
        """The next command, except PING; it must have that type."""
        item = self.next(seconds) if kind == BaseCommand.PING else self._next_except_ping(seconds)
        found = BaseCommand.MESSAGE if isinstance(item, MessageFrame) else item.type
        assert found == kind, item
        return item.message

    def expect_entry(self, seconds: float = DEADLINE_SECONDS) -> MessageFrame:
        """Like `expect` for MESSAGE, with what the message contains."""
        item = self._next_except_ping(seconds)
        assert isinstance(item, MessageFrame), item
        return item

    def _next_except_ping(self, seconds: float) -> Command | MessageFrame:
        while isinstance(item := self.next(seconds), Command) and item.type == BaseCommand.PING:
            pass
        return item

    def is_closed(self, seconds: float = DEADLINE_SECONDS) -> bool:
        """Whether the broker closes the connection within that time; ignores what it sends before."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                self.next(max(deadline - time.monotonic(), 0.001))
        except Closed:
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
