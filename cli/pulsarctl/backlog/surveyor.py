"""Asks the admin API for what a survey holds: two requests for each partition."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pulsarctl.backlog.cursor_facts import cursor_facts
from pulsarctl.backlog.survey import LiveFacts, PartitionSurvey, SubscriptionSurvey, Survey
from pulsarctl.errors import NotFound
from pulsarctl.tables.ledger_ranges import ranges_of_topic

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


def survey(admin: "AdminClient", topics: Sequence[str], subscriptions: Sequence[str]) -> Survey:
    """`subscriptions` empty: all durable ones.

    Raises `NotFound` for a subscription that no topic has, and what the admin client raises.
    """
    surveyed = Survey(tuple(_partition(admin, topic, subscriptions) for topic in topics))
    known = {subscription.name for partition in surveyed.partitions for subscription in partition.subscriptions}
    for name in subscriptions:
        if name not in known:
            raise NotFound(f"no topic of the report has a durable subscription {name}")
    return surveyed


def _partition(admin: "AdminClient", topic: str, chosen: Sequence[str]) -> PartitionSurvey:
    stats = admin.topics.stats(topic)
    internal = admin.topics.internal_stats(topic)
    known = stats.get("subscriptions", {})
    # The state of a cursor does not tell: Apache Pulsar says NoLedger of a durable one until it acknowledges.
    volatile = {name for name, subscription in known.items() if not subscription.get("durable", True)}
    names = [
        name for name in sorted(known.keys() & internal["cursors"].keys() - volatile) if not chosen or name in chosen
    ]
    facts = cursor_facts(internal, names, volatile)
    surveyed = tuple(SubscriptionSurvey(name, _live(stats, name), facts[name]) for name in names)
    return PartitionSurvey(topic, surveyed, tuple(ranges_of_topic(topic, internal, subscriptions=names)))


def _type(name: str | None) -> str:
    """Apache Pulsar says `None` for a subscription that never had a consumer."""
    return "" if name in (None, "None") else str(name)


def _live(stats: Mapping[str, Any], name: str) -> LiveFacts:
    own = stats["subscriptions"][name]
    return LiveFacts(
        type=_type(own.get("type")),
        consumers=len(own.get("consumers", ())),
        rate_in=float(stats.get("msgRateIn", 0.0)),
        rate_out=float(own.get("messageAckRate") or own.get("msgRateOut") or 0.0),
        unacked=int(own.get("unackedMessages", 0)),
        is_blocked=bool(own.get("blockedSubscriptionOnUnackedMsgs", False)),
    )
