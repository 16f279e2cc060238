"""Publishes entries exactly as another topic stores them: metadata, batches, compression, and encryption stay.

docs/reference/protocol.md "Receipts" states the rules. The broker assigns positions in the order of `send`.
"""

import time
from collections import deque

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import (
    CommandCloseProducer,
    CommandProducerSuccess,
    CommandSendError,
    CommandSendReceipt,
    MessageMetadata,
    Schema,
)
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
    """

    def __init__(self, lookup: TopicLookup, topic: str, name: str, schema: Schema | None = None) -> None:
        """Raises what connecting raises, or the broker's refusal of the producer."""
        self.topic = topic
        self._window: deque[int] = deque()  # sizes of entries without a receipt
        self._bytes = 0
        self._sequence_id = 0
        self._connection = self._open(lookup, name, schema)

    def send(self, metadata: MessageMetadata, data: bytes) -> None:
        """`data`: the entry as it is stored, with that metadata.

        Raises `ConnectionLost`, `TimedOut`, or the broker's refusal of an earlier entry.
        """
        self._connection.send(
            client_commands.send(
                PRODUCER_ID,
                self._sequence_id,
                data,
                messages=max(metadata.num_messages_in_batch, 1),
                is_chunk=metadata.num_chunks_from_msg > 1,
                is_marker=metadata.HasField("marker_type"),
            )
        )
        self._sequence_id += 1
        self._window.append(len(data))
        self._bytes += len(data)
        self._drain(WINDOW_ENTRIES, WINDOW_BYTES)

    def flush(self) -> None:
        """Returns when the broker has stored everything. Raises as `send` does."""
        self._drain(0, 0)

    def close(self) -> None:
        self._connection.close()

    def _open(self, lookup: TopicLookup, name: str, schema: Schema | None) -> BrokerConnection:
        """Waits while the topic is loading."""
        deadline = None
        while True:
            connection = lookup.connect(self.topic)
            deadline = deadline or time.monotonic() + connection.timeout_seconds
            try:
                connection.request(
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
                return connection

    def _drain(self, entries: int, size: int) -> None:
        self._take()
        while len(self._window) > entries or self._bytes > size:
            deadline = time.monotonic() + self._connection.timeout_seconds
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
