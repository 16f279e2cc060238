"""Non-persistent topics in the admin API: their drop rates, and the operations that they do not have."""

from __future__ import annotations

from functools import wraps
from typing import Any

from broker_core.admin.call import Call, Handler
from broker_core.errors import BrokerError, NotAllowed
from broker_core.names import NON_PERSISTENT
from broker_core.publishing.producer import Producer
from broker_core.topic.subscription import Subscription
from broker_core.topic.topic import Topic

NEEDS_PERSISTENT = "Need to provide a persistent topic name"
ONLY_BY_CLIENTS = "Create subscription on non-persistent topic can only be done through client"


def persistent_only(
    handler: Handler, operation: str, error: type[BrokerError] = NotAllowed, reason: str = ""
) -> Handler:
    """The handler, refusing non-persistent topics: `operation` is not allowed on them, or the `reason` says why."""

    @wraps(handler)
    async def checked(call: Call) -> Any:
        if call.parts["domain"] == NON_PERSISTENT:
            raise error(reason or f"{operation} on a non-persistent topic is not allowed")
        return await handler(call)

    return checked


def add_drop_rates(body: dict[str, Any], topic: Topic) -> dict[str, Any]:
    """Adds `msgDropRate` of the topic and its publishers: messages per second that no consumer got."""
    if topic.name.is_persistent:
        return body
    for publisher in body["publishers"]:
        producer = topic.producers.get(publisher["producerName"])
        publisher["msgDropRate"] = _rate(producer)
    body["msgDropRate"] = sum(map(_rate, topic.subscriptions.values())) + sum(map(_rate, topic.producers.values()))
    return body


def drop_rates(topic: Topic) -> dict[str, float]:
    """The drop rate of each subscription; empty for topics that do not drop messages."""
    if topic.name.is_persistent:
        return {}
    return {name: _rate(subscription) for name, subscription in topic.subscriptions.items()}


def _rate(client: Producer | Subscription | None) -> float:
    return 0.0 if client is None or client.dropped is None else client.dropped.per_second()[0]
