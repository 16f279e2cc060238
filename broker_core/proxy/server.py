"""The listeners and the life of a proxy: take the ports, answer, and at the end let the connections leave."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl

from broker_core.clock import Clock
from broker_core.config.proxy import ProxyConfig
from broker_core.proxy.client_connection import ClientConnection
from broker_core.proxy.dialing import Resolve, resolve
from broker_core.proxy.drain import drain
from broker_core.proxy.forwarding import Forwarder
from broker_core.proxy.gateway import Gateway
from broker_core.proxy.web import WebServer
from broker_core.security.certificates import Certificates
from broker_core.server.ports import BACKLOG, LOOPBACK, bind, listen, port_of

log = logging.getLogger(__name__)


class Proxy:
    """Raises `InvalidConfiguration`."""

    def __init__(self, config: ProxyConfig, *, clock: Clock | None = None, resolve: Resolve = resolve) -> None:
        self.config = config
        self.gateway = Gateway(config, clock=clock, resolve=resolve)
        self._certificates = Certificates(config.tls) if config.tls.enabled else None
        self._listeners: list[asyncio.Server] = []
        self.service_url = self.service_url_tls = self.http_url = self.http_url_tls = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        address = self.config.server.bind_address
        return (address,) if address else LOOPBACK

    async def start(self) -> None:
        """Raises `PortInUse` or `InvalidConfiguration`."""
        server, tls = self.config.server, self.config.tls
        context = self._certificates.context if self._certificates is not None else None
        with contextlib.ExitStack() as taken:
            plain = self._take(taken, server.port, "--port")
            secure = self._take(taken, tls.broker_port, "-X servicePortTls=")
            web = self._take(taken, server.web_port, "--http-port")
            web_secure = self._take(taken, tls.web_port, "-X webServicePortTls=")
            self.service_url = self._url("pulsar", plain)
            self.service_url_tls = self._url("pulsar+ssl", secure)
            self.http_url = self._url("http", web)
            self.http_url_tls = self._url("https", web_secure)
            self._web = WebServer(self.gateway, self._forwarder())
            taken.pop_all()
        self.gateway.security.audit.start()
        await self._listen(plain)
        await self._listen(secure, context)
        for listener in (*web, *web_secure):
            listener.listen(BACKLOG)
        await self._web.start(web, web_secure, context)
        if self._certificates is not None:
            self.gateway.spawn(self._certificates.watch())

    def _url(self, scheme: str, sockets: list[socket.socket]) -> str:
        return f"{scheme}://{self.config.server.advertised_address}:{port_of(sockets)}" if sockets else ""

    def _forwarder(self) -> Forwarder | None:
        if not self.config.brokers.passes_requests_on:
            return None
        names = ("brokerUrl", "brokerUrlTls", "httpUrl", "httpUrlTls", "nativeUrl", "brokerUrlSsl")
        urls = (self.service_url, self.service_url_tls, self.http_url, self.http_url_tls, self.service_url, "")
        return Forwarder(self.gateway, dict(zip(names, urls, strict=True)))

    def _take(self, taken: contextlib.ExitStack, port: int, flag: str) -> list[socket.socket]:
        listeners = bind(self.hosts, port, flag) if port >= 0 else []
        for listener in listeners:
            taken.callback(listener.close)
        return listeners

    async def _listen(self, sockets: list[socket.socket], context: ssl.SSLContext | None = None) -> None:
        await listen(sockets, lambda: ClientConnection(self.gateway), context, self._listeners)

    async def stop(self) -> None:
        """Lets load balancers leave, takes no more connections, and ends the others within the configured time."""
        server = self.config.server
        self.gateway.is_leaving = True
        await asyncio.sleep(server.leave_seconds)
        for listener in self._listeners:
            listener.close()
        if not await drain(self.gateway, server.drain_seconds):
            log.warning("closed connections that were still busy after %g s", server.drain_seconds)
        self.gateway.end()
        await self._web.close()
        await self.gateway.cancel_tasks()
        await asyncio.to_thread(self.gateway.security.audit.close)
