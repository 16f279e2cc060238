"""The page of the open transactions of a cluster, which only superusers may list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from broker_core.console.action_pages import done
from broker_core.console.admin_api import TRANSACTIONS as ROOT
from broker_core.console.admin_api import AdminApi, TopicName
from broker_core.console.markup import Child, Html, address, link, tag
from broker_core.console.markup import table as table_of
from broker_core.console.page import Page, PageFrame, Request, name_of, page
from broker_core.console.paths import ACTION, HOME, SUBSCRIPTION, TOPIC
from broker_core.console.quantities import counted, moment, number

ROWS_MAX = 500
NAMES_MAX = 5  # topics or subscriptions of a row
HEADINGS = ("Transaction", "State", "Open since", "Times out", "Owner", "Publishes to", "Acknowledges in")
Document = Mapping[str, Any]


async def transactions(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    """The oldest first: the later messages of its topics wait for it."""
    answer = (await api.ask("GET", f"{ROOT}/slowTransactions/0")).value or {}
    oldest_first = sorted(answer.items(), key=lambda item: number(item[1].get("openTimestamp")))
    headings = [*HEADINGS, *(["Action"] if frame.actions else [])]
    rows = [_row(frame, name, metadata) for name, metadata in oldest_first[:ROWS_MAX]]
    total = counted(len(oldest_first), "open transaction")
    caption = total if len(oldest_first) <= ROWS_MAX else f"The oldest {ROWS_MAX:,} of {total}"
    says = "Consumers get no message that follows the first one of an open transaction in a topic, until it ends."
    return page(
        frame, "Transactions", [("Tenants", HOME)], done(request), tag("p", says), table_of(caption, headings, rows)
    )


def _row(frame: PageFrame, name: str, metadata: Document) -> list[Child]:
    began = number(metadata.get("openTimestamp"))
    action = [link(address(ACTION, do="abort-transaction", transaction=name), "Abort…")] if frame.actions else []
    return [
        name,
        str(metadata.get("status") or "-"),
        moment(began),
        moment(began + number(metadata.get("timeoutAt"))),  # the API gives how long it may be open
        name_of(str(metadata.get("owner") or "-")),
        _listed([_topic(topic) for topic in metadata.get("producedPartitions") or {}]),
        _listed(list(_subscriptions(metadata.get("ackedPartitions") or {}))),
        *action,
    ]


def _topic(topic: str) -> Html:
    return link(address(TOPIC, name=topic), name_of(TopicName.parse(topic).local))


def _subscriptions(by_topic: Document) -> Iterator[Html]:
    for topic, subscriptions in by_topic.items():
        for name in subscriptions or ():
            subscription = link(address(SUBSCRIPTION, topic=topic, name=name), name_of(name))
            yield tag("span", subscription, " of ", _topic(topic))


def _listed(links: list[Html]) -> Child:
    shown = [[", " if index else "", one] for index, one in enumerate(links[:NAMES_MAX])]
    more = f" and {len(links) - NAMES_MAX:,} more" if len(links) > NAMES_MAX else ""
    return tag("span", shown, more) if links else "-"
