"""A backlog in the unit that its broker counts. Pure.

The bundled broker counts messages. Apache Pulsar counts entries, and a batch of several messages is one entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from broker_core.console.quantities import number

_COUNTED = "backlogMessages"


def backlog_of(subscription: Mapping[str, Any]) -> float:
    """The backlog in the stats of a subscription, in messages if the broker counts them."""
    return number(subscription.get(_COUNTED if _COUNTED in subscription else "msgBacklog"))


def backlog_of_all(topic: Mapping[str, Any]) -> float:
    """The sum over all subscriptions."""
    return sum(backlog_of(subscription) for subscription in _subscriptions(topic))


def heading(topics: Iterable[Mapping[str, Any]]) -> str:
    """Names what the backlogs of these topics count, which only a subscription tells."""
    counted = [_COUNTED in subscription for topic in topics for subscription in _subscriptions(topic)]
    return f"Backlog ({'messages' if all(counted) else 'entries'})" if counted else "Backlog"


def _subscriptions(topic: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list((topic.get("subscriptions") or {}).values())
