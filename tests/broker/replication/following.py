"""Subscriptions that follow one another between clusters, as clients, tools, and the log show them."""

from __future__ import annotations

import pulsar

from broker_core.storage.records.position import EARLIEST, Position
from broker_core.testing import EmbeddedBroker
from broker_core.wire.markers import Marker, parse_marker
from tests.broker.replication.pair import Pair
from tests.support.clusters import admin
from tests.support.loaded_topics import loaded

SECONDS = 30.0
NAME = "s"


def new_topic(pair: Pair) -> str:
    """A replicated topic that exists in both clusters."""
    topic = pair.topic()
    for broker in (pair.west, pair.east):
        loaded(broker, topic, create=True)
    return topic


def subscribe(client: pulsar.Client, topic: str, *, replicated: bool = True, **options: object) -> pulsar.Consumer:
    return client.subscribe(
        topic,
        NAME,
        initial_position=pulsar.InitialPosition.Earliest,
        replicate_subscription_state_enabled=replicated,
        **options,
    )


def backlog(broker: EmbeddedBroker, topic: str) -> int:
    """The backlog of the subscription; -1 if it does not exist."""
    found = admin(broker.http_url, "GET", f"{topic.replace('://', '/')}/stats")["subscriptions"]
    return int(found[NAME]["msgBacklog"]) if NAME in found else -1


def mark_delete(broker: EmbeddedBroker, topic: str) -> Position:
    return loaded(broker, topic).subscriptions[NAME].cursor.mark_delete


def acknowledge(consumer: pulsar.Consumer, number: int) -> list[bytes]:
    """Receives and acknowledges messages one by one."""
    found = []
    for _ in range(number):
        message = consumer.receive(20_000)
        consumer.acknowledge(message)
        found.append(message.data())
    return found


def markers_in(broker: EmbeddedBroker, topic: str) -> list[tuple[Position, Marker]]:
    block = broker.call(loaded(broker, topic).ledger.read(EARLIEST, 10_000, 1 << 26))
    found = [(row, parse_marker(block.entry(row))) for row in range(len(block)) if not block.counts[row]]
    return [(Position(block.ledger_id, block.first_entry_id + row), one) for row, one in found if one is not None]


def kinds(broker: EmbeddedBroker, topic: str) -> list[type[Marker]]:
    return [type(one) for _, one in markers_in(broker, topic)]


def is_asking(broker: EmbeddedBroker, topic: str) -> bool:
    return loaded(broker, topic).replicated_subscriptions.is_asking


def is_past_all(broker: EmbeddedBroker, topic: str, messages: int) -> bool:
    """Whether that many messages have arrived, and the subscription has acknowledged all; markers may follow."""
    there = loaded(broker, topic)
    subscription = there.subscriptions.get(NAME)
    last, _ = broker.call(there.last_entry(False))
    return there.ledger.messages >= messages and subscription is not None and last <= subscription.cursor.mark_delete


def has_followed(broker: EmbeddedBroker, topic: str) -> bool:
    """Whether the subscription is there, and past some messages."""
    return NAME in loaded(broker, topic).subscriptions and mark_delete(broker, topic).entry_id >= 0


def status(broker: EmbeddedBroker, topic: str) -> object:
    return admin(broker.http_url, "GET", _status_path(topic))


def set_status(broker: EmbeddedBroker, topic: str, replicated: bool) -> None:
    admin(broker.http_url, "POST", _status_path(topic), replicated)


def _status_path(topic: str) -> str:
    return f"{topic.replace('://', '/')}/subscription/{NAME}/replicatedSubscriptionStatus"
