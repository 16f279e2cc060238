"""The web console at `/` and `/console`: its routes, which are no part of the admin API.

The pages are imported in a thread by the first request for one of them. They take more than a megabyte, and most
brokers never show one.
"""

from __future__ import annotations

import asyncio
import importlib
import sys

from broker_core.admin.call import Answer, Call
from broker_core.admin.routes import Route, Routes
from broker_core.console import paths
from broker_core.security.operations import ANYONE

_SHOWN = (
    paths.HOME,
    paths.NAMESPACES,
    paths.TOPICS,
    paths.BACKLOGS,
    paths.TOPIC,
    paths.SUBSCRIPTION,
    paths.SAMPLE,
    paths.MESSAGES,
    paths.ACTION,
)
_PAGES = "broker_core.admin.console_pages"


async def _import_pages() -> None:
    if _PAGES not in sys.modules:
        await asyncio.to_thread(importlib.import_module, _PAGES)


class _Console:
    """Passes each request to the pages. `api`: the admin API that they ask."""

    def __init__(self, api: Routes) -> None:
        self._api = api

    async def show(self, call: Call) -> Answer:
        await _import_pages()
        from broker_core.admin import console_pages

        return await console_pages.show(call, self._api)


async def _show_file(call: Call) -> Answer:
    await _import_pages()
    from broker_core.admin import console_pages

    return await console_pages.show_file(call)


async def _show_sign_in(call: Call) -> Answer:
    await _import_pages()
    from broker_core.admin import console_pages

    return await console_pages.show_sign_in(call)


async def _accept_sign_in(call: Call) -> Answer:
    await _import_pages()
    from broker_core.admin import console_pages

    return await console_pages.accept_sign_in(call)


async def _sign_out(call: Call) -> Answer:
    await _import_pages()
    from broker_core.admin import console_pages

    return await console_pages.sign_out(call)


def routes(api: Routes) -> tuple[Route, ...]:
    shown = _Console(api)
    return (
        *(Route("GET", path, shown.show, ANYONE) for path in _SHOWN),
        Route("POST", paths.ACTION, shown.show, ANYONE),
        *(Route("GET", path, _show_file, ANYONE) for path in (paths.STYLE, paths.SCRIPT, paths.ICON)),
        Route("GET", paths.SIGN_IN, _show_sign_in, ANYONE),
        Route("POST", paths.SIGN_IN, _accept_sign_in, ANYONE),
        Route("POST", paths.SIGN_OUT, _sign_out, ANYONE),
    )
