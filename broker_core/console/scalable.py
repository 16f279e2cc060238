"""The pages of scalable topics: those of a namespace, and one with its segments, subscriptions, and consumers.

The statistics of a milestone of Pulsar 5.0 have neither rates nor the consumers of a subscription.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from broker_core.console.admin_api import ROOT, AdminApi, Refused, Reply, TopicName, namespace_path, part
from broker_core.console.markup import Child, Html, address, link, tag
from broker_core.console.markup import table as table_of
from broker_core.console.page import Page, PageFrame, Request, facts, name_of, namespace_crumbs, page
from broker_core.console.paths import SCALABLE_TOPIC, TOPICS
from broker_core.console.quantities import count, counted, moment, rate, size
from broker_core.console.segment_drawing import HASHES, Segment, drawing

ROWS_MAX = 500  # rows of a table
ASKED_MAX = 50  # topics of a page whose statistics are asked for
Document = Mapping[str, Any]


async def names_in(api: AdminApi, namespace: str) -> list[str]:
    """Empty for a cluster without scalable topics."""
    try:
        return sorted((await api.ask("GET", f"{ROOT}/scalable/{namespace_path(namespace)}")).value or [])
    except Refused:
        return []


def _path(topic: TopicName) -> str:
    return f"{ROOT}/scalable/{namespace_path(topic.namespace)}/{part(topic.local)}"


def _crumbs(namespace: str) -> list[tuple[str, str]]:
    return [*namespace_crumbs(namespace), (namespace, address(TOPICS, namespace=namespace))]


# The topics of a namespace


async def scalable_topics(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    namespace = request.query.get("namespace", "")
    names = await names_in(api, namespace)
    topics = [TopicName.parse(name) for name in names[:ROWS_MAX]]
    replies = await api.ask_all([f"{_path(topic)}/stats" for topic in topics[:ASKED_MAX]])
    rows = [_topic_row(topic, reply) for topic, reply in zip(topics, replies, strict=False)]
    rows += [[_link(topic), *["-"] * 6] for topic in topics[ASKED_MAX:]]
    headings = ["Topic", "#Active segments", "#Sealed segments", "#In/s", "#Out/s", "#Stored", "#Subscriptions"]
    table = table_of(_caption("scalable topic", len(names)), headings, rows)
    return page(frame, "Scalable topics", _crumbs(namespace), table)


def _link(topic: TopicName) -> Html:
    return link(address(SCALABLE_TOPIC, name=topic), name_of(topic.local))


def _topic_row(topic: TopicName, reply: Reply | Refused) -> list[Child]:
    stats: Document = reply.value or {} if isinstance(reply, Reply) else {}
    states = [one.get("state") for one in _layout(stats).values()]
    return [
        _link(topic),
        count(states.count("ACTIVE")),
        count(states.count("SEALED")),
        rate(stats.get("msgRateIn")),
        rate(stats.get("msgRateOut")),
        size(stats.get("storageSize")),
        count(len(stats.get("subscriptions") or {})),
    ]


def _layout(stats: Document) -> Document:
    """The segments by ID, in the form of 5.0.0 or of a milestone."""
    layout: Document = (stats.get("layout") or stats).get("segments") or {}
    return layout


def _caption(noun: str, total: int) -> str:
    """`noun` is the singular."""
    return counted(total, noun) if total <= ROWS_MAX else f"The first {ROWS_MAX:,} of {counted(total, noun)}"


# One topic


async def scalable_topic(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    topic = TopicName.parse(request.query.get("name", ""))
    metadata = (await api.ask("GET", _path(topic))).value or {}
    stats = (await api.ask("GET", f"{_path(topic)}/stats")).value or {}
    segments = [Segment.of(one) for one in (metadata.get("segments") or {}).values()]
    segments.sort(key=lambda segment: (segment.created_epoch, segment.start))
    subscriptions = sorted((stats.get("subscriptions") or {}).items())
    content = (
        facts(_facts(topic, metadata, segments, stats)),
        tag("section", tag("h2", "Segments"), drawing(segments[-ROWS_MAX:]), _segments(segments)),
        _subscriptions(subscriptions),
        _consumers(subscriptions),
    )
    return page(frame, topic.local, _crumbs(topic.namespace), *content)


def _facts(
    topic: TopicName, metadata: Document, segments: Sequence[Segment], stats: Document
) -> Iterable[tuple[str, Child]]:
    active = sum(segment.is_active for segment in segments)
    yield "Name", tag("code", name_of(str(topic)))
    yield "Segments", f"{active:,} active, {len(segments) - active:,} sealed"
    yield "Changes so far", count(metadata.get("epoch"))
    if "msgRateIn" in stats:
        yield "Published", f"{rate(stats.get('msgRateIn'))} messages/s"
        yield "Delivered", f"{rate(stats.get('msgRateOut'))} messages/s"
        yield "Stored", size(stats.get("storageSize"))
    for key, value in sorted((metadata.get("properties") or {}).items()):
        yield f"Property {key}", name_of(str(value))


def _segments(segments: Sequence[Segment]) -> Html:
    rows = [
        [
            str(segment.id),
            segment.state,
            segment.keys,
            f"{(segment.end - segment.start + 1) / HASHES:.2%}",
            ", ".join(map(str, segment.parents)) or "-",
            moment(segment.created_ms),
        ]
        for segment in segments[-ROWS_MAX:]
    ]
    headings = ["#Segment", "State", "Keys", "#Share of keys", "Made of", "Since"]
    return table_of(_caption("segment", len(segments)), headings, rows)


def _subscriptions(subscriptions: Sequence[tuple[str, Document]]) -> Html:
    rows = [_subscription_row(name, stats) for name, stats in subscriptions[:ROWS_MAX]]
    headings = ["Subscription", "Type", "#Backlog (entries)", "#Unacknowledged", "#Out/s", "#Consumers"]
    table = table_of(_caption("subscription", len(subscriptions)), headings, rows)
    return tag("section", tag("h2", "Subscriptions"), table)


def _subscription_row(name: str, stats: Document) -> list[Child]:
    consumers = stats.get("consumers")
    return [
        name_of(name),
        str(stats.get("type") or "-"),
        count(stats["msgBacklog"]) if "msgBacklog" in stats else "-",
        count(stats["unackedMessages"]) if "unackedMessages" in stats else "-",
        rate(stats["msgRateOut"]) if "msgRateOut" in stats else "-",
        count(stats.get("consumerCount") if consumers is None else len(consumers)),
    ]


def _consumers(subscriptions: Sequence[tuple[str, Document]]) -> Html:
    rows = list(_consumer_rows(subscriptions))
    headings = ["Consumer", "Subscription", "Connected", "Segments", "#Out/s", "#Unacknowledged", "Address", "Client"]
    table = table_of(_caption("consumer", len(rows)), headings, rows[:ROWS_MAX])
    return tag("section", tag("h2", "Consumers"), table)


def _consumer_rows(subscriptions: Sequence[tuple[str, Document]]) -> Iterator[list[Child]]:
    for name, stats in subscriptions:
        for consumer in stats.get("consumers") or ():
            yield [
                name_of(str(consumer.get("consumerName") or "-")),
                name_of(name),
                "yes" if consumer.get("connected") else "no",
                ", ".join(map(str, consumer.get("segmentIds") or ())) or "-",
                rate(consumer.get("msgRateOut")),
                count(consumer.get("unackedMessages")),
                str(consumer.get("address") or "-"),
                str(consumer.get("clientVersion") or "-"),
            ]
