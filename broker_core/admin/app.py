"""The admin HTTP server: sockets, requests in, answers out, and the one translation of errors to statuses.

The HTTP library is imported in a thread when the server starts, after the binary port listens: the first
clients need not wait for it. Everything that is served stands in the ROUTES of the other modules here.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from broker_core.admin.browsers import BrowserRules, is_loopback
from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.first_api import translate
from broker_core.errors import BrokerError, PersistenceFailed
from broker_core.storage.errors import StorageError

if TYPE_CHECKING:
    from aiohttp import web

    from broker_core.admin.routes import Routes
    from broker_core.broker import Broker

log = logging.getLogger(__name__)

# No wait without a deadline: a request that takes longer is answered 500. Pulsar's own limit is the same.
REQUEST_SECONDS = 60.0
REQUESTS_AT_A_TIME = 1024  # Pulsar's maxConcurrentHttpRequests; more are answered 503
CLOSE_SECONDS = 2.0

_HANDLERS = "broker_core.admin.all_routes"
_PROTOCOL = "broker_core.admin.protocol"


class AdminServer:
    """The running server; `port` is that of its sockets."""

    def __init__(self, runner: web.ServerRunner, port: int) -> None:
        self._runner = runner
        self.port = port

    async def close(self) -> None:
        """Stops accepting and gives requests under way two seconds."""
        await self._runner.cleanup()


async def start_admin(broker: Broker, sockets: Sequence[socket.socket]) -> AdminServer:
    """Serves the admin API on sockets that are bound, all to the same port."""
    web = await asyncio.to_thread(importlib.import_module, "aiohttp.web")
    protocol = await asyncio.to_thread(importlib.import_module, _PROTOCOL)
    handlers = await asyncio.to_thread(importlib.import_module, _HANDLERS)
    dispatcher = Dispatcher(broker, handlers.all_routes(), web)
    runner = web.ServerRunner(protocol.Connections(dispatcher.answer), shutdown_timeout=CLOSE_SECONDS)
    await runner.setup()
    for one in sockets:
        await web.SockSite(runner, one).start()
    return AdminServer(runner, int(sockets[0].getsockname()[1]) if sockets else 0)


class Dispatcher:
    """From a request of the HTTP library to a handler, and from its result back to a response."""

    def __init__(self, broker: Broker, routes: Routes, library: Any) -> None:
        server = broker.config.server
        machine = socket.gethostname()
        own = (machine, machine.partition(".")[0], server.advertised_address, server.bind_address)
        self._browsers = BrowserRules.of(own, server.allowed_hosts)
        self._broker = broker
        self._routes = routes
        self._web = library
        self._under_way = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = await self._bounded(request)
        headers = [("Content-Type", answer.content_type)] if answer.body else []
        headers += answer.headers
        response: web.StreamResponse = self._web.Response(status=answer.status, body=answer.body, headers=headers)
        return response

    async def _bounded(self, request: web.BaseRequest) -> Answer:
        if self._under_way >= REQUESTS_AT_A_TIME:
            return json_answer({"reason": f"more than {REQUESTS_AT_A_TIME} requests at a time"}, 503)
        self._under_way += 1
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await self._handle(request)
        except TimeoutError:
            return json_answer({"reason": f"no result within {REQUEST_SECONDS:g} seconds"}, 500)
        finally:
            self._under_way -= 1

    async def _handle(self, request: web.BaseRequest) -> Answer:
        path, _, query = request.raw_path.partition("?")
        method = "GET" if request.method == "HEAD" else request.method
        refusal = self._browsers.refusal(request.headers, over_loopback=_is_over_loopback(request))
        if refusal is not None:
            return json_answer({"reason": refusal}, 403)
        second, cluster = translate(path)
        found = self._routes.find(method, second)
        if isinstance(found, frozenset):
            return _no_route(method, path, found)
        parts = {**found.parts, "cluster": cluster} if cluster else found.parts
        # The first of equal names counts, as in Pulsar.
        named = dict(reversed(parse_qsl(query, keep_blank_values=True)))
        call = Call(self._broker, parts, named, await request.read(), request.headers)
        return await _result(found.handler(call), f"{method} {path}")


def _is_over_loopback(request: web.BaseRequest) -> bool:
    transport = request.transport
    own_end = transport.get_extra_info("sockname") if transport is not None else None
    return own_end is None or is_loopback(str(own_end[0]))


async def _result(work: Any, what: str) -> Answer:
    """The handler's answer; here, and only here, errors become statuses and reasons."""
    try:
        result = await work
    except BrokerError as error:
        return json_answer({"reason": error.reason}, error.http_status)
    except StorageError as error:
        return json_answer({"reason": str(error)}, PersistenceFailed.http_status)
    except TimeoutError:
        raise
    except Exception as error:
        log.exception("%s failed", what)
        return json_answer({"reason": f"{type(error).__name__}: {error}"}, 500)
    if result is None:
        return Answer(204)
    return result if isinstance(result, Answer) else json_answer(result)


def _no_route(method: str, path: str, known: frozenset[str]) -> Answer:
    if known:
        allowed = ", ".join(sorted(known))
        return json_answer({"reason": f"{method} is not allowed on {path}; allowed: {allowed}"}, 405)
    return json_answer({"reason": f"this broker serves nothing at {path}"}, 404)
