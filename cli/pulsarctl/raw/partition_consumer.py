"""The non-durable subscription of a reader on one partition: its start, its entries, and its permits.

`start` advances with every entry, so that a subscription continues after the last one when it is reopened.
docs/reference/protocol.md "Subscriptions" states the rules.
"""

import math
import secrets
from dataclasses import dataclass

from broker_core.wire import client_commands, commands
from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import CommandGetLastMessageIdResponse, CommandSuccess, MessageIdData
from pulsarctl.raw.broker_connection import BrokerConnection
from pulsarctl.raw.entry import Entry
from pulsarctl.values.clock import now_ms
from pulsarctl.values.message_ids import EARLIEST, LATEST, MessageId

PERMITS = 1000  # messages in flight to the reader, as in the official clients
CLOCK_SKEW_SECONDS = 60  # how far the broker's clock may be ahead when reading starts at a time
UNSIGNED = (1 << 64) - 1  # IDs are unsigned on the wire: -1 becomes this


@dataclass(frozen=True, slots=True)
class PublishedSince:
    """Start at the first entry published at or after a time (ms since the epoch). Exact if times ascend."""

    time_ms: int


Start = MessageId | PublishedSince


class PartitionConsumer:
    """`topic` is the name of the partition, `partition` its index or -1. `start` is inclusive.

    `consumer_id` is by default the index of the partition.
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        start: Start,
        *,
        read_compacted: bool = False,
        permits: int = PERMITS,
        consumer_id: int | None = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.consumer_id = max(partition, 0) if consumer_id is None else consumer_id
        self._start = start
        self._read_compacted = read_compacted
        self._next = start if isinstance(start, MessageId) else EARLIEST  # the earliest entry that may come next
        self._owed = 0
        self._permits = permits
        self._connection: BrokerConnection | None = None

    @property
    def is_subscribed(self) -> bool:
        return self._connection is not None

    @property
    def connection(self) -> BrokerConnection:
        assert self._connection is not None, "subscribe first"
        return self._connection

    def subscribe(self, connection: BrokerConnection) -> None:
        """Opens the subscription, or reopens it where reading stopped. Raises what a request raises."""
        connection.request(self._subscription, CommandSuccess, topic=self.topic)
        self._connection = connection
        self._owed = 0
        if self._start == LATEST or isinstance(self._start, PublishedSince):
            self._next = self._after_mark_delete()
            if self._start == LATEST:  # fixed, so that reopening misses nothing
                self._start = self._next
        self.flow(self._permits)

    def take(self, frame: MessageFrame) -> Entry | None:
        """The entry in a MESSAGE, or None if it is before the start. Raises `DamagedEntry` or `ConnectionLost`."""
        message = frame.message
        position = (message.message_id.ledgerId, message.message_id.entryId)
        entry = Entry(
            self.topic,
            *position,
            frame.entry,
            partition=self.partition,
            redelivery_count=message.redelivery_count,
            ack_set=tuple(message.ack_set),
            first_index=self._first_index(position),
        )
        self._repay(entry.message_count)
        following = MessageId(position[0], position[1] + 1)
        self._next = max(self._next, following)
        if self._is_before_start(entry):
            return None
        self._start = following
        return entry

    def passed(self, ledger_id: int, entry_id: int) -> None:
        """The caller took this entry from the connection itself: reopening continues after it."""
        self._next = self._start = MessageId(ledger_id, entry_id + 1)

    def _repay(self, messages: int) -> None:
        self._owed += messages
        if self._owed >= self._permits // 2:
            self.flow(self._owed)
            self._owed = 0

    def last_id(self) -> tuple[MessageId | None, bool]:
        """The last message, or None if there is none, and whether it is still to be delivered."""
        last = self._as_id(self._last_message().last_message_id)
        if last.entry_id < 0:
            return None, False
        return last, last.position >= self._next.position

    def close(self) -> None:
        """Closes the subscription and waits until the broker has removed it. Raises what a request raises."""
        self.connection.request(
            lambda request_id: commands.close_consumer(self.consumer_id, request_id),
            CommandSuccess,
            topic=self.topic,
        )

    def _subscription(self, request_id: int) -> bytes:
        name = f"reader-{secrets.token_hex(5)}"  # a new one, because the broker may still hold the lost one
        start, rollback_seconds = self._start, 0
        if isinstance(start, PublishedSince):
            age_seconds = math.ceil((now_ms() - start.time_ms) / 1000)
            start, rollback_seconds = EARLIEST, max(age_seconds, 0) + CLOCK_SKEW_SECONDS
        return client_commands.subscribe(
            request_id,
            self.topic,
            name,
            self.consumer_id,
            consumer_name=name,
            durable=False,
            start_message_id=MessageIdData(ledgerId=start.ledger_id & UNSIGNED, entryId=start.entry_id & UNSIGNED),
            start_rollback_seconds=rollback_seconds,
            read_compacted=self._read_compacted,
            force_topic_creation=False,
        )

    def _last_message(self) -> CommandGetLastMessageIdResponse:
        return self.connection.request(
            lambda request_id: client_commands.get_last_message_id(self.consumer_id, request_id),
            CommandGetLastMessageIdResponse,
            topic=self.topic,
        )

    def _after_mark_delete(self) -> MessageId:
        """The actual position of a subscription at LATEST, or LATEST if the broker does not return it."""
        answer = self._last_message()
        if not answer.HasField("consumer_mark_delete_position"):
            return LATEST
        mark_delete = self._as_id(answer.consumer_mark_delete_position)
        return mark_delete._replace(entry_id=mark_delete.entry_id + 1)

    def _first_index(self, position: tuple[int, int]) -> int:
        if isinstance(self._start, MessageId) and self._start.position == position:
            return max(self._start.batch_index, 0)
        return 0

    def _is_before_start(self, entry: Entry) -> bool:
        if isinstance(self._start, PublishedSince):
            return entry.metadata.publish_time < self._start.time_ms
        return self._start != LATEST and entry.id.position < self._start.position

    def flow(self, permits: int) -> None:
        """Permits the broker to send more messages. Raises `ConnectionLost`."""
        self.connection.send(client_commands.flow(self.consumer_id, permits))

    def _as_id(self, wire_id: MessageIdData) -> MessageId:
        return MessageId(_signed(wire_id.ledgerId), _signed(wire_id.entryId), self.partition, wire_id.batch_index)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
