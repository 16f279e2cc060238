"""The pages that list: tenants, namespaces, the topics of a namespace in pages, and the largest backlogs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from broker_core.console.action_pages import offered
from broker_core.console.admin_api import ROOT, AdminApi, Backlogs, Refused, Reply, TopicName, namespace_path, part
from broker_core.console.backlog import backlog_of_all, heading
from broker_core.console.health import STUCK, health_of
from broker_core.console.markup import Child, Html, address, link, row, tag
from broker_core.console.markup import table as table_of
from broker_core.console.page import Page, PageFrame, Request, name_of, namespace_crumbs, page
from broker_core.console.paths import (
    BACKLOGS,
    HOME,
    NAMESPACES,
    SCALABLE_TOPICS,
    SUBSCRIPTION,
    TOPIC,
    TOPICS,
    TRANSACTIONS,
)
from broker_core.console.quantities import count, counted, rate, size
from broker_core.console.scalable import names_in
from broker_core.names import without_partition
from broker_core.rates.time_slices import sliced

ROWS = 50  # rows of a page; each takes one request
LARGEST = 200
PARTITIONED = "partitioned"


async def home(frame: PageFrame, _request: Request, api: AdminApi) -> Page:
    backlogs = tag("p", link(BACKLOGS, "Largest backlogs"), " of all topics")
    try:
        tenants = sorted((await api.ask("GET", f"{ROOT}/tenants")).value or [])
    except Refused as error:  # only superusers may list tenants; others know the names of theirs
        return page(frame, "Tenants", (), tag("p", str(error), class_="problem"), _named_tenant(), backlogs)
    rows = [[link(address(NAMESPACES, tenant=tenant), name_of(tenant))] async for tenant in sliced(tenants)]
    table = await _long_table(counted(len(rows), "tenant"), ["Tenant"], rows)
    open_now = tag("p", link(TRANSACTIONS, "Open transactions"), " of all topics")
    return page(frame, "Tenants", (), backlogs, open_now, table)


def _named_tenant() -> Html:
    return tag(
        "form",
        tag("label", "Go to tenant", for_="tenant"),
        tag("input", id="tenant", name="tenant", required=True, autocomplete="off"),
        tag("button", "Go", type="submit"),
        action=NAMESPACES,
        method="get",
    )


async def namespaces(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    tenant = request.query.get("tenant", "")
    names = sorted((await api.ask("GET", f"{ROOT}/namespaces/{part(tenant)}")).value or [])
    rows = [
        [link(address(TOPICS, namespace=name), name_of(name)), link(address(BACKLOGS, namespace=name), "backlogs")]
        async for name in sliced(names)
    ]
    table = await _long_table(counted(len(rows), "namespace"), ["Namespace", "Largest backlogs"], rows)
    return page(frame, tenant, [("Tenants", HOME)], table)


# Topics


async def topics(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    """Names are filtered and cut into pages first; only the topics of the page are asked for their stats."""
    namespace, text = request.query.get("namespace", ""), request.query.get("filter", "")
    matching, partitioned = await _names(api, namespace, text)
    number = _page_number(request, len(matching))
    listed = [TopicName.parse(name) for name in matching[number * ROWS : (number + 1) * ROWS]]
    replies = await _stats(api, listed, partitioned)
    pairs = sliced(zip(listed, replies, strict=True))
    rows = [_row(topic, str(topic) in partitioned, reply) async for topic, reply in pairs]
    headings = ["Topic", f"#{heading(_documents(replies))}", "#In/s", "#Out/s", "#Stored", "#Subscriptions", "State"]
    caption = f"Topics {number * ROWS + 1 if listed else 0:,} to {number * ROWS + len(listed):,} of {len(matching):,}"
    content = (
        _filter(namespace, text),
        await _long_table(caption, headings, rows),
        _pages(namespace, text, number, len(matching)),
        tag("p", link(address(BACKLOGS, namespace=namespace), "Largest backlogs of this namespace")),
        await _scalable_topics(api, namespace),
        offered(frame, "namespace", namespace=namespace),
    )
    return page(frame, namespace, namespace_crumbs(namespace), *content)


async def _scalable_topics(api: AdminApi, namespace: str) -> Html | None:
    total = len(await names_in(api, namespace))
    text = counted(total, "scalable topic")
    return tag("p", link(address(SCALABLE_TOPICS, namespace=namespace), text)) if total else None


async def _names(api: AdminApi, namespace: str, text: str) -> tuple[list[str], frozenset[str]]:
    """Topics without partitions and partitioned ones, sorted; and which names are those of partitioned topics."""
    path = namespace_path(namespace)
    replies = await api.ask_all(
        [
            f"{ROOT}/namespaces/{path}/topics",
            f"{ROOT}/persistent/{path}/partitioned",
            f"{ROOT}/non-persistent/{path}/partitioned",
        ],
        {"mode": "ALL"},
    )
    every, *parted = [_value(reply) or [] for reply in replies]
    partitioned = frozenset(name for names in parted for name in names)
    return await _matching(every, partitioned, text.lower()), partitioned


async def _matching(names: Sequence[str], partitioned: frozenset[str], text: str) -> list[str]:
    """Filter and sort in time slices: with many names, it would hold up the messages of a broker in this process."""
    plain = [
        name async for name in sliced(names) if text in name.lower() and without_partition(name) not in partitioned
    ]
    parted = [name async for name in sliced(partitioned) if text in name.lower()]
    return sorted(dict.fromkeys(plain + parted))


def _value(reply: Reply | Refused) -> Any:
    if isinstance(reply, Refused):
        raise reply
    return reply.value


def _page_number(request: Request, total: int) -> int:
    """From 0; the last page for a number that is too large."""
    text = request.query.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 1
    return max(0, min(number - 1, (total - 1) // ROWS))


async def _stats(api: AdminApi, listed: Sequence[TopicName], partitioned: frozenset[str]) -> Sequence[Reply | Refused]:
    paths = [f"{topic.path}/{'partitioned-stats' if str(topic) in partitioned else 'stats'}" for topic in listed]
    return await api.ask_all(paths, {"perPartition": "false", "excludePublishers": "true"})


def _documents(replies: Sequence[Reply | Refused]) -> list[Mapping[str, Any]]:
    return [reply.value or {} for reply in replies if isinstance(reply, Reply)]


def _row(topic: TopicName, is_partitioned: bool, reply: Reply | Refused) -> list[Child]:
    kinds = [PARTITIONED] if is_partitioned else []
    if topic.domain != "persistent":
        kinds.append("non-persistent")
    kind = tag("small", f" {', '.join(kinds)}") if kinds else None
    name = tag("span", link(address(TOPIC, name=topic), name_of(topic.local)), kind)
    if isinstance(reply, Refused):
        return [name, "-", "-", "-", "-", "-", str(reply)]
    stats: Mapping[str, Any] = reply.value or {}
    subscriptions = stats.get("subscriptions") or {}
    return [
        name,
        count(backlog_of_all(stats)),
        rate(stats.get("msgRateIn")),
        rate(stats.get("msgRateOut")),
        size(stats.get("storageSize")),
        count(len(subscriptions)),
        _stuck(topic, subscriptions),
    ]


def _stuck(topic: TopicName, subscriptions: Mapping[str, Any]) -> Child:
    stuck = sorted(name for name, stats in subscriptions.items() if health_of(stats).word == STUCK)
    if not stuck:
        return ""
    first = link(address(SUBSCRIPTION, topic=topic, name=stuck[0]), name_of(stuck[0]))
    more = f" and {len(stuck) - 1:,} more" if len(stuck) > 1 else ""
    return tag("span", tag("strong", "stuck", class_="word stuck"), ": ", first, more)


def _filter(namespace: str, text: str) -> Html:
    return tag(
        "form",
        tag("input", type="hidden", name="namespace", value=namespace),
        tag("label", "Names that contain", for_="filter"),
        tag("input", id="filter", name="filter", type="search", value=text, autocomplete="off"),
        tag("button", "Filter", type="submit"),
        action=TOPICS,
        method="get",
        class_="filter",
    )


def _pages(namespace: str, filter_text: str, number: int, total: int) -> Html | None:
    last = (total - 1) // ROWS
    if last <= 0:
        return None

    def to(page: int, text: str) -> Html:
        return tag("li", link(address(TOPICS, namespace=namespace, filter=filter_text, page=page + 1), text))

    def steps() -> Iterator[Html]:
        if number > 0:
            yield to(0, "First")
            yield to(number - 1, "Previous")
        yield tag("li", tag("span", f"Page {number + 1:,} of {last + 1:,}", aria_current="page"))
        if number < last:
            yield to(number + 1, "Next")
            yield to(last, "Last")

    return tag("nav", tag("ul", steps()), aria_label="Pages", class_="pages")


# Backlogs


async def backlogs(frame: PageFrame, request: Request, api: AdminApi) -> Page:
    namespace = request.query.get("namespace", "")
    largest = await api.backlogs(namespace, LARGEST)
    where = f"in {namespace}" if namespace else "in all namespaces"
    crumbs = [*namespace_crumbs(namespace), (namespace, address(TOPICS, namespace=namespace))] if namespace else None
    table = await _backlog_table(largest)
    return page(frame, f"Backlogs {where}", crumbs or [("Tenants", HOME)], _summary(largest), table)


def _summary(backlogs: Backlogs) -> Html:
    return tag(
        "p", f"Subscriptions with a backlog: {backlogs.subscriptions:,}, of {counted(backlogs.topics, 'topic')}."
    )


async def _backlog_table(backlogs: Backlogs) -> Html:
    headings = ["Subscription", "Topic", f"#{backlogs.heading}", "#Unacknowledged", "#Consumers", "#Out/s"]
    rows = (
        [
            link(address(SUBSCRIPTION, topic=backlog.topic, name=backlog.subscription), name_of(backlog.subscription)),
            link(address(TOPIC, name=backlog.topic), name_of(backlog.topic)),
            f"{backlog.backlog:,}",
            f"{backlog.unacked:,}",
            f"{backlog.consumers:,}",
            f"{backlog.rate_out:,.1f}",
        ]
        for backlog in backlogs.largest
    )
    return await _long_table(f"The {len(backlogs.largest):,} largest backlogs", headings, rows)


async def _long_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[Child]]) -> Html:
    """Written in time slices: a row takes tens of microseconds."""
    return table_of(caption, headings, [row(headings, cells) async for cells in sliced(rows)])
