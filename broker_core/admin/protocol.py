"""The HTTP library's connections, with our limits and answers.

Imported with the HTTP library, in a thread (`app.start_admin`).

A client has `httpServerIdleTimeout` for the header of a request; the library closes slower connections. What is not
HTTP is answered with 400 and a reason, and logged in one line.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from broker_core.client_log import ClientLog
from broker_core.config import descriptors
from broker_core.config.http import HttpConfig
from broker_core.security.connection_count import ConnectionCount

log = ClientLog(__name__)

CLOSE_SECONDS = 2.0  # the time that running requests have when the server stops
LINGER_SECONDS = 2.0  # a client may continue to send what is refused this long, so that it sees the answer
HEAD_LINES = 4  # the maximum size of a header, in lines of the maximum length
LONGEST_REASON = 200
READ_BUFFER_BYTES = 1 << 14  # the library also parses this / 16 HTTP chunks at once, in about 8 us each
Answerer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
_HEAD_END = b"\r\n\r\n"


def reason_body(reason: str) -> bytes:
    return json.dumps({"reason": reason}).encode()


class Connection(web.RequestHandler):
    """Some clients send a body without announcing it (`{}` after a DELETE, without Content-Length or chunks).

    The library parses a whole segment or nothing of it, so such bytes would undo the request before them. Pulsar's
    server answers the request, and then the extra bytes with 400. So does this one, because it parses a header alone.
    """

    __slots__ = ("_errors", "_head_bytes", "_head_limit", "_host", "_is_refused", "_server")

    def __init__(self, server: Connections, config: HttpConfig) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # None is how to have no access log
            keepalive_timeout=config.idle_seconds,
            max_line_size=config.max_header_bytes,
            max_field_size=config.max_header_bytes,
            lingering_time=LINGER_SECONDS,
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,  # a body of a few bytes may be gigabytes; Pulsar reads no compressed bodies
        )
        self._server = server
        self._errors: list[BaseException] = []
        self._host = ""  # while it counts against the limit of its address
        self._is_refused = False
        self._head_bytes = 0
        self._head_limit = HEAD_LINES * config.max_header_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        refusal = self._server.refusal(self._client, descriptors.descriptor_of(transport))
        self._host = "" if refusal else self._client
        if refusal and self.transport is not None:
            self.transport.write(_refusal(503, refusal))
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._host:
            self._server.count.free(self._host)
            self._host = ""
        lost = exc or ConnectionResetError("connection lost")
        self._errors.append(lost)
        super().connection_lost(lost)

    async def start(self) -> None:
        """Serves the requests of the connection.

        An error that refers to the frames through which it went, which refer to it, would keep the connection in
        memory until the garbage collector finds it.
        """
        with self._server.serving():
            try:
                await super().start()
            finally:
                self._forget_frames()

    def _forget_frames(self) -> None:
        unanswered = [getattr(message, "exc", None) for message, _ in self._messages]
        for error in (*self._errors, *unanswered):
            if error is not None:
                error.__traceback__ = None
        self._errors.clear()

    def data_received(self, data: bytes) -> None:
        end = data.find(_HEAD_END) + len(_HEAD_END)
        if len(_HEAD_END) <= end < len(data):
            self._received(data[:end])
            data = data[end:]
        self._received(data)

    def _received(self, data: bytes) -> None:
        """Between two requests all bytes belong to a header; the library limits its lines, but hardly their number."""
        if self._is_refused:
            return
        self._head_bytes = self._head_bytes + len(data) if self._is_between_requests else 0
        if self._head_bytes > self._head_limit and self.transport is not None:
            log.info(self._client, "", "closing an HTTP connection of %s: the header is too large", self._client)
            self._refuse_head(self.transport)
            return
        super().data_received(data)
        if not self._is_between_requests:
            self._head_bytes = 0  # the header is complete, and the next one counts alone

    def _refuse_head(self, transport: asyncio.Transport) -> None:
        """Reads on until the client closes, or for a moment: a close with unread bytes would lose the answer."""
        self._is_refused = True
        transport.write(_refusal(431, f"the header of a request has more than {self._head_limit} bytes"))
        if transport.can_write_eof():
            transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self.force_close)

    @property
    def _is_between_requests(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    @property
    def _client(self) -> str:
        peer = None if self.transport is None else self.transport.get_extra_info("peername")
        return str(peer[0]) if isinstance(peer, tuple) else "a disconnected client"

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that is not HTTP, or an error outside of handlers, and close the connection."""
        if exc is not None:
            self._errors.append(exc)
        why = " ".join((message or str(exc) or type(exc).__name__).split())[:LONGEST_REASON]
        if status >= 500:
            log.exception(self._client, "", "an HTTP request of %s failed: %s", self._client, why)
        else:
            log.info(self._client, "", "refusing an HTTP request of %s: %s", self._client, why)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the answer has already been sent")
        reason = f"cannot read the request: {why}" if status < 500 else why
        response = web.Response(status=status, body=reason_body(reason), content_type="application/json")
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:
        log.info(self._client, "", "closing an HTTP connection of %s: %s", self._client, kw.get("exc_info") or args[0])


class Connections(web.Server):
    def __init__(self, answer: Answerer, config: HttpConfig) -> None:
        super().__init__(answer)
        self._config = config
        self.count = ConnectionCount(
            config.max_connections,
            config.max_connections_per_ip,
            full=f"more than {config.max_connections} connections at a time",
            full_for_host=f"more than {config.max_connections_per_ip} connections at a time from one address",
        )
        self._serving: set[asyncio.Task[Any]] = set()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """While the current task serves a connection; it may outlive the connection until a refused body is over."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            yield
        finally:
            self._serving.discard(task)

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  # the signature of the library
        """The library ends the tasks of live connections; those of lost ones are ended here."""
        await super().shutdown(timeout)
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving, timeout=timeout)

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self._config)

    def refusal(self, host: str, descriptor: int) -> str:
        """Counts a connection and returns "", or returns why it must be refused; then it does not count."""
        if descriptors.are_scarce(descriptor, descriptors.ADMIN):
            return descriptors.TOO_MANY
        return self.count.take(host)


async def serve(
    answer: Answerer,
    config: HttpConfig,
    sockets: Sequence[socket.socket],
    tls_sockets: Sequence[socket.socket] = (),
    context: ssl.SSLContext | None = None,
) -> web.ServerRunner:
    """Serves listening sockets, and others over TLS; its `cleanup` gives running requests two seconds."""
    runner = web.ServerRunner(Connections(answer, config), shutdown_timeout=CLOSE_SECONDS)
    await runner.setup()
    try:
        for listener in sockets:
            await web.SockSite(runner, listener).start()
        for listener in tls_sockets:
            await web.SockSite(runner, listener, ssl_context=context).start()
    except BaseException:
        await runner.cleanup()
        for listener in (*sockets, *tls_sockets):
            listener.close()
        raise
    return runner


def _refusal(status: int, reason: str) -> bytes:
    """An answer to bytes that are not a request."""
    body = reason_body(reason)
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
