"""The web console at `/` and `/console`: its routes, which are not part of the admin API.

The pages are imported in a thread by the first request for one of them. They take more than a megabyte, and most
brokers never show one.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from broker_core.admin.call import Answer, Call
from broker_core.admin.routes import Route, Routes
from broker_core.console import paths
from broker_core.security.operations import ANYONE

_SHOWN = (
    paths.HOME,
    paths.NAMESPACES,
    paths.TOPICS,
    paths.BACKLOGS,
    paths.TRANSACTIONS,
    paths.TOPIC,
    paths.SUBSCRIPTION,
    paths.SCALABLE_TOPICS,
    paths.SCALABLE_TOPIC,
    paths.SAMPLE,
    paths.MESSAGES,
    paths.ACTION,
)


class _Console:
    """Passes each request to the pages. `api`: the admin API that they ask."""

    def __init__(self, api: Routes) -> None:
        self._api = api
        self._pages: Any = None  # the module

    async def show(self, call: Call) -> Answer:
        return await self._ask("show", call, self._api)

    async def show_file(self, call: Call) -> Answer:
        return await self._ask("show_file", call)

    async def show_sign_in(self, call: Call) -> Answer:
        return await self._ask("show_sign_in", call)

    async def accept_sign_in(self, call: Call) -> Answer:
        return await self._ask("accept_sign_in", call)

    async def sign_out(self, call: Call) -> Answer:
        return await self._ask("sign_out", call)

    async def _ask(self, page: str, *arguments: Any) -> Answer:
        if self._pages is None:  # importing a module that another thread still imports would hold up the loop
            self._pages = await asyncio.to_thread(importlib.import_module, "broker_core.admin.console_pages")
        answer: Answer = await getattr(self._pages, page)(*arguments)
        return answer


def routes(api: Routes) -> tuple[Route, ...]:
    shown = _Console(api)
    return (
        *(Route("GET", path, shown.show, ANYONE) for path in _SHOWN),
        Route("POST", paths.ACTION, shown.show, ANYONE),
        *(Route("GET", path, shown.show_file, ANYONE) for path in (paths.STYLE, paths.SCRIPT, paths.ICON)),
        Route("GET", paths.SIGN_IN, shown.show_sign_in, ANYONE),
        Route("POST", paths.SIGN_IN, shown.accept_sign_in, ANYONE),
        Route("POST", paths.SIGN_OUT, shown.sign_out, ANYONE),
    )
