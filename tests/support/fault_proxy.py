"""A relay in front of an S3 server that does what real stores do on bad days, one rule at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import aiohttp
from aiohttp import web

_DEADLINE = 60.0
_HOP = {"transfer-encoding", "connection", "content-length"}
_OF_REQUESTS = _HOP | {"host", "content-encoding"}
_DENIED = b"<Error><Code>AccessDenied</Code><Message>the key was revoked</Message></Error>"
_BUSY = b"<Error><Code>SlowDown</Code><Message>please reduce your request rate</Message></Error>"
_PAGE = (  # the number makes each token another one
    b"<ListBucketResult><Name>tier</Name><KeyCount>0</KeyCount><IsTruncated>true</IsTruncated>"
    b"<NextContinuationToken>%d</NextContinuationToken></ListBucketResult>"
)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    authorization: str = ""


Matches = Callable[[Request], bool]


class FaultProxy:
    """`fault` is one of `refuse`, `busy`, `drop`, `cut`, `hold`, `alter`, `drip`, `pages`.

    It is for the requests that `matches` picks.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._fault = ""
        self._matches: Matches = lambda request: False
        self._released = threading.Event()
        self.held = threading.Event()  # a request waits
        self.requests: list[Request] = []
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(_DEADLINE)
        return self

    def __exit__(self, *error: object) -> None:
        self._released.set()
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_DEADLINE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_DEADLINE)
        self._loop.close()

    async def _start(self) -> None:
        self._session = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._relay)
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    @contextmanager
    def doing(self, fault: str, matches: Matches = lambda request: True) -> Iterator[None]:
        self._released.clear()
        self.held.clear()
        self._matches, self._fault = matches, fault
        try:
            yield
        finally:
            self._fault = ""
            self._released.set()

    def release(self) -> None:
        """Lets held requests, and all later ones, pass."""
        self._fault = ""
        self._released.set()

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        found = Request(request.method, request.path, request.headers.get("Authorization", ""))
        self.requests.append(found)
        body = await request.read()
        fault = self._fault if self._matches(found) else ""
        if fault == "refuse":
            return web.Response(status=403, body=_DENIED, content_type="application/xml")
        if fault == "busy":
            return web.Response(status=503, body=_BUSY, content_type="application/xml")
        if fault == "drop":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if fault == "hold":
            self.held.set()
            await asyncio.to_thread(self._released.wait, _DEADLINE)
        if fault == "pages":
            page = _PAGE % len(self.requests)
            return web.Response(body=page, content_type="application/xml")
        if fault == "drip":
            return await self._drip(request)
        return await self._forward(request, body, cut=fault == "cut", alter=fault == "alter")

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        """Some bytes a second, so that no client sees an idle connection."""
        response = web.StreamResponse(status=206)
        response.content_length = 1 << 20
        await response.prepare(request)
        self.held.set()
        while not await asyncio.to_thread(self._released.wait, 0.1):
            await response.write(b"x")
        assert request.transport is not None
        request.transport.close()
        return response

    async def _forward(self, request: web.Request, body: bytes, *, cut: bool, alter: bool) -> web.StreamResponse:
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _OF_REQUESTS}
        url = f"{self._target}{request.raw_path}"
        async with self._session.request(request.method, url, data=body, headers=headers) as found:
            data = await found.read()
            if alter and data:
                data = bytes((data[0] ^ 1,)) + data[1:]
            passed = {key: value for key, value in found.headers.items() if key.lower() not in _HOP}
            response = web.StreamResponse(status=found.status, headers=passed)
            length = found.headers.get("Content-Length", str(len(data)))
            response.content_length = int(length)
            await response.prepare(request)
            if cut and data:
                await response.write(data[: len(data) // 2])
                assert request.transport is not None
                request.transport.close()
                return response
            await response.write(data)
            await response.write_eof()
            return response
