"""The durable subscriptions of one partition -> its copy: the mark-delete position, and what is acknowledged above it.

A batch of which a part is acknowledged counts as not acknowledged, because brokers do not tell which part. Its messages
are delivered again, so a consumer sees each message at least once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import CommandAckResponse, CommandSubscribe, CommandSuccess, MessageIdData
from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import Conflict
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.entry_copy import entries_of
from pulsarctl.migration.holds import HOLD
from pulsarctl.migration.runs import Runs
from pulsarctl.raw.broker_connection import BrokerConnection, refusal
from pulsarctl.tables.ack_holes import Cursor
from pulsarctl.values.message_ids import LATEST, MessageId
from pulsarctl.values.names import COMPACTION_CURSOR, REPLICATORS

CONSUMER_ID = 1
IDS_PER_REQUEST = 1000
NOT_COPIED = (HOLD, COMPACTION_CURSOR, "pulsar.dedup")  # brokers keep their own


@dataclass(frozen=True, slots=True)
class Subscription:
    """`next` is the number of the first entry above the mark-delete position."""

    name: str
    next: int
    cursor: Cursor
    properties: dict[str, str]
    replicated: bool


def subscriptions(admin: AdminClient, topic: str, runs: Runs) -> list[Subscription]:
    """The subscriptions of the source, by the entries that were copied."""
    stats = admin.topics.stats(topic, excludePublishers=True, excludeConsumers=True).get("subscriptions") or {}
    cursors = admin.topics.internal_stats(topic)["cursors"]
    return [
        _subscription(name, document, Cursor.from_stats(cursors[name]), runs)
        for name, document in sorted(stats.items())
        if name in cursors and document.get("isDurable", True) and _is_copied(name)
    ]


def _is_copied(name: str) -> bool:
    return name not in NOT_COPIED and not name.startswith(REPLICATORS)


def _subscription(name: str, stats: Mapping[str, Any], cursor: Cursor, runs: Runs) -> Subscription:
    properties = dict(stats.get("subscriptionProperties") or {})
    return Subscription(name, runs.up_to(cursor.mark_delete), cursor, properties, bool(stats.get("isReplicated")))


class CursorCopy:
    """`runs`: what was copied from the source. All of `target_topic` is the copy."""

    def __init__(self, target: Endpoint, target_topic: str, runs: Runs) -> None:
        self._target = target
        self._topic = target_topic
        self._runs = runs

    def copy(self, copied: list[Subscription]) -> None:
        """Creates or moves the subscriptions. Raises `Conflict` for one that has consumers."""
        admin = self._target.admin()
        try:
            stored = entries_of(admin, self._topic)
            there = admin.topics.stats(self._topic).get("subscriptions") or {}
            for subscription in copied:
                if (there.get(subscription.name) or {}).get("consumers"):
                    raise Conflict(f"cannot move subscription {subscription.name} of {self._topic}: it has consumers")
                self._place(admin, subscription, stored, exists=subscription.name in there)
                self._acknowledge(subscription, stored)
        finally:
            admin.close()

    def _place(self, admin: AdminClient, subscription: Subscription, stored: Runs, *, exists: bool) -> None:
        start = LATEST if subscription.next >= stored.count else MessageId(*stored.position(subscription.next))
        if not exists:
            admin.topics.create_subscription(
                self._topic,
                subscription.name,
                start,
                replicated=subscription.replicated or None,
                properties=subscription.properties,
            )
        elif subscription.next < stored.count:
            admin.topics.reset_cursor(self._topic, subscription.name, start)
        else:
            admin.topics.clear_backlog(self._topic, subscription.name)

    def _acknowledge(self, subscription: Subscription, stored: Runs) -> None:
        """Acknowledges the entries above the mark-delete position that the source has acknowledged."""
        numbers = [
            number
            for ledger_id, ranges in sorted(subscription.cursor.ranges.items())
            for first, last in zip(*ranges.bounds, strict=True)
            for number in self._runs.numbers(ledger_id, first, last)
        ]
        if not numbers:
            return
        lookup = self._target.lookup()
        try:
            connection = lookup.connect(self._topic)
            self._subscribe(connection, subscription.name)
            for begin in range(0, len(numbers), IDS_PER_REQUEST):
                positions = map(stored.position, numbers[begin : begin + IDS_PER_REQUEST])
                ids = [MessageIdData(ledgerId=ledger_id, entryId=entry_id) for ledger_id, entry_id in positions]
                self._confirm(connection, ids)
        finally:
            lookup.close()

    def _subscribe(self, connection: BrokerConnection, name: str) -> None:
        """Subscribes without permits, so that nothing is delivered."""
        connection.request(
            lambda request_id: client_commands.subscribe(
                request_id, self._topic, name, CONSUMER_ID, sub_type=CommandSubscribe.Shared, force_topic_creation=False
            ),
            CommandSuccess,
            topic=self._topic,
        )

    def _confirm(self, connection: BrokerConnection, ids: list[MessageIdData]) -> None:
        answer = connection.request(
            lambda request_id: client_commands.acknowledge(CONSUMER_ID, ids, request_id=request_id),
            CommandAckResponse,
            topic=self._topic,
        )
        if answer.HasField("error"):
            raise refusal(answer.error, answer.message, f"cannot acknowledge in {self._topic}")
