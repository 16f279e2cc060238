"""The backlog of a topic and of its subscriptions: count it, show what is stored, and truncate the topic."""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.non_persistent import persistent_only
from broker_core.admin.positions import read_position, reset_data
from broker_core.admin.routes import Route
from broker_core.admin.shapes import RESET_DATA
from broker_core.admin.targets import every_topic, one_topic
from broker_core.errors import InvalidValue
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import TENANT_ADMIN, on_topic


async def analyze(call: Call) -> dict[str, Any]:
    """Counts entries and messages by reading them. Without entry filters, all of them are accepted."""
    from broker_core.topic.backlog_scan import ScanBounds, scan

    topic = await one_topic(
        call,
        "Analyze backlog on a partitioned topic is not allowed, please try do it on specific topic partition",
    )
    subscription = topic.subscriptions.find(call.subscription())
    body, limits = reset_data(call.json()), call.broker.config.topics
    start = read_position(body) if "ledgerId" in body else None
    bounds = ScanBounds(limits.scan_entries, limits.scan_ms / 1000)
    counts = await scan(topic.ledger, subscription.cursor, bounds, call.broker.clock, start)
    return {
        "entries": counts.entries,
        "messages": counts.messages,
        "markerMessages": counts.markers,
        "filterRejectedEntries": 0,
        "filterAcceptedEntries": counts.entries,
        "filterRescheduledEntries": 0,
        "filterRejectedMessages": 0,
        "filterAcceptedMessages": counts.messages,
        "filterRescheduledMessages": 0,
        "aborted": counts.aborted,
        **{name: str(at) for name, at in (("firstMessageId", counts.first), ("lastMessageId", counts.last)) if at},
    }


async def offline_backlog(call: Call) -> dict[str, Any]:
    """Return Pulsar's PersistentOfflineTopicStats: what is stored for all partitions of the topic."""
    topics = await every_topic(call)
    cursors: dict[str, dict[str, int]] = {}
    async for subscription, cursor in sliced([item for topic in topics for item in topic.ledger.cursors.items()]):
        known = cursors.setdefault(subscription, {"cursorBacklog": 0, "cursorLedgerId": -1})
        known["cursorBacklog"] += cursor.backlog_entries
    infos = [info for topic in topics for info in topic.ledger.ledger_infos()]
    name = call.topic()
    return {
        "storageSize": sum(topic.ledger.size for topic in topics),
        "totalMessages": sum(topic.ledger.entries for topic in topics),
        "messageBacklog": sum(known["cursorBacklog"] for known in cursors.values()),
        "brokerName": call.broker.config.server.advertised_address,
        "topicName": f"{name.namespace}/{name.domain}/{name.local}",
        "dataLedgerDetails": [
            {"entries": info.entries, "timestamp": info.sealed_ms, "size": info.size, "ledgerId": info.id}
            for info in infos
        ],
        "cursorDetails": cursors,
        "statGeneratedAt": call.broker.clock.wall_ms(),
    }


async def truncate(call: Call) -> None:
    """Truncate the topic, or every partition of a partitioned topic."""
    for topic in await every_topic(call):
        await topic.truncate()


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route(
        "POST",
        f"{_TOPIC}/subscription/{{subscription}}/analyzeBacklog",
        persistent_only(analyze, "Analyze backlog"),
        on_topic("CONSUME"),
        body=RESET_DATA,
    ),
    Route("GET", f"{_TOPIC}/backlog", persistent_only(offline_backlog, "Backlog"), on_topic("GET_BACKLOG_SIZE")),
    Route(
        "DELETE", f"{_TOPIC}/truncate", persistent_only(truncate, "", InvalidValue, "unsupport truncate"), TENANT_ADMIN
    ),
)
