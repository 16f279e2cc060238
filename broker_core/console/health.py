"""The health of a subscription, in one word and one sentence, from its stats. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from broker_core.console.quantities import count, number

STUCK, WAITING, MOVING, EMPTY = "stuck", "waiting", "delivering", "empty"


class Health(NamedTuple):
    """`word`: one of the four above."""

    word: str
    reason: str


def health_of(subscription: Mapping[str, Any]) -> Health:
    backlog = number(subscription.get("msgBacklog"))
    consumers = subscription.get("consumers") or []
    unacked = number(subscription.get("unackedMessages"))
    if backlog <= 0:
        return Health(EMPTY, "It has no backlog.")
    if not consumers:
        return Health(STUCK, "No consumer is connected.")
    if subscription.get("blockedSubscriptionOnUnackedMsgs") or _all_blocked(consumers):
        return Health(STUCK, f"Its consumers hold {count(unacked)} messages, too many to get more.")
    if number(subscription.get("msgRateOut")) > 0 or number(subscription.get("messageAckRate")) > 0:
        return Health(MOVING, "Its consumers get messages.")
    if number(subscription.get("msgDelayed")) >= backlog:
        return Health(WAITING, "All its messages are delayed.")
    if unacked > 0:
        return Health(STUCK, f"Its consumers hold {count(unacked)} messages and acknowledge none.")
    if all(number(consumer.get("availablePermits")) <= 0 for consumer in consumers):
        return Health(STUCK, "Its consumers do not ask for messages.")
    return Health(WAITING, "Its consumers are ready, and nothing was delivered lately.")


def _all_blocked(consumers: Any) -> bool:
    return all(consumer.get("blockedConsumerOnUnackedMsgs") for consumer in consumers)
