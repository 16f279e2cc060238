"""Passes requests over HTTP on to the brokers: bodies as streams, headers cleaned, redirects followed.

A broker of a cluster redirects a request to the broker of its topic. The client may not reach that one, so the proxy
follows. For that it keeps the body of a request, if it is small enough; a larger one is streamed to the first broker.
"""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import abc, web
from yarl import URL

from broker_core.broker_client.addresses import DEFAULT_PORTS, Endpoint, configured_endpoints, parse_endpoint
from broker_core.errors import BrokerUnreachable, InvalidValue, TargetRefused
from broker_core.proxy.dialing import Resolve
from broker_core.proxy.gateway import Gateway
from broker_core.proxy.headers import (
    is_passed_on,
    request_headers,
    response_headers,
    rewritten_lookup,
    without_token,
)
from broker_core.proxy.lookups import Brokers
from broker_core.proxy.pages import refused
from broker_core.proxy.targets import Targets
from broker_core.proxy.uploads import Upload

REDIRECTS_MAX = 20
REDIRECTS = frozenset({301, 302, 303, 307, 308})
LOOKUP = "/lookup/v2/"
# Servers disagree about the encoding of headers, so at the broker the role could be another one.
NOT_ASCII = (
    "cannot name your role to the broker: it has characters outside ASCII, which headers of HTTP do not carry safely;"
    " send the request to the broker itself"
)

Body = bytes | AsyncIterator[bytes]


class Resolver(abc.AbstractResolver):
    """Gives the HTTP library only the addresses that a client may reach, and the library connects to those."""

    def __init__(self, targets: Targets, addresses_of: Resolve) -> None:
        self._targets = targets
        self._addresses_of = addresses_of

    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[abc.ResolveResult]:
        target = Endpoint(host.lower(), port)
        addresses = self._targets.reachable(target, await self._addresses_of(target))
        if not addresses:
            raise OSError(f"no address of {host} is in brokerProxyAllowedIPAddresses")
        return [
            abc.ResolveResult(hostname=host, host=address, port=port, family=_family(address), proto=0, flags=0)
            for address in addresses
        ]

    async def close(self) -> None:
        """There is nothing to close."""


class NotConnected(BrokerUnreachable):
    """Nothing was sent, so another broker can be asked."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request that every broker gets that is asked."""

    method: str
    path: str  # with the query
    headers: list[tuple[str, str]]
    body: Body | None

    def content(self) -> io.BytesIO | AsyncIterator[bytes] | None:
        """The body for one broker. The HTTP library sends a file in slices, and a string of bytes in one piece."""
        return io.BytesIO(self.body) if isinstance(self.body, bytes) else self.body

    @property
    def can_be_repeated(self) -> bool:
        return self.body is None or isinstance(self.body, bytes)


class Forwarder:
    """`urls`: the addresses of this proxy, under the names that they have in an answer to a lookup over HTTP.

    Raises `InvalidConfiguration`.
    """

    def __init__(self, gateway: Gateway, urls: dict[str, str]) -> None:
        brokers = gateway.config.brokers
        self._scheme = "https" if brokers.tls else "http"
        key, url = (
            ("brokerWebServiceURLTLS", brokers.web_url_tls) if brokers.tls else ("brokerWebServiceURL", brokers.web_url)
        )
        endpoints = configured_endpoints(key, url, self._scheme)
        self._gateway = gateway
        self._brokers = Brokers(endpoints)
        self._targets = Targets(brokers, endpoints)
        self._web_ports = frozenset(endpoint.port for endpoint in endpoints)
        self._urls = urls if len(gateway.brokers.endpoints) == 1 else {}
        self._kept = 0  # bytes of request bodies
        self._seconds = gateway.config.http.request_seconds
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                resolver=Resolver(self._targets, gateway.dialer.resolve),
                use_dns_cache=False,
                ssl=gateway.dialer.context or True,
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=brokers.connect_seconds, sock_read=self._seconds),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        await self._session.close()

    async def forward(self, request: web.BaseRequest, role: str) -> web.StreamResponse:
        """The broker's response; `role` is the client's, empty without authentication."""
        path, separator, query = request.raw_path.partition("?")
        if not is_passed_on(path):
            return refused(404, f"this proxy passes nothing on at {path[:200]}; it does for /admin and /lookup")
        keeps = self._gateway.config.brokers.forward_credentials and self._gateway.own is None
        if not keeps and not role.isascii():
            return refused(403, NOT_ASCII)
        query = query if keeps else without_token(query)
        upload = Upload(request.content, self._gateway.config.http.idle_seconds)
        kept = self._kept_size(request)
        self._kept += kept
        try:
            async with AsyncExitStack() as open_responses:
                body = await _body(request, upload, kept)
                headers = self._headers(request, role, keeps=keeps)
                if body is not None and request.content_length is not None:
                    headers.append(("Content-Length", str(request.content_length)))
                asked = Request(request.method, path + separator + query, headers, body)
                async with asyncio.timeout(self._seconds):  # the library has no limit for sending a body
                    response = await self._ask(asked, open_responses)
                return await self._pass_back(request, response)
        except (BrokerUnreachable, TargetRefused) as error:
            return refused(502, error.reason)
        except TimeoutError:
            if upload.is_late:
                return refused(408, "the request body did not arrive in time (httpServerIdleTimeout)")
            return refused(504, "the broker did not answer in time (httpProxyTimeout)")
        finally:
            self._kept -= kept

    def _headers(self, request: web.BaseRequest, role: str, *, keeps: bool) -> list[tuple[str, str]]:
        headers = request_headers(request.headers.items(), keep_credentials=keeps)
        headers.append(("X-Forwarded-For", request.remote or "unknown"))
        if self._gateway.own is not None:
            headers += self._gateway.own.headers().items()
        if role and not keeps:  # a broker that gets the client's credentials finds the role itself
            headers.append(("X-Original-Principal", role))
        return headers

    def _kept_size(self, request: web.BaseRequest) -> int:
        """The size of memory that the body gets; 0 for one that is streamed."""
        config, size = self._gateway.config.http, request.content_length or 0
        room = (config.body_memory_mb << 20) - self._kept
        return size if size <= min(config.max_body_bytes, room) else 0

    async def _ask(self, asked: Request, open_responses: AsyncExitStack) -> aiohttp.ClientResponse:
        response = await self._ask_in_turn(asked, open_responses)
        for _ in range(REDIRECTS_MAX):
            location = response.headers.get("Location", "")
            if response.status not in REDIRECTS or not location:
                return response
            if not asked.can_be_repeated:
                raise BrokerUnreachable("a broker redirects the request, and its body is too large to be sent again")
            response = await self._send(self._redirected(location), asked, open_responses)
        raise BrokerUnreachable("Reached max number of redirections")

    async def _ask_in_turn(self, asked: Request, open_responses: AsyncExitStack) -> aiohttp.ClientResponse:
        """The first broker that can be reached."""
        failure = BrokerUnreachable("no broker")
        for endpoint in self._brokers.in_turn():
            url = URL(f"{self._scheme}://{endpoint}{asked.path}", encoded=True)
            try:
                return await self._send(url, asked, open_responses)
            except NotConnected as error:
                failure = error
        raise failure

    async def _send(self, url: URL, asked: Request, open_responses: AsyncExitStack) -> aiohttp.ClientResponse:
        try:
            return await open_responses.enter_async_context(
                self._session.request(
                    asked.method, url, headers=asked.headers, data=asked.content(), allow_redirects=False
                )
            )
        except TimeoutError:
            raise
        except aiohttp.ClientConnectorError as error:
            raise NotConnected(f"cannot reach the broker at {url.authority}: {error.strerror or error}") from None
        except aiohttp.ClientError as error:
            raise _lost(url, error) from None

    def _redirected(self, location: str) -> URL:
        """The address in a redirect, if it is one of a broker. Raises `TargetRefused`."""
        parts = urlsplit(location)
        try:
            target = parse_endpoint(parts.netloc, DEFAULT_PORTS[self._scheme])
        except InvalidValue:
            target = None
        if target is None or parts.scheme != self._scheme or not is_passed_on(parts.path) or not self._allows(target):
            raise TargetRefused(f"the proxy may not follow the broker's redirect to {location[:200]!r}")
        return URL(location, encoded=True)

    def _allows(self, target: Endpoint) -> bool:
        """Brokers of a cluster share their web port; an address instead of a name is checked here, not resolved."""
        if self._targets.is_configured(target):
            return True
        if target.port not in self._web_ports or not self._targets.allows_host(target.host):
            return False
        return not is_address(target.host) or bool(self._targets.reachable(target, [target.host]))

    async def _pass_back(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        headers = response_headers(answer.headers.items())
        if self._urls and request.path.startswith(LOOKUP) and answer.status == 200 and request.method == "GET":
            return await self._rewritten(answer)
        response = web.StreamResponse(status=answer.status, headers=headers)
        await response.prepare(request)
        try:
            async with asyncio.timeout(self._seconds) as limit:
                async for chunk in answer.content.iter_any():
                    limit.reschedule(asyncio.get_running_loop().time() + self._seconds)
                    await response.write(chunk)
                await response.write_eof()
        except (TimeoutError, aiohttp.ClientError):  # a part of the response is on its way, so an error cannot follow
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _rewritten(self, response: aiohttp.ClientResponse) -> web.Response:
        """The answer to a lookup: its addresses lead through this proxy, which has one broker."""
        try:
            body = await response.read()
        except aiohttp.ClientError as error:
            raise _lost(response.url, error) from None
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "brokerUrl" in answer:
            body = json.dumps(rewritten_lookup(answer, self._urls)).encode()
        return web.Response(body=body, content_type=response.content_type)


async def _body(request: web.BaseRequest, upload: Upload, kept: int) -> Body | None:
    if not request.can_read_body or request.method in ("GET", "HEAD", "OPTIONS"):
        return None
    return await upload.whole(kept) if kept else upload.pieces()


def _lost(url: URL, error: aiohttp.ClientError) -> BrokerUnreachable:
    return BrokerUnreachable(f"lost the connection to {url.authority}: {type(error).__name__}")


def is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
