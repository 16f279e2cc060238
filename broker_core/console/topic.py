"""The pages of a topic, of a subscription, and the samples that their charts draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from broker_core.console import charts
from broker_core.console.action_pages import done, offered
from broker_core.console.admin_api import AdminApi, Refused, TopicName
from broker_core.console.backlog import backlog_of, backlog_of_all, heading
from broker_core.console.health import health_of
from broker_core.console.markup import Child, Html, address, link, tag
from broker_core.console.markup import table as table_of
from broker_core.console.page import (
    Page,
    PageFrame,
    Request,
    facts,
    name_of,
    page,
    see_other,
    subscription_crumbs,
    topic_crumbs,
)
from broker_core.console.paths import MESSAGES, SCALABLE_TOPIC, SUBSCRIPTION, TOPIC
from broker_core.console.quantities import count, counted, moment, number, rate, size

ROWS_MAX = 500  # rows of a table of subscriptions, partitions, producers, or consumers
Document = Mapping[str, Any]


async def partitions_of(api: AdminApi, topic: TopicName) -> int:
    """0 for a topic without partitions."""
    metadata = (await api.ask("GET", f"{topic.path}/partitions")).value
    return int(number(metadata.get("partitions"))) if isinstance(metadata, dict) else 0


async def stats_of(api: AdminApi, topic: TopicName, partitions: int) -> Document:
    """Raises `Refused`."""
    end = "partitioned-stats" if partitions else "stats"
    stats = (await api.ask("GET", f"{topic.path}/{end}", {"perPartition": "false"})).value
    return stats if isinstance(stats, dict) else {}


async def subscription_of(api: AdminApi, topic: TopicName, name: str) -> tuple[int, Document, Document]:
    """The number of partitions, and the stats of topic and subscription. Raises `Refused` if there is none."""
    partitions = await partitions_of(api, topic)
    stats = await stats_of(api, topic, partitions)
    subscription = (stats.get("subscriptions") or {}).get(name)
    if subscription is None:
        raise Refused(404, f"topic {topic} has no subscription {name!r}")
    return partitions, stats, subscription


async def sample_page(_frame: PageFrame, request: Request, api: AdminApi) -> Page:
    topic, name = TopicName.parse(request.query.get("topic", "")), request.query.get("subscription", "")
    if name:
        _, stats, subscription = await subscription_of(api, topic, name)
        return charts.sample(stats, subscription)
    return charts.sample(await stats_of(api, topic, await partitions_of(api, topic)), None)


# A topic


async def topic_page(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    topic = TopicName.parse(request.query.get("name", ""))
    if topic.scalable is not None:
        return see_other(address(SCALABLE_TOPIC, name=topic.scalable))
    partitions = await partitions_of(api, topic)
    stats = await stats_of(api, topic, partitions)
    browse = tag("p", link(address(MESSAGES, topic=topic), "Browse its messages"))
    content = (
        done(request),
        facts(_topic_facts(topic, partitions, stats)),
        browse,
        charts.live(topic, stats),
        _subscriptions(topic, stats),
        _partitions(topic, partitions) if partitions else None,
        _producers(stats),
        await _schema(api, topic),
        offered(frame, "partitioned" if partitions else "topic", topic=str(topic)),
    )
    return page(frame, topic.local, topic_crumbs(topic), *content)


def _topic_facts(topic: TopicName, partitions: int, stats: Document) -> Iterable[tuple[str, Child]]:
    yield "Name", tag("code", name_of(str(topic)))
    if partitions:
        yield "Partitions", count(partitions)
    backlog = tag("span", count(backlog_of_all(stats)), data_shown="backlog")
    yield f"{heading([stats])} of all subscriptions", backlog
    yield "Published", f"{rate(stats.get('msgRateIn'))} messages/s"
    yield "Delivered", f"{rate(stats.get('msgRateOut'))} messages/s"
    yield "Stored", size(stats.get("storageSize"))
    yield "Last message", moment(stats.get("lastPublishTimeStamp"))


def _subscriptions(topic: TopicName, stats: Document) -> Html:
    subscriptions = sorted((stats.get("subscriptions") or {}).items())
    rows = [_subscription_row(topic, name, subscription) for name, subscription in subscriptions[:ROWS_MAX]]
    headings = [
        "Subscription",
        "State",
        f"#{heading([stats])}",
        "#Unacknowledged",
        "#Out/s",
        "Type",
        "#Consumers",
    ]
    table = table_of(_caption("subscription", len(subscriptions)), headings, rows)
    return tag("section", tag("h2", "Subscriptions"), table)


def _subscription_row(topic: TopicName, name: str, subscription: Document) -> list[Child]:
    health = health_of(subscription)
    return [
        link(address(SUBSCRIPTION, topic=topic, name=name), name_of(name)),
        tag("span", tag("strong", health.word, class_=f"word {health.word}"), f": {health.reason}"),
        count(backlog_of(subscription)),
        count(subscription.get("unackedMessages")),
        rate(subscription.get("msgRateOut")),
        str(subscription.get("type") or "-"),
        count(len(subscription.get("consumers") or [])),
    ]


def _caption(noun: str, total: int) -> str:
    """`noun` is the singular."""
    return counted(total, noun) if total <= ROWS_MAX else f"The first {ROWS_MAX:,} of {counted(total, noun)}"


def _partitions(topic: TopicName, total: int) -> Html:
    shown = [topic.partition(index) for index in range(min(total, ROWS_MAX))]
    rows = [[link(address(TOPIC, name=partition), name_of(partition.local))] for partition in shown]
    return tag("section", tag("h2", "Partitions"), table_of(_caption("partition", total), ["Partition"], rows))


def _producers(stats: Document) -> Html:
    publishers = stats.get("publishers") or []
    rows = [
        [
            name_of(str(publisher.get("producerName", "-"))),
            str(publisher.get("address", "-")),
            rate(publisher.get("msgRateIn")),
            size(publisher.get("averageMsgSize")),
            str(publisher.get("clientVersion", "-")),
        ]
        for publisher in publishers[:ROWS_MAX]
    ]
    headings = ["Producer", "Address", "#In/s", "#Average size", "Client"]
    return tag("section", tag("h2", "Producers"), table_of(_caption("producer", len(publishers)), headings, rows))


async def _schema(api: AdminApi, topic: TopicName) -> Html | None:
    try:
        schema = (await api.ask("GET", f"{topic.schema_path}/schema")).value
    except Refused:  # it has none, or the user may not read it
        return None
    if not isinstance(schema, dict):
        return None
    definition = tag("pre", tag("code", str(schema.get("data") or "")), tabindex="0", aria_label="Definition")
    kind = tag("p", f"{schema.get('type')}, version {schema.get('version')}")
    return tag("section", tag("h2", "Schema"), kind, definition if schema.get("data") else None)


# A subscription


async def subscription_page(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    topic, name = TopicName.parse(request.query.get("topic", "")), request.query.get("name", "")
    if topic.scalable is not None:
        return see_other(address(SCALABLE_TOPIC, name=topic.scalable))
    partitions, stats, subscription = await subscription_of(api, topic, name)
    health = health_of(subscription)
    state = tag("p", tag("strong", health.word, class_=f"word {health.word}"), f": {health.reason}", class_="health")
    browse = tag("p", link(address(MESSAGES, topic=topic, subscription=name), "Peek at its next messages"))
    kind = "partitioned subscription" if partitions else "subscription"
    content = (
        done(request),
        state,
        facts(_subscription_facts(topic, stats, subscription)),
        browse,
        charts.live(topic, stats, name),
        _consumers(subscription),
        _of_partitions(topic, name, partitions) if partitions else None,
        offered(frame, kind, topic=str(topic), subscription=name),
    )
    return page(frame, name, subscription_crumbs(topic), *content)


def _subscription_facts(topic: TopicName, stats: Document, subscription: Document) -> Iterable[tuple[str, Child]]:
    yield "Topic", tag("code", name_of(str(topic)))
    yield "Type", str(subscription.get("type") or "-")
    yield heading([stats]), tag("span", count(backlog_of(subscription)), data_shown="backlog")
    yield (
        "Delivered and not acknowledged",
        tag("span", count(subscription.get("unackedMessages")), data_shown="unacked"),
    )
    yield "Delayed", count(subscription.get("msgDelayed"))
    yield "Delivered", f"{rate(subscription.get('msgRateOut'))} messages/s"
    yield "Last delivery", moment(subscription.get("lastConsumedTimestamp"))
    yield "Last acknowledgment", moment(subscription.get("lastAckedTimestamp"))
    for key, value in sorted((subscription.get("subscriptionProperties") or {}).items()):
        yield f"Property {key}", name_of(str(value))


def _consumers(subscription: Document) -> Html:
    consumers = subscription.get("consumers") or []
    rows = [
        [
            name_of(str(consumer.get("consumerName", "-"))),
            str(consumer.get("address", "-")),
            rate(consumer.get("msgRateOut")),
            count(consumer.get("availablePermits")),
            count(consumer.get("unackedMessages")),
            "yes" if consumer.get("blockedConsumerOnUnackedMsgs") else "no",
        ]
        for consumer in consumers[:ROWS_MAX]
    ]
    headings = ["Consumer", "Address", "#Out/s", "#Permits", "#Unacknowledged", "Blocked"]
    return tag("section", tag("h2", "Consumers"), table_of(_caption("consumer", len(consumers)), headings, rows))


def _of_partitions(topic: TopicName, name: str, total: int) -> Html:
    shown = [topic.partition(index) for index in range(min(total, ROWS_MAX))]
    rows = [[link(address(SUBSCRIPTION, topic=partition, name=name), name_of(partition.local))] for partition in shown]
    return tag("section", tag("h2", "Partitions"), table_of(_caption("partition", total), ["Partition"], rows))
