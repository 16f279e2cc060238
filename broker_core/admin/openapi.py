"""`/openapi.json`: the admin API as an OpenAPI 3.1 document made from the routing table, and a page to read it.

The document is made at the first request and kept. The page needs no script and loads nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from broker_core import __version__
from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.routes import DOMAINS, Route
from broker_core.admin.shapes import INT64, TRUTH, Shape, one_of
from broker_core.security.operations import ANYONE

HTML_TYPE = "text/html; charset=utf-8"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_TEXT: Shape = {"type": "string"}
_NAME: Shape = {"type": "string", "minLength": 1}

# The shapes of parameters by name; others are text.
_OF_PATH: dict[str, Shape] = {
    "domain": one_of(*sorted(DOMAINS)),
    **dict.fromkeys(("count", "timestamp", "seconds", "number", "ledger", "entry", "version", "partition"), INT64),
}
_FLAGS = """
applied authoritative checkAllowAutoCreation excludeConsumers excludePublishers force getEarliestTimeInBacklog
getPreciseBacklog includeSystemTopic isGlobal metadata migrated perPartition replicated subscriptionBacklogSize sweep
unload updateLocalTopicOnly
"""
_OF_QUERY: dict[str, Shape] = {
    **dict.fromkeys(_FLAGS.split(), TRUTH),
    "mode": one_of("PERSISTENT", "NON_PERSISTENT", "ALL"),
    "backlogQuotaType": one_of("destination_storage", "message_age"),
    "initialPosition": one_of("earliest", "latest"),
    "topicVersion": one_of("V1", "V2"),
    "messageTTL": INT64,
    "subscriptionExpirationTime": INT64,
    "messagePosition": INT64,
}
_ERROR = {"$ref": "#/components/schemas/Error"}
_DESCRIPTION = (
    "The admin API of this broker, with the paths of Apache Pulsar 4.0. A failed request answers with a reason."
    " `x-operation` is what a caller must be allowed to do."
)


def document(routes: Iterable[Route]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    error = {"type": "object", "required": ["reason"], "properties": {"reason": _TEXT}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "pulsarctl broker", "version": __version__, "description": _DESCRIPTION},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in sorted({tag_of(path) for path in paths})],
        "paths": paths,
        "components": {"schemas": {"Error": error}},
    }


def _operation(route: Route) -> dict[str, Any]:
    variables = re.findall(r"{(\w+)}", route.path)
    parameters = [_parameter(name, "path", _OF_PATH.get(name, _NAME)) for name in variables]
    parameters += [_parameter(name, "query", _OF_QUERY.get(name, _TEXT)) for name in route.query]
    body = {"requestBody": {"content": {"application/json": {"schema": route.body}}}} if route.body is not None else {}
    return {
        "operationId": operation_id(route),
        "summary": summary_of(route),
        "tags": [tag_of(route.path)],
        "x-operation": str(route.operation),
        "parameters": parameters,
        **body,
        "responses": {
            "2XX": {"description": "Done; the answer, if there is one."},
            "default": {"description": "Refused.", "content": {"application/json": {"schema": _ERROR}}},
        },
    }


def _parameter(name: str, where: str, shape: Shape) -> dict[str, Any]:
    return {"name": name, "in": where, "schema": shape, **({"required": True} if where == "path" else {})}


def operation_id(route: Route) -> str:
    """Unique, because a path has each method once."""
    words = re.findall(r"\w+", route.path.replace("/admin/", "/"))
    return "_".join((route.method.lower(), *words))


def summary_of(route: Route) -> str:
    """The summary of the route, or else the name of its handler as words."""
    if route.summary:
        return route.summary
    handler = route.handler.func if isinstance(route.handler, partial) else route.handler
    words = handler.__name__.replace("_", " ")
    return f"{words[0].upper()}{words[1:]}"


def tag_of(path: str) -> str:
    """The noun: the first segment that is neither a root nor a version."""
    segments = [part for part in path.split("/") if part and part not in ("admin", "lookup", "v2", "v3")]
    return {"{domain}": "topics", "topic": "lookup"}.get(segments[0], segments[0])


# The page


def page(routes: Sequence[Route]) -> str:
    nouns = sorted({tag_of(route.path) for route in routes})
    links = "".join(f'<li><a href="#{noun}">{noun}</a></li>' for noun in map(html.escape, nouns))
    sections = "".join(_section(noun, [route for route in routes if tag_of(route.path) == noun]) for noun in nouns)
    return _PAGE.format(version=html.escape(__version__), links=links, sections=sections)


def _section(noun: str, routes: Iterable[Route]) -> str:
    rows = "".join(_rows(routes))
    return f'<h2 id="{html.escape(noun)}">{html.escape(noun)}</h2><table><tbody>{rows}</tbody></table>'


def _rows(routes: Iterable[Route]) -> Iterator[str]:
    for route in sorted(routes, key=lambda route: (route.path, route.method)):
        query = f"?{'&'.join(route.query)}" if route.query else ""
        cells = (route.method, f"{route.path}{query}", summary_of(route), str(route.operation))
        shown = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        yield f'<tr id="{html.escape(operation_id(route))}">{shown}</tr>'


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Admin API of the pulsarctl broker</title>
<meta name="viewport" content="width=device-width"><style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
td {{ border-top: 1px solid #8886; padding: .25rem .75rem .25rem 0; vertical-align: top }}
td:first-child {{ font-weight: 600 }}
td:nth-child(2) {{ font-family: ui-monospace, monospace; overflow-wrap: anywhere }}
td:last-child {{ opacity: .7 }}
ul {{ columns: 12rem; padding-left: 1.2rem }}
</style></head><body><h1>Admin API</h1>
<p>Broker {version}, with the paths of Apache Pulsar 4.0. The last column is what a caller must be allowed to do.
Tools read <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
<nav><ul>{links}</ul></nav><main>{sections}</main></body></html>
"""


def routes(others: Iterable[Route]) -> tuple[Route, ...]:
    """The routes of the document and of its page, which show themselves, too."""

    @cache
    def as_json() -> Answer:
        return json_answer(document(listed))

    @cache
    def as_page() -> Answer:
        return Answer(200, page(listed).encode(), HTML_TYPE, (("Content-Security-Policy", _POLICY),))

    async def get_document(_call: Call) -> Answer:
        return await asyncio.to_thread(as_json)  # the first call takes about 60 ms

    async def get_page(_call: Call) -> Answer:
        return await asyncio.to_thread(as_page)

    own = (
        Route("GET", "/openapi.json", get_document, ANYONE, summary="Get this document"),
        Route("GET", "/openapi.html", get_page, ANYONE, summary="Get this document as a page"),
    )
    listed = (*others, *own)
    return own
