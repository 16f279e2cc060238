"""The web server of `pulsarctl console`: on loopback addresses, for the browser that opened the printed address.

Its requests have the credentials of the context. Other users of the machine reach loopback addresses, too, so a page
needs a cookie that only the printed address gives: its key is random and ends with the process.
"""

import asyncio
import hmac
import secrets
import socket
from collections.abc import Sequence

from aiohttp import web

from broker_core.admin.body_memory import BodyMemory
from broker_core.admin.browsers import BrowserRules
from broker_core.admin.call import Answer
from broker_core.admin.exchange import read_body, send
from broker_core.admin.protocol import serve
from broker_core.config.http import HttpConfig
from broker_core.console import console
from broker_core.console.admin_api import AdminApi, Refused
from broker_core.console.page import Page, PageFrame, Request, problem, see_other
from broker_core.console.paths import BASE, HOME
from broker_core.errors import BrokerError

OPEN = f"{BASE}/open"
REQUESTS_MAX = 64
_LIMITS = HttpConfig(max_connections=256)
_NO_KEY = "Open the address that pulsarctl console printed: it gives this browser access, with a key at its end."


class ConsoleServer:
    def __init__(self, frame: PageFrame, api: AdminApi) -> None:
        self._frame = frame
        self._api = api
        self._key = secrets.token_urlsafe(32)
        self._rules = BrowserRules.of((), "", "pulsarctl console")
        self._memory = BodyMemory(_LIMITS.body_memory_mb << 20)
        self._under_way = 0
        self._port = 0

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        self._runner = await serve(self._answer, _LIMITS, sockets)
        self._port = int(sockets[0].getsockname()[1])

    async def close(self) -> None:
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The address that gives a browser access."""
        return f"http://localhost:{self._port}{OPEN}?key={self._key}"

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self._under_way += 1
        try:
            page = await self._bounded(request)
        finally:
            self._under_way -= 1
        answer = Answer(page.status, page.body, page.content_type, tuple(page.headers))
        return await send(web, request, answer, _LIMITS)

    async def _bounded(self, request: web.BaseRequest) -> Page:
        refusal = self._rules.refusal(request.headers, over_loopback=True)
        if refusal is not None:
            return problem(self._frame, 403, refusal)
        if self._under_way > REQUESTS_MAX:
            return problem(self._frame, 503, f"more than {REQUESTS_MAX} requests at a time")
        try:
            async with asyncio.timeout(_LIMITS.request_seconds):
                return await self._page(request)
        except TimeoutError:
            return problem(self._frame, 503, f"no result within {_LIMITS.request_seconds:g} seconds")
        except (Refused, BrokerError) as error:
            return problem(self._frame, 400, str(error))

    async def _page(self, request: web.BaseRequest) -> Page:
        path, _, query = request.raw_path.partition("?")
        fields = console.fields(query)
        if path in console.FILES:
            return console.file(path)
        if path == OPEN and self._is_key(fields.get("key", "")):
            return self._opened()
        if not self._is_key(request.cookies.get(self._cookie, "")):
            return problem(self._frame, 401, _NO_KEY)
        with self._memory.share() as share:
            form = console.fields((await read_body(request, share, _LIMITS, is_large=False)).decode(errors="replace"))
        method = "POST" if request.method == "POST" else "GET"
        return await console.answer(self._frame, Request(method, path, fields, form), self._api)

    def _opened(self) -> Page:
        answer = see_other(HOME)
        cookie = f"{self._cookie}={self._key}; Path=/; HttpOnly; SameSite=Strict"
        return Page(answer.status, headers=(*answer.headers, ("Set-Cookie", cookie)))

    @property
    def _cookie(self) -> str:
        """With the port, which browsers do not tell apart: several consoles may run."""
        return f"pulsarctl_console_{self._port}"

    def _is_key(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._key.encode())
