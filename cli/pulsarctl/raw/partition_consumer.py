"""Our non-durable subscription on one partition: where it starts, what it takes, how many messages may be under way.

`start` moves on with every entry, so that a subscription opened again after a lost connection goes on behind the last
one (docs/protocol.md "Subscriptions").
"""

import math
import secrets
import time
from dataclasses import dataclass

from broker_core.wire import client_commands, commands
from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import CommandGetLastMessageIdResponse, CommandSuccess, MessageIdData
from pulsarctl.raw.broker_connection import BrokerConnection
from pulsarctl.raw.entry import Entry, MessageId

EARLIEST = MessageId(-1, -1)
LATEST = MessageId((1 << 63) - 1, (1 << 63) - 1)

PERMITS = 1000  # messages that may be under way to us; official clients use the same
CLOCK_SKEW_SECONDS = 60  # how far the broker's clock may be ahead of ours when starting at a time
UNSIGNED = (1 << 64) - 1  # ids travel unsigned: -1 arrives as this


@dataclass(frozen=True, slots=True)
class PublishedSince:
    """Start at the first entry published at that time (ms since the epoch) or later; exact when times ascend."""

    time_ms: int


Start = MessageId | PublishedSince


class PartitionConsumer:
    """`topic` is the name of the partition, `partition` its index or -1. `start` is inclusive."""

    def __init__(self, topic: str, partition: int, start: Start, *, read_compacted: bool) -> None:
        self.topic = topic
        self.partition = partition
        self.consumer_id = max(partition, 0)
        self._start = start
        self._read_compacted = read_compacted
        self._next = start if isinstance(start, MessageId) else EARLIEST  # what may come next at the earliest
        self._owed = 0
        self._connection: BrokerConnection | None = None

    @property
    def is_subscribed(self) -> bool:
        return self._connection is not None

    @property
    def connection(self) -> BrokerConnection:
        assert self._connection is not None, "subscribe comes first"
        return self._connection

    def subscribe(self, connection: BrokerConnection) -> None:
        """Opens the subscription, or opens it again where reading stood. Raises what a request raises."""
        connection.request(self._subscription, CommandSuccess, topic=self.topic)
        self._connection = connection
        self._owed = 0
        if self._start == LATEST or isinstance(self._start, PublishedSince):
            self._next = self._after_mark_delete()
            if self._start == LATEST:  # pinned, so that opening it again misses nothing
                self._start = self._next
        self._flow(PERMITS)

    def take(self, frame: MessageFrame) -> Entry | None:
        """The entry in a MESSAGE, or None when it lies before the start. Raises `DamagedEntry`, `ConnectionLost`."""
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

    def last_id(self) -> tuple[MessageId | None, bool]:
        """The last message there is, None where there is none (left); and whether it is still to come to us."""
        last = self._as_id(self._last_message().last_message_id)
        if last.entry_id < 0:
            return None, False
        return last, last.position >= self._next.position

    def close(self) -> None:
        """The broker has forgotten the subscription when this returns. Raises what a request raises."""
        self.connection.request(
            lambda request_id: commands.close_consumer(self.consumer_id, request_id),
            CommandSuccess,
            topic=self.topic,
        )

    def _subscription(self, request_id: int) -> bytes:
        name = f"reader-{secrets.token_hex(5)}"  # a fresh one: the broker may still hold the one that was lost
        start, rollback_seconds = self._start, 0
        if isinstance(start, PublishedSince):
            age_seconds = math.ceil(time.time() - start.time_ms / 1000)
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
        """Where a subscription at LATEST really stands; LATEST itself where the broker does not tell."""
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

    def _repay(self, messages: int) -> None:
        self._owed += messages
        if self._owed >= PERMITS // 2:
            self._flow(self._owed)
            self._owed = 0

    def _flow(self, permits: int) -> None:
        self.connection.send(client_commands.flow(self.consumer_id, permits))

    def _as_id(self, wire_id: MessageIdData) -> MessageId:
        return MessageId(_signed(wire_id.ledgerId), _signed(wire_id.entryId), self.partition, wire_id.batch_index)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
