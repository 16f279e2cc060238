"""The page that browses messages: the next ones of a subscription, or those of a topic from its start.

The messages of a partitioned topic are ordered only within a partition, so the page shows one partition at a time.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Any

from broker_core.console.admin_api import AdminApi, Refused, Reply, TopicName
from broker_core.console.entries import ShownMessage, messages_of
from broker_core.console.markup import Child, Html, address, link, tag
from broker_core.console.markup import table as table_of
from broker_core.console.page import Page, PageFrame, Request, name_of, page, subscription_crumbs
from broker_core.console.paths import MESSAGES, SUBSCRIPTION
from broker_core.console.quantities import count
from broker_core.console.topic import partitions_of, subscription_of
from broker_core.console.values import ValueReader, cut

ENTRIES = 10  # entries of a page; each takes one request
VERSION_BYTES = 8
FARTHEST = 1_000_000  # the first entry of a page


async def messages_page(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    topic, name = TopicName.parse(request.query.get("topic", "")), request.query.get("subscription", "")
    if name:  # a broker creates a subscription that it is asked to peek at
        partitions, _, _ = await subscription_of(api, topic, name)
    else:
        partitions = await partitions_of(api, topic)
    first, chosen = _first(request), _chosen(request, partitions)
    source = topic if chosen is None else topic.partition(chosen)
    entries = await _entries(api, source, name, first, is_partition=chosen is not None)
    rows = await _rows(api, source, entries[:ENTRIES], first)
    crumbs = subscription_crumbs(topic)
    if name:
        crumbs = [*crumbs, (name, address(SUBSCRIPTION, topic=topic, name=name))]
    title = f"Next messages of {name}" if name else f"Messages of {topic.local}"
    explained = "Looking at messages does not consume them. " + (
        "They are the next ones that the subscription gets." if name else "They are shown from the start of the topic."
    )
    steps = _steps(topic, name, chosen, first, has_more=len(entries) > ENTRIES)
    choice = None if chosen is None else _choice(topic, name, partitions, chosen)
    return page(frame, title, crumbs, tag("p", explained), choice, _table(rows, first), steps)


def _chosen(request: Request, partitions: int) -> int | None:
    """The partition; None for a topic without partitions, and the first for a number that no partition has."""
    if not partitions:
        return None
    text = request.query.get("partition", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    return number if number < partitions else 0


def _choice(topic: TopicName, name: str, partitions: int, chosen: int) -> Html:
    """A number, not a list: a topic may have thousands of partitions."""
    entry = tag(
        "input", id="partition", name="partition", type="number", min="0", max=str(partitions - 1), value=str(chosen)
    )
    return tag(
        "form",
        tag("input", type="hidden", name="topic", value=str(topic)),
        tag("input", type="hidden", name="subscription", value=name) if name else None,
        tag("label", f"Partition (0 to {partitions - 1:,})", for_="partition"),
        entry,
        tag("button", "Show", type="submit"),
        action=MESSAGES,
        method="get",
        class_="filter",
    )


def _first(request: Request) -> int:
    text = request.query.get("from", "1")
    return min(max(int(text), 1), FARTHEST) if text.isascii() and text.isdigit() and len(text) < 8 else 1


async def _entries(
    api: AdminApi, topic: TopicName, name: str, first: int, *, is_partition: bool
) -> list[list[ShownMessage]]:
    """The entries of a page, and one more if there is one.

    Requests follow one another, so that only one body is in memory. For a number after the end of a topic, brokers
    return the last entry again, so an entry with the ID of the one before it ends the page.
    """
    entries = list[list[ShownMessage]]()
    before = "" if name or first == 1 else await _id(api, topic, name, first - 1)
    for number in range(first, first + ENTRIES + 1):
        reply = await _entry(api, topic, name, number, is_partition=is_partition)
        if reply is None or _id_of(reply) == before:
            break
        before = "" if name else _id_of(reply)
        entries.append(await asyncio.to_thread(messages_of, reply))
    return entries


async def _rows(api: AdminApi, topic: TopicName, entries: list[list[ShownMessage]], first: int) -> list[list[Child]]:
    schemas = _Schemas(api, topic)
    return [
        [count(number), *await _cells(message, await schemas.reader(message.schema_version))]
        for number, messages in enumerate(entries, first)
        for message in messages
    ]


async def _id(api: AdminApi, topic: TopicName, name: str, number: int) -> str:
    reply = await _entry(api, topic, name, number, is_partition=True)
    return "" if reply is None else _id_of(reply)


def _id_of(reply: Reply) -> str:
    return reply.headers.get("x-pulsar-message-id", "")


async def _entry(api: AdminApi, topic: TopicName, name: str, number: int, *, is_partition: bool) -> Reply | None:
    """The entry; None after the last one. A partition that has never been used may not exist yet."""
    try:
        if name:
            return await api.ask("GET", f"{topic.subscription_path(name)}/position/{number}")
        query = {"initialPosition": "earliest", "messagePosition": str(number)}
        reply = await api.ask("GET", f"{topic.path}/examinemessage", query)
    except Refused as error:
        is_after = error.status in (404, 412) and number > 1
        if is_after or _is_empty(error) or (is_partition and error.status == 404):
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
        """The schema, or None: then the value is shown as text or bytes."""
        try:
            data = base64.b64decode(version, validate=True)
            if len(data) != VERSION_BYTES:
                return None
            schema = await self._api.ask("GET", f"{self._topic.schema_path}/schema/{int.from_bytes(data)}")
        except (Refused, binascii.Error, ValueError):
            return None
        return schema.value if isinstance(schema.value, dict) else None


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


def _steps(topic: TopicName, name: str, chosen: int | None, first: int, *, has_more: bool) -> Html | None:
    def to(start: int, text: str) -> Html:
        where = address(MESSAGES, topic=topic, subscription=name, partition=chosen, **{"from": start})
        return tag("li", link(where, text))

    before = to(max(1, first - ENTRIES), "Earlier") if first > 1 else None
    after = to(first + ENTRIES, "Later") if has_more else None
    return tag("nav", tag("ul", before, after), aria_label="Pages", class_="pages") if before or after else None
