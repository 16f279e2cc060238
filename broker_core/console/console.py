"""The console: which page answers which address, for any host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl

from broker_core.console import action_pages, lists, messages, paths, scalable, topic, transactions
from broker_core.console.admin_api import AdminApi, Refused
from broker_core.console.page import Page, PageFrame, Request, problem

FIELDS_MAX = 50
Show = Callable[[PageFrame, Request, AdminApi], Awaitable[Page]]

PAGES: Mapping[str, Show] = {
    paths.HOME: lists.home,
    paths.NAMESPACES: lists.namespaces,
    paths.TOPICS: lists.topics,
    paths.BACKLOGS: lists.backlogs,
    paths.TRANSACTIONS: transactions.transactions,
    paths.TOPIC: topic.topic_page,
    paths.SUBSCRIPTION: topic.subscription_page,
    paths.SCALABLE_TOPICS: scalable.scalable_topics,
    paths.SCALABLE_TOPIC: scalable.scalable_topic,
    paths.SAMPLE: topic.sample_page,
    paths.MESSAGES: messages.messages_page,
    paths.ACTION: action_pages.confirm,
}
FORMS: Mapping[str, Show] = {paths.ACTION: action_pages.perform}

_FILES = {
    paths.STYLE: ("console.css", "text/css; charset=utf-8"),
    paths.SCRIPT: ("console.js", "text/javascript; charset=utf-8"),
    paths.ICON: ("icon.svg", "image/svg+xml"),
}
FILES = tuple(_FILES)


async def answer(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    """Never raises `Refused`: a page says what was refused, and why."""
    shows = FORMS if request.method == "POST" else PAGES
    if request.path not in shows:
        return problem(frame, 404, f"the console has no page {request.path[:200]}")
    try:
        return await shows[request.path](frame, request, api)
    except Refused as error:
        return problem(frame, error.status, str(error))


@cache
def file(path: str) -> Page:
    """One of `FILES`, which need no user: a style sheet, a script, and an icon."""
    name, kind = _FILES[path]
    headers = (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "max-age=300"))
    return Page(200, Path(__file__).with_name(name).read_bytes(), kind, headers)


def fields(text: str) -> dict[str, str]:
    """The fields of a query or a form; the first of equal names counts. Raises `Refused`."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="replace")
    except ValueError:
        raise Refused(400, f"the request has more than {FIELDS_MAX} fields") from None
    return dict(reversed(pairs))
