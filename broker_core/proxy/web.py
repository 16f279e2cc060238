"""The web port of the proxy: its own pages, and everything that it passes on to the brokers."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from urllib.parse import parse_qsl

from aiohttp import web

from broker_core.admin.browsers import BrowserRules
from broker_core.admin.peer import certificate_of, is_over_loopback
from broker_core.admin.protocol import serve
from broker_core.client_log import ClientLog
from broker_core.config.security import names
from broker_core.errors import AuthenticationFailed
from broker_core.proxy import pages
from broker_core.proxy.forwarding import Forwarder
from broker_core.proxy.gateway import Gateway
from broker_core.proxy.pages import STATS, refused

log = ClientLog(__name__)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
NO_BROKERS = "this proxy has no admin API, because it was started without --brokers-web (brokerWebServiceURL)"


class WebServer:
    """`forwarder`: None where no admin API of the brokers is configured."""

    def __init__(self, gateway: Gateway, forwarder: Forwarder | None) -> None:
        server, machine = gateway.config.server, socket.gethostname()
        own = (machine, machine.partition(".")[0], server.advertised_address, server.bind_address)
        self._browsers = BrowserRules.of(own, server.allowed_hosts, "pulsarctl proxy")
        self._gateway = gateway
        self._forwarder = forwarder
        self._super_users = names(gateway.config.security.super_users)
        self._running = 0

    async def start(
        self, sockets: Sequence[socket.socket], tls_sockets: Sequence[socket.socket], context: ssl.SSLContext | None
    ) -> None:
        self._runner = await serve(self.answer, self._gateway.config.http, sockets, tls_sockets, context)

    async def close(self) -> None:
        """Gives running requests two seconds."""
        await self._runner.cleanup()
        if self._forwarder is not None:
            await self._forwarder.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except AuthenticationFailed as error:
            client = request.remote or "a disconnected client"
            log.info(client, "", "cannot authenticate a request of %s: %s", client, error)
            return refused(401, "Authentication required")

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The proxy's health and metrics do not depend on how busy the brokers are."""
        path = request.raw_path.partition("?")[0].rstrip("/")
        refusal = self._browsers.refusal(request.headers, over_loopback=is_over_loopback(request))
        if refusal is not None:
            return refused(403, refusal)
        if request.method not in METHODS:
            return refused(405, f"{request.method} is not allowed")
        if path == "/status.html":
            return pages.status(self._gateway)
        if path == "/metrics":
            if self._gateway.config.security.authenticate_metrics:
                await self._role(request)
            return pages.metrics(self._gateway)
        most = self._gateway.config.http.max_requests
        if self._running >= most:
            return refused(503, f"more than {most} requests at a time (maxConcurrentHttpRequests)")
        self._running += 1
        try:
            return await self._bounded(request, path)
        finally:
            self._running -= 1

    async def _bounded(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        role = await self._role(request)
        if path.startswith(STATS):
            return self._stats(request.method, path, role)
        if self._forwarder is None:
            return refused(404, NO_BROKERS)
        return await self._forwarder.forward(request, role)

    async def _role(self, request: web.BaseRequest) -> str:
        """The role of the client; empty while authentication is off. Raises `AuthenticationFailed`."""
        security = self._gateway.security
        if security.authentication is None:
            return ""
        query = dict(reversed(parse_qsl(request.raw_path.partition("?")[2], keep_blank_values=True)))
        host = request.remote or "gone"
        identity = await security.authenticate_request(host, request.headers, query, certificate_of(request))
        return identity.role

    def _stats(self, method: str, path: str, role: str) -> web.Response:
        if self._gateway.security.authentication is not None and role not in self._super_users:
            return refused(403, f"role {role!r} is not in superUserRoles")
        return pages.stats(self._gateway, method, path)
