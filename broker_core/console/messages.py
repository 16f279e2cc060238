"""The page that browses messages: the next ones of a subscription, or those of a topic from its start."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Any

from broker_core.console.admin_api import AdminApi, Refused, Reply, TopicName
from broker_core.console.entries import ShownMessage, messages_of
from broker_core.console.markup import Child, Html, address, link, tag
from broker_core.console.markup import table as table_of
from broker_core.console.page import Frame, Page, Request, name_of, page, subscription_crumbs
from broker_core.console.paths import MESSAGES, SUBSCRIPTION
from broker_core.console.quantities import count
from broker_core.console.topic import subscription_of
from broker_core.console.values import ValueReader, cut

ENTRIES = 10  # of a page; each costs one request
VERSION_BYTES = 8
FARTHEST = 1_000_000  # the first entry of a page


async def messages_page(frame: Frame, request: Request, api: AdminApi) -> Page:
    topic, name = TopicName.parse(request.query.get("topic", "")), request.query.get("subscription", "")
    if name:  # a broker creates a subscription that it is asked to peek at
        await subscription_of(api, topic, name)
    first = _first(request)
    rows = await _rows(api, topic, name, first)
    crumbs = subscription_crumbs(topic)
    if name:
        crumbs = [*crumbs, (name, address(SUBSCRIPTION, topic=topic, name=name))]
    title = f"Next messages of {name}" if name else f"Messages of {topic.local}"
    explained = "Looking at messages does not consume them. " + (
        "They are the next ones that the subscription gets." if name else "They are shown from the start of the topic."
    )
    return page(frame, title, crumbs, tag("p", explained), _table(rows, first), _steps(topic, name, first, len(rows)))


def _first(request: Request) -> int:
    text = request.query.get("from", "1")
    return min(max(int(text), 1), FARTHEST) if text.isascii() and text.isdigit() and len(text) < 8 else 1


async def _rows(api: AdminApi, topic: TopicName, name: str, first: int) -> list[list[Child]]:
    """One entry after the other, so that only one is in memory."""
    schemas, rows = _Schemas(api, topic), list[list[Child]]()
    for number in range(first, first + ENTRIES):
        reply = await _entry(api, topic, name, number)
        if reply is None:
            break
        found = await asyncio.to_thread(messages_of, reply)
        for message in found:
            rows.append([count(number), *await _cells(message, await schemas.reader(message.schema_version))])
    return rows


async def _entry(api: AdminApi, topic: TopicName, name: str, number: int) -> Reply | None:
    """None after the last one."""
    try:
        if name:
            return await api.ask("GET", f"{topic.subscription_path(name)}/position/{number}")
        query = {"initialPosition": "earliest", "messagePosition": str(number)}
        reply = await api.ask("GET", f"{topic.path}/examinemessage", query)
    except Refused as error:
        if (error.status in (404, 412) and number > 1) or _is_empty(error):
            return None
        raise
    return reply


def _is_empty(error: Refused) -> bool:
    reason = str(error).lower()
    return "message not found" in reason or "total message is zero" in reason


class _Schemas:
    """The readers of a topic's values, by schema version; each version is asked for once."""

    def __init__(self, api: AdminApi, topic: TopicName) -> None:
        self._api = api
        self._topic = topic
        self._readers: dict[str, ValueReader] = {}

    async def reader(self, version: str) -> ValueReader:
        if version not in self._readers:
            schema = await self._schema(version)
            self._readers[version] = await asyncio.to_thread(ValueReader, schema)
        return self._readers[version]

    async def _schema(self, version: str) -> Any:
        """None if there is none: the value is shown as text or bytes."""
        try:
            data = base64.b64decode(version, validate=True)
            if len(data) != VERSION_BYTES:
                return None
            found = await self._api.ask("GET", f"{self._topic.schema_path}/schema/{int.from_bytes(data)}")
        except (Refused, binascii.Error, ValueError):
            return None
        return found.value if isinstance(found.value, dict) else None


async def _cells(message: ShownMessage, reader: ValueReader) -> list[Child]:
    properties = [tag("li", name_of(cut(f"{key} = {value}"))) for key, value in sorted(message.properties.items())]
    return [
        message.id,
        message.published or "-",
        name_of(cut(message.key)) if message.key else "-",
        tag("ul", properties) if properties else "-",
        await _value(message, reader),
    ]


async def _value(message: ShownMessage, reader: ValueReader) -> Child:
    note = tag("small", message.note) if message.note else None
    if message.data is None:
        return note or tag("small", "null")
    text, how = await asyncio.to_thread(reader.read, message.data)
    read = tag("small", f"{len(message.data):,} bytes, {how}")
    return tag("div", tag("pre", tag("code", text), tabindex="0", aria_label=f"Value of {message.id}"), read, note)


def _table(rows: list[list[Child]], first: int) -> Html:
    if not rows:
        return tag("p", "There are no messages here." if first == 1 else "There are no more messages.")
    headings = ["#Entry", "Message ID", "Published", "Key", "Properties", "Value"]
    return table_of(f"Messages from entry {first:,}", headings, rows, class_="messages")


def _steps(topic: TopicName, name: str, first: int, rows: int) -> Html | None:
    def to(start: int, text: str) -> Html:
        where = address(MESSAGES, topic=topic, subscription=name, **{"from": start})
        return tag("li", link(where, text))

    before = to(max(1, first - ENTRIES), "Earlier") if first > 1 else None
    after = to(first + ENTRIES, "Later") if rows >= ENTRIES else None
    return tag("nav", tag("ul", before, after), aria_label="Pages", class_="pages") if before or after else None
