"""A durable subscription that follows a stream, so that its backlog in Pulsar's tools is what is left to do.

Nothing depends on it but what the broker keeps: a failure is logged, and the next offset acknowledges everything
before it.
"""

import logging
import time

from broker_core.wire import client_commands, commands
from broker_core.wire.pulsar_api_pb2 import CommandAckResponse, CommandSubscribe, CommandSuccess, MessageIdData
from pulsarctl.errors import CliError
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.tables.access import Access
from pulsarctl.tables.following import BEFORE_FIRST, Offset
from pulsarctl.values.message_ids import parse_message_id

CONSUMER_ID = 0
RETRY_SECONDS = 1.0  # Spark asks every 10 ms

log = logging.getLogger(__name__)


class SubscriptionFollower:
    def __init__(self, access: Access, subscription: str) -> None:
        self._access = access
        self._subscription = subscription
        self._acknowledged: Offset = {}
        self._failed: dict[tuple[str, str], float] = {}

    def follow(self, finished: Offset) -> None:
        """Acknowledges everything up to an offset that the query has finished."""
        self._failed = {place: at for place, at in self._failed.items() if time.monotonic() - at < RETRY_SECONDS}
        for topic, position in finished.items():
            if self._acknowledged.get(topic) == position or (topic, position) in self._failed:
                continue
            try:
                self._acknowledge(topic, position)
            except CliError as error:
                log.warning("%s: cannot advance subscription %s: %s", topic, self._subscription, error)
                self._failed[topic, position] = time.monotonic()
            else:
                self._acknowledged[topic] = position

    def _acknowledge(self, topic: str, position: str) -> None:
        """Creates the subscription at the first message if it does not exist. Raises `CliError`."""
        lookup = self._access.lookup()
        try:
            self._on_broker(lookup, topic, position)
        finally:
            lookup.close()

    def _on_broker(self, lookup: TopicLookup, topic: str, position: str) -> None:
        connection = lookup.connect(topic)
        connection.request(
            lambda request_id: client_commands.subscribe(
                request_id,
                topic,
                self._subscription,
                CONSUMER_ID,
                sub_type=CommandSubscribe.Failover,
                initial_position=CommandSubscribe.Earliest,
                force_topic_creation=False,
            ),
            CommandSuccess,
            topic=topic,
        )
        if position != BEFORE_FIRST and (message_id := parse_message_id(position)).entry_id >= 0:
            place = MessageIdData(ledgerId=message_id.ledger_id, entryId=message_id.entry_id)
            connection.request(
                lambda request_id: client_commands.acknowledge(
                    CONSUMER_ID, [place], cumulative=True, request_id=request_id
                ),
                CommandAckResponse,
                topic=topic,
            )
        connection.request(
            lambda request_id: commands.close_consumer(CONSUMER_ID, request_id), CommandSuccess, topic=topic
        )
