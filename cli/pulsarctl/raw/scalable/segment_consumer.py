"""One consumer of a durable subscription on a segment of a scalable topic.

docs/reference/protocol.md "Acknowledgments" states the rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from broker_core.wire import client_commands, commands
from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import CommandSubscribe, CommandSuccess, MessageIdData
from broker_core.wire.segment_clients import name_in_segment
from pulsarctl.encryption.decryption import not_decrypted
from pulsarctl.errors import CliError
from pulsarctl.raw.acknowledged_ids import EntryPlace, acknowledged_id, in_commands
from pulsarctl.raw.broker_connection import BrokerConnection
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_record import EntryRecord, records_of
from pulsarctl.raw.scalable.membership import Assigned
from pulsarctl.records.record import Record


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """`is_shared`: a queue consumer. `permits` is how many messages each segment may send ahead."""

    subscription: str
    name: str
    is_shared: bool
    from_earliest: bool
    permits: int
    acknowledges: bool = True


class SegmentConsumer:
    """`consumer_id` is not used again."""

    def __init__(self, assigned: Assigned, segment_id: int, consumer_id: int, settings: ConsumerSettings) -> None:
        self.assigned = assigned
        self.topic = assigned.topic
        self.segment_id = segment_id
        self.consumer_id = consumer_id
        self._settings = settings
        self._left: dict[EntryPlace, tuple[int, int]] = {}  # the size of a batch, and a bit for each unsettled message
        self._owed = 0
        self._connection: BrokerConnection | None = None

    @property
    def connection(self) -> BrokerConnection:
        assert self._connection is not None, "subscribe first"
        return self._connection

    def subscribe(self, connection: BrokerConnection, *, from_earliest: bool) -> None:
        """`from_earliest`: where a new subscription starts. Raises what a request raises."""
        settings = self._settings
        connection.request(
            lambda request_id: client_commands.subscribe(
                request_id,
                self.topic,
                settings.subscription,
                self.consumer_id,
                consumer_name=name_in_segment(settings.name, self.segment_id),
                sub_type=self._type(),
                initial_position=CommandSubscribe.Earliest if from_earliest else CommandSubscribe.Latest,
                entry_buckets=self.assigned.buckets,
            ),
            CommandSuccess,
            topic=self.topic,
        )
        self._connection = connection
        connection.send(client_commands.flow(self.consumer_id, settings.permits))

    def _type(self) -> int:
        if self._settings.is_shared:
            return CommandSubscribe.Shared
        return CommandSubscribe.Key_Shared if self.assigned.buckets else CommandSubscribe.Exclusive

    def take(self, frame: MessageFrame) -> Iterator[EntryRecord]:
        """Raises `DamagedEntry`, or `CliError` for a message that is encrypted or in chunks."""
        message = frame.message
        entry = Entry(
            self.topic,
            message.message_id.ledgerId,
            message.message_id.entryId,
            frame.entry,
            partition=self.segment_id,
            redelivery_count=message.redelivery_count,
            ack_set=tuple(message.ack_set),
        )
        if entry.is_encrypted:
            raise not_decrypted(self.topic, str(entry.id), entry.encryption_keys, has_key=False)
        if entry.is_chunk:
            raise CliError(f"cannot consume message {entry.id} of {self.topic}: it is in chunks")
        records = list(records_of(entry))
        if self._settings.acknowledges:
            left = sum(1 << max(record.batch_index, 0) for record in records)
            self._left[entry.id.position] = (entry.message_count if entry.is_batch else 0, left)
        self._repay(entry.message_count)
        yield from records

    def settle(self, records: Iterable[Record]) -> None:
        """Acknowledges them, unless the settings say otherwise. Raises `ConnectionLost`."""
        places: dict[EntryPlace, None] = {}
        for record in records:
            place = (record.ledger_id, record.entry_id)
            if place in self._left:
                size, left = self._left[place]
                self._left[place] = (size, left & ~(1 << max(record.batch_index, 0)))
                places[place] = None
        ids = [self._ack_id(place) for place in places]
        for named in in_commands(ids):
            self.connection.send(client_commands.acknowledge(self.consumer_id, named))

    def close(self) -> None:
        """When this returns, the broker has the acknowledgments, too. Raises what a request raises."""
        self.connection.request(
            lambda request_id: commands.close_consumer(self.consumer_id, request_id), CommandSuccess, topic=self.topic
        )

    def _ack_id(self, place: EntryPlace) -> MessageIdData:
        """The ID of the entry, without the messages of a batch that are left."""
        size, left = self._left[place]
        if left:
            return acknowledged_id(place, size, left)
        del self._left[place]
        return acknowledged_id(place)

    def _repay(self, messages: int) -> None:
        self._owed += messages
        if self._owed > self._settings.permits // 2:
            self.connection.send(client_commands.flow(self.consumer_id, self._owed))
            self._owed = 0
