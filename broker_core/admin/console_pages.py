"""The pages of the web console, its files, and signing in; `console_routes` says where they are.

Everyone who may see a page of it may open these routes; what the page shows or changes is asked of the admin API, which
authorizes each request (`console_api`). With authentication, a user without credentials gets the page to sign in.
"""

from __future__ import annotations

from broker_core import __version__
from broker_core.admin.call import Answer, Call
from broker_core.admin.console_api import OwnAdminApi
from broker_core.admin.routes import Routes
from broker_core.console import console, paths
from broker_core.console.admin_api import Refused
from broker_core.console.page import Page, PageFrame, Request, problem, see_other
from broker_core.console.sign_in import authorization, sign_in
from broker_core.errors import AuthenticationFailed, NotFound
from broker_core.security.http_credentials import METHOD_HEADER
from broker_core.security.sessions import COOKIE, Sessions

_NOT_PRIVATE = (
    "Cannot sign in over a connection that others can read. Use https (webServicePortTls), or an address of the"
    " machine itself, such as http://localhost. A proxy has to serve https, and to send X-Forwarded-Proto."
)


def _answer(page: Page, *more: tuple[str, str]) -> Answer:
    return Answer(page.status, page.body, page.content_type, (*page.headers, *more))


def _frame(call: Call) -> PageFrame:
    principal, server = call.principal, call.broker.config.server
    return PageFrame(
        f"Cluster {server.cluster_name}, pulsarctl {__version__}.",
        call.broker.config.console.actions,
        principal.name if principal else "",
        _sessions(call).find(call.headers.get("Cookie", "")) is not None,
    )


def _sessions(call: Call) -> Sessions:
    assert call.sessions is not None, "the console is served over HTTP"
    return call.sessions


def _check_enabled(call: Call) -> None:
    if not call.broker.config.console.enabled:
        raise NotFound("the web console is disabled (consoleEnabled)")


async def show(call: Call, api: Routes) -> Answer:
    """`api`: the admin API that the pages ask."""
    _check_enabled(call)
    if call.broker.security.authentication is not None and call.principal is None:
        return _asks_to_sign_in(call)
    frame = _frame(call)
    try:
        form = console.fields(call.body.decode(errors="replace"))
    except Refused as error:
        return _answer(problem(frame, error.status, str(error)))
    request = Request(call.method, call.path, call.query, form)
    return _answer(await console.answer(frame, request, OwnAdminApi(call, api)))


async def show_file(call: Call) -> Answer:
    _check_enabled(call)
    return _answer(console.file(call.path))


# Signing in


def _asks_to_sign_in(call: Call, problem: str = "") -> Answer:
    if call.path == paths.SAMPLE:  # asked for by a script
        return Answer(401, b"{}")
    authentication = call.broker.security.authentication
    methods = authentication.methods if authentication is not None and call.is_private else frozenset[str]()
    return _answer(sign_in(_frame(call), methods, problem if call.is_private else _NOT_PRIVATE))


async def show_sign_in(call: Call) -> Answer:
    _check_enabled(call)
    if call.broker.security.authentication is None:
        return _answer(see_other(paths.HOME))
    return _asks_to_sign_in(call)


async def accept_sign_in(call: Call) -> Answer:
    """Proves the credentials once, and then keeps them for the cookie that it sets."""
    _check_enabled(call)
    if call.broker.security.authentication is None:
        return _answer(see_other(paths.HOME))
    if not call.is_private:
        return _asks_to_sign_in(call)
    sent = authorization(console.fields(call.body.decode(errors="replace")))
    headers = {"Authorization": sent, METHOD_HEADER: "basic" if sent.startswith("Basic ") else "token"}
    try:
        await call.broker.security.authenticate_request(call.client or "gone", headers, {}, b"")
    except AuthenticationFailed:
        return _asks_to_sign_in(call, "The broker does not accept these credentials.")
    name = _sessions(call).open(headers)
    return _answer(see_other(paths.HOME), ("Set-Cookie", _cookie(call, name)))


async def sign_out(call: Call) -> Answer:
    _check_enabled(call)
    _sessions(call).close(call.headers.get("Cookie", ""))
    return _answer(see_other(paths.SIGN_IN), ("Set-Cookie", f"{_cookie(call, '')}; Max-Age=0"))


def _cookie(call: Call, value: str) -> str:
    """Strict: no page of another site makes requests with it. No path: the pages are at `/`, too."""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if call.is_secure else ''}"
