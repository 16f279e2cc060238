"""Publishes entries exactly as they are given: metadata, batches, compression, and encryption stay.

docs/reference/protocol.md "Receipts" states the rules. The broker assigns positions in the order of `send`.
"""

import time
from collections import deque

from broker_core.wire import client_commands
from broker_core.wire.client_protocol import MAX_MESSAGE_BYTES
from broker_core.wire.pulsar_api_pb2 import (
    CommandCloseProducer,
    CommandProducerSuccess,
    CommandSendError,
    CommandSendReceipt,
    MessageMetadata,
    Schema,
)
from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import TimedOut
from pulsarctl.raw.broker_connection import BrokerConnection, ConnectionLost, NotReady, pause_before, refusal
from pulsarctl.raw.topic_lookup import TopicLookup

PRODUCER_ID = 1
WINDOW_ENTRIES = 1000
WINDOW_BYTES = 8 * 1024 * 1024


class EntrySender:
    """One producer on a topic without partitions, or on one partition; its lookup must not serve readers, too.

    At most `WINDOW_ENTRIES` and about `WINDOW_BYTES` are sent without a receipt. After `ConnectionLost` it is unknown
    which of those the broker has stored: count them, and open another sender. Every wait has a deadline.
    In a transaction, the metadata of each entry names it, too.
    """

    def __init__(
        self,
        lookup: TopicLookup,
        topic: str,
        name: str,
        schema: Schema | None = None,
        transaction: TransactionId | None = None,
    ) -> None:
        """Raises what connecting raises, or the broker's refusal of the producer."""
        self.topic = topic
        self._transaction = transaction
        self._window: deque[int] = deque()  # sizes of entries without a receipt
        self._bytes = 0
        self._connection, self._success = self._open(lookup, name, schema)
        self.sequence_id = self._success.last_sequence_id + 1  # the next entry gets it

    @property
    def schema_version(self) -> bytes:
        """The version of the producer's schema, empty without a schema."""
        return self._success.schema_version

    @property
    def entry_bytes_max(self) -> int:
        """The size of the largest payload that the broker accepts."""
        assert self._connection.connected is not None, "the handshake is complete"
        return self._connection.connected.max_message_size or MAX_MESSAGE_BYTES

    def send(self, metadata: MessageMetadata, data: bytes) -> None:
        """`data`: the entry as it is stored, with that metadata.

        Raises `ConnectionLost`, `TimedOut`, or the broker's refusal of an earlier entry.
        """
        messages = max(metadata.num_messages_in_batch, 1)
        sequence_id = self.sequence_id
        self.sequence_id += messages
        self._window.append(len(data))
        self._bytes += len(data)
        self._connection.send(
            client_commands.send(
                PRODUCER_ID,
                sequence_id,
                data,
                messages=messages,
                is_chunk=metadata.num_chunks_from_msg > 1,
                is_marker=metadata.HasField("marker_type"),
                transaction=self._transaction,
            )
        )
        self._drain(WINDOW_ENTRIES, WINDOW_BYTES)

    @property
    def pending(self) -> int:
        """How many entries have no receipt yet."""
        return len(self._window)

    def flush(self, timeout_seconds: float | None = None) -> None:
        """Returns when the broker has stored everything. Raises as `send` does.

        `timeout_seconds` bounds the wait for each receipt, in place of the connection's timeout.
        """
        self._drain(0, 0, timeout_seconds)

    def close(self) -> None:
        self._connection.close()

    def _open(
        self, lookup: TopicLookup, name: str, schema: Schema | None
    ) -> tuple[BrokerConnection, CommandProducerSuccess]:
        """Waits while the topic is loading."""
        deadline = None
        while True:
            connection = lookup.connect(self.topic)
            deadline = deadline or time.monotonic() + connection.timeout_seconds
            try:
                success = connection.request(
                    lambda request_id: client_commands.producer(
                        request_id, self.topic, PRODUCER_ID, name, schema=schema
                    ),
                    CommandProducerSuccess,
                    topic=self.topic,
                )
            except NotReady:
                if not pause_before(deadline):
                    raise
            else:
                return connection, success

    def _drain(self, entries: int, size: int, timeout_seconds: float | None = None) -> None:
        self._take()
        while len(self._window) > entries or self._bytes > size:
            deadline = time.monotonic() + (timeout_seconds or self._connection.timeout_seconds)
            if not self._connection.receive(deadline):
                raise TimedOut(f"{self._connection.url} confirmed nothing for {self.topic} in time")
            self._take()

    def _take(self) -> None:
        arrived = self._connection.arrived
        while arrived:
            match arrived.popleft():
                case CommandSendReceipt():
                    self._bytes -= self._window.popleft()
                case CommandSendError() as error:
                    raise refusal(error.error, error.message, f"cannot publish to {self.topic}")
                case CommandCloseProducer():
                    self._connection.close()
                    raise ConnectionLost(f"the broker closed the producer on {self.topic}")
