"""One consumer of a durable subscription, whose messages are acknowledged together, in a transaction.

docs/reference/protocol.md "Acknowledgments" and "Transactions" state the rules.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from broker_core.wire import client_commands
from broker_core.wire.frame import MessageFrame
from broker_core.wire.pulsar_api_pb2 import (
    CommandAckResponse,
    CommandCloseConsumer,
    CommandSubscribe,
    CommandSuccess,
    MessageIdData,
)
from pulsarctl.encryption.decryption import not_decrypted
from pulsarctl.errors import CliError
from pulsarctl.raw.acknowledged_ids import EntryPlace, acknowledged_id, in_commands
from pulsarctl.raw.broker_connection import BrokerConnection, ConnectionLost, NotReady, pause_before
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_record import EntryRecord, records_of
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction
from pulsarctl.records.record import Record
from pulsarctl.values.names import partition_index

CONSUMER_ID = 1
PERMITS_MAX = 1000


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """`kind` is the type of the subscription, in lower case. `count` is how many messages are wanted."""

    subscription: str
    kind: str
    count: int
    name: str | None = None
    from_earliest: bool = False


class TransactionConsumer:
    """A source of records, of a topic without partitions or of one partition.

    A lost connection is an error, because the broker then sends the messages to another consumer.
    """

    ended = False

    def __init__(self, lookup: TopicLookup, topic: str, settings: ConsumerSettings) -> None:
        """Raises what connecting raises, or the broker's refusal of the consumer."""
        self.topic = topic
        self._settings = settings
        self._received: deque[EntryRecord] = deque()
        self._sizes: dict[EntryPlace, int] = {}  # how many messages each batch has
        self._settled: dict[EntryPlace, list[int]] = {}  # batch indexes
        self._permits = min(settings.count, PERMITS_MAX)
        self._owed = self._permits
        self._connection = self._subscribe(lookup)
        self._repay()

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[EntryRecord]:
        """Raises `ConnectionLost`, `DamagedEntry`, or `CliError` for a message that is encrypted or in chunks."""
        deadline = time.monotonic() + timeout_ms / 1000
        self._take()
        while not self._received and self._connection.receive(deadline):
            self._take()
        return [self._received.popleft() for _ in range(min(count_max, len(self._received)))]

    def settle(self, records: Sequence[Record]) -> None:
        """They are acknowledged with `acknowledge`."""
        for record in records:
            self._settled.setdefault((record.ledger_id, record.entry_id), []).append(record.batch_index)

    def acknowledge(self, transaction: Transaction) -> None:
        """Acknowledges the settled records in the transaction. Raises `NotOpen`, or the broker's refusal."""
        transaction.add_subscription(self.topic, self._settings.subscription)
        for named in in_commands(list(self._ids())):
            self._acknowledge(transaction, named)

    def _acknowledge(self, transaction: Transaction, ids: Sequence[MessageIdData]) -> None:
        self._connection.ask(
            lambda request_id: client_commands.acknowledge(
                CONSUMER_ID, ids, request_id=request_id, transaction=transaction.id
            ),
            CommandAckResponse,
            topic=f"cannot acknowledge messages of {self.topic}",
        )

    def _ids(self) -> Iterator[MessageIdData]:
        for place, indexes in self._settled.items():
            size = self._sizes.get(place, 0)
            yield acknowledged_id(place, size, _all_but(indexes, size) if size else 0)

    def _subscribe(self, lookup: TopicLookup) -> BrokerConnection:
        """Waits while the topic is loading."""
        deadline = None
        while True:
            connection = lookup.connect(self.topic)
            deadline = deadline or time.monotonic() + connection.timeout_seconds
            try:
                connection.request(self._subscription, CommandSuccess, topic=self.topic)
            except NotReady:
                if not pause_before(deadline):
                    raise
            else:
                return connection

    def _subscription(self, request_id: int) -> bytes:
        settings = self._settings
        return client_commands.subscribe(
            request_id,
            self.topic,
            settings.subscription,
            CONSUMER_ID,
            consumer_name=settings.name,
            sub_type=_KINDS[settings.kind],
            initial_position=CommandSubscribe.Earliest if settings.from_earliest else CommandSubscribe.Latest,
        )

    def _take(self) -> None:
        arrived = self._connection.arrived
        while arrived:
            match arrived.popleft():
                case MessageFrame() as frame:
                    self._add(self._entry(frame))
                case CommandCloseConsumer():
                    raise ConnectionLost(f"the broker closed the consumer on {self.topic}")

    def _entry(self, frame: MessageFrame) -> Entry:
        message = frame.message
        return Entry(
            self.topic,
            message.message_id.ledgerId,
            message.message_id.entryId,
            frame.entry,
            partition=partition_index(self.topic),
            redelivery_count=message.redelivery_count,
            ack_set=tuple(message.ack_set),
        )

    def _add(self, entry: Entry) -> None:
        if entry.is_encrypted:
            raise not_decrypted(self.topic, str(entry.id), entry.encryption_keys, has_key=False)
        if entry.is_chunk:
            raise CliError(f"cannot consume message {entry.id} of {self.topic} in a transaction: it is in chunks")
        if entry.is_batch:
            self._sizes[entry.id.position] = entry.message_count
        self._received.extend(records_of(entry))
        self._owed += entry.message_count
        if self._owed > self._permits // 2:
            self._repay()

    def _repay(self) -> None:
        self._connection.send(client_commands.flow(CONSUMER_ID, self._owed))
        self._owed = 0


_KINDS = {name.lower(): number for name, number in CommandSubscribe.SubType.items()}


def _all_but(indexes: Sequence[int], size: int) -> int:
    """The bits of a batch's other messages, which the acknowledgment does not concern."""
    others = (1 << size) - 1
    for index in indexes:
        others &= ~(1 << index)
    return others
