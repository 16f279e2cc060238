"""The sockets of the admin API, which begins with the first client.

Its HTTP framework and its handlers take a quarter of the memory of a broker that has used them, and as much time as
everything else at the start. Many brokers never need them: those of tests, and those that a command runs for a moment.
So the first client has them imported. Until then the kernel keeps connections, as in socket activation.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

from broker_core.server.ports import BACKLOG

if TYPE_CHECKING:
    from broker_core.admin.app import AdminServer
    from broker_core.broker import Broker

RECEIVE_BYTES = 32 * 1024  # per read from a connection: a body may come in chunks of a byte


class AdminListener:
    """Takes connections from `listen` on; `context` is for `tls_sockets`."""

    def __init__(
        self, sockets: list[socket.socket], tls_sockets: list[socket.socket], context: ssl.SSLContext | None
    ) -> None:
        self._sockets = sockets
        self._tls_sockets = tls_sockets
        self._context = context
        self._wanted = asyncio.Event()
        self._is_closing = False
        self._server: AdminServer | None = None
        self._work: asyncio.Task[None]

    def listen(self, broker: Broker) -> None:
        for one in self._sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # its connections inherit it
        for one in (*self._sockets, *self._tls_sockets):
            one.listen(BACKLOG)
        self._work = broker.spawn(self._serve(broker))

    async def _serve(self, broker: Broker) -> None:
        await self._first_client()
        if self._is_closing:
            return
        from broker_core.admin.app import start_admin

        self._server = await start_admin(broker, self._sockets, self._tls_sockets, self._context)

    async def _first_client(self) -> None:
        """Waits until a connection is in the queue of a socket, and leaves it there."""
        loop, sockets = asyncio.get_running_loop(), (*self._sockets, *self._tls_sockets)
        for one in sockets:
            loop.add_reader(one.fileno(), self._wanted.set)
        try:
            await self._wanted.wait()
        finally:
            for one in sockets:
                loop.remove_reader(one.fileno())

    async def close(self) -> None:
        """Stops accepting, and gives running requests two seconds."""
        self._is_closing = True
        self._wanted.set()
        await asyncio.gather(self._work, return_exceptions=True)  # the broker has logged what failed
        if self._server is not None:
            await self._server.close()
        for one in (*self._sockets, *self._tls_sockets):
            one.close()
