"""The sockets of the admin API, which is loaded for its first client.

Its HTTP framework and its handlers take a quarter of the memory of a broker that has used them, and as much time as
everything else at the start. Many brokers never need them: those of tests, and those that a command runs for a moment.
So the first client has them imported. Until then the kernel keeps connections, as in socket activation.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
import ssl
from typing import TYPE_CHECKING

from broker_core.server.ports import BACKLOG

if TYPE_CHECKING:
    from aiohttp import web

    from broker_core.broker import Broker

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
RECEIVE_BYTES = 32 * 1024  # bytes of each read: a body may come in chunks of a byte


class AdminListener:
    """Takes connections from `listen` on; `context` is for `tls_sockets`."""

    def __init__(
        self, sockets: list[socket.socket], tls_sockets: list[socket.socket], context: ssl.SSLContext | None
    ) -> None:
        self._sockets = sockets
        self._tls_sockets = tls_sockets
        self._context = context
        self._server: web.ServerRunner | None = None
        self._work: asyncio.Task[None]

    def listen(self, broker: Broker) -> None:
        for listener in self._sockets:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # its connections inherit it
        for listener in (*self._sockets, *self._tls_sockets):
            listener.listen(BACKLOG)
        self._work = broker.spawn(self._serve(broker))

    async def _serve(self, broker: Broker) -> None:
        """Tries again after a failure, which may come long after the start: no file descriptors, no memory."""
        await self._first_client()
        while self._server is None:
            try:
                app = await asyncio.to_thread(importlib.import_module, "broker_core.admin.app")
                self._server = await app.start_admin(broker, self._sockets, self._tls_sockets, self._context)
            except Exception:
                log.exception("cannot start the admin API; its clients wait")
                await asyncio.sleep(RETRY_SECONDS)

    async def _first_client(self) -> None:
        """Waits until a connection is in the queue of a socket, and leaves it there."""
        loop, sockets, came = asyncio.get_running_loop(), (*self._sockets, *self._tls_sockets), asyncio.Event()
        for listener in sockets:
            loop.add_reader(listener.fileno(), came.set)
        try:
            await came.wait()
        finally:
            for listener in sockets:
                loop.remove_reader(listener.fileno())

    async def close(self) -> None:
        """Stops accepting, and gives running requests two seconds."""
        if self._server is None:
            self._work.cancel()
        try:
            await asyncio.wait([self._work])
            if self._server is not None:
                await self._server.cleanup()
        finally:
            for listener in (*self._sockets, *self._tls_sockets):
                listener.close()
