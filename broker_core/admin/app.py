"""The admin HTTP server: sockets, requests, and answers.

The HTTP library is imported in a thread when the first client connects (`server.admin_listener`), so that other clients
do not wait meanwhile. The routes are in the ROUTES of the other modules here.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from broker_core.admin.body_memory import BodyMemory, Share
from broker_core.admin.browsers import BrowserRules, came_in_clear
from broker_core.admin.call import Answer, Call
from broker_core.admin.exchange import BodyBroken, read_body, send
from broker_core.admin.first_api import translate
from broker_core.admin.guard import NOT_AUTHENTICATED, Guard
from broker_core.admin.peer import is_over_loopback, own_end
from broker_core.admin.results import refused, result_of
from broker_core.client_log import ClientLog
from broker_core.errors import AuthenticationFailed, BrokerError
from broker_core.security.sessions import Sessions

if TYPE_CHECKING:
    import ssl

    from aiohttp import web

    from broker_core.admin.routes import Route, Routes
    from broker_core.broker import Broker

client_log = ClientLog(__name__)

_STILL_POSSIBLE = "the change may still be made: check before you try again"

_HANDLERS = "broker_core.admin.all_routes"
_PROTOCOL = "broker_core.admin.protocol"


async def start_admin(
    broker: Broker,
    sockets: Sequence[socket.socket],
    tls_sockets: Sequence[socket.socket],
    context: ssl.SSLContext | None,
) -> web.ServerRunner:
    """Serves the admin API on listening sockets, and on others over TLS; closes none of them, also if it fails."""
    library, protocol, routes = await asyncio.to_thread(_imported)
    served = ([listener.dup() for listener in group] for group in (sockets, tls_sockets))
    runner: web.ServerRunner = await protocol.serve(
        Dispatcher(broker, routes, library).answer, broker.config.http, *served, context
    )
    return runner


def _imported() -> tuple[Any, Any, Routes]:
    """The HTTP library, our connections of it, and the routes of all handlers."""
    library, protocol, handlers = map(importlib.import_module, ("aiohttp.web", _PROTOCOL, _HANDLERS))
    return library, protocol, handlers.served_routes()


class Dispatcher:
    """Passes a request of the HTTP library to a handler, and turns its result into a response."""

    def __init__(self, broker: Broker, routes: Routes, library: Any) -> None:
        server = broker.config.server
        machine = socket.gethostname()
        own = (machine, machine.partition(".")[0], server.advertised_address, server.bind_address)
        self._browsers = BrowserRules.of(own, server.allowed_hosts)
        self._broker = broker
        self._routes = routes
        self._sessions = Sessions(broker.config.console, broker.clock)
        self._guard = Guard(broker.security, routes.listed, self._sessions)
        self._web = library
        self._http = broker.config.http
        self._memory = BodyMemory(self._http.body_memory_mb << 20)
        self._running = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._running >= self._http.max_requests:
            too_many = refused(f"more than {self._http.max_requests} requests at a time", 503)
            return await send(self._web, request, too_many, self._http)
        self._running += 1
        try:
            with self._memory.share() as share:
                answer = await self._bounded(request, share)
                return await send(self._web, request, answer, self._http)
        finally:
            self._running -= 1

    async def _bounded(self, request: web.BaseRequest, share: Share) -> Answer:
        """Runs a request with a deadline; one that takes longer is answered with 503."""
        try:
            async with asyncio.timeout(self._http.request_seconds):
                return await self._handle(request, share)
        except TimeoutError:
            reason = f"no result within {self._http.request_seconds:g} seconds"
            reads = request.method in ("GET", "HEAD")
            return refused(reason if reads else f"{reason}; {_STILL_POSSIBLE}", 503)

    async def _handle(self, request: web.BaseRequest, share: Share) -> Answer:
        path, _, query = request.raw_path.partition("?")
        method = "GET" if request.method == "HEAD" else request.method
        refusal = self._browsers.refusal(request.headers, over_loopback=is_over_loopback(request))
        if refusal is not None:
            return refused(refusal, 403)
        # As in Pulsar, the first of several parameters with the same name counts.
        pairs = parse_qsl(query, keep_blank_values=True)
        named = dict(reversed(pairs))
        try:
            principal = await self._guard.principal(request, path, named)
        except AuthenticationFailed as error:
            client_log.info(request.remote or "", "", "cannot authenticate a request of %s: %s", request.remote, error)
            return refused(NOT_AUTHENTICATED, error.status)
        second, cluster = translate(path)
        match = self._routes.find(method, second)
        if isinstance(match, frozenset):
            return _no_route(method, path, match)
        parts = {**match.parts, "cluster": cluster} if cluster else match.parts
        try:
            body = await read_body(request, share, self._http, is_large=match.route.has_large_body)
        except BrokerError as error:
            return _unread(request, error)
        call = Call(
            self._broker,
            parts,
            named,
            body,
            request.headers,
            share,
            pairs,
            principal,
            request.remote or "",
            is_private=_is_private(request),
            is_secure=request.secure,
            method=method,
            path=path,
            sessions=self._sessions,
            listener=self._broker.listener_at(own_end(request)),
        )
        work = self._carried_out(match.route, call, f"{method} {path}")
        if method == "GET":
            return await work
        answer = await self._to_the_end(work, share)
        self._broker.security.audit.changed(principal, f"{method} {path}", answer.status, call.client)
        return answer

    async def _carried_out(self, route: Route, call: Call, request: str) -> Answer:
        return await result_of(self._guarded(route, call), request)

    async def _guarded(self, route: Route, call: Call) -> Any:
        self._guard.check(route, call)
        return await route.handler(call)

    async def _to_the_end(self, change: Coroutine[Any, Any, Answer], share: Share) -> Answer:
        """Lets a change complete after the time of its request is over.

        If it stopped halfway, the stored values and those in force would differ until a restart. Until it completes, it
        counts as a request and keeps the memory for its body.
        """
        task = self._broker.spawn(change)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            late = share.handed_over()
            self._running += 1
            task.add_done_callback(lambda _: self._ended_late(late))
            raise

    def _ended_late(self, share: Share) -> None:
        self._running -= 1
        share.keep(0)


def _is_private(request: web.BaseRequest) -> bool:
    return request.secure or (is_over_loopback(request) and not came_in_clear(request.headers))


def _unread(request: web.BaseRequest, error: BrokerError) -> Answer:
    if isinstance(error, BodyBroken):
        client = request.remote or "a disconnected client"
        client_log.info(client, "", "a request body of %s did not arrive completely", client)
    return refused(error.reason, error.status)


def _no_route(method: str, path: str, known: frozenset[str]) -> Answer:
    if known:
        allowed = ", ".join(sorted(known))
        return refused(f"{method} is not allowed on {path}; allowed: {allowed}", 405)
    return refused(f"this broker has no resource at {path}", 404)
