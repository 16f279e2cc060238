"""Rows -> messages of all partitions in one transaction, in this process."""

import pyarrow as pa

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.raw.outgoing_entry import ProducerSettings
from pulsarctl.raw.transaction import Transaction
from pulsarctl.raw.transaction_producer import TransactionProducer
from pulsarctl.tables.writing.payloads import Payloads
from pulsarctl.transfer.message_rows import encoding, message_rows
from pulsarctl.transfer.target import Target


class TransactionSender:
    """Routes rows as `RowSender` does. A partition has a producer for each schema version. Who made it closes it."""

    def __init__(self, target: Target, transaction: Transaction) -> None:
        self._target = target
        self._transaction = transaction
        self._producers: dict[tuple[int, int | None], TransactionProducer] = {}
        self._last: dict[int, TransactionProducer] = {}  # by partition
        self.row = 0
        self.sent = 0

    def send(self, batch: pa.RecordBatch) -> None:
        """Returns before the messages are stored; see `flush`. Raises `CliError`."""
        encoded = encoding(batch, self._target.record_schema)
        for message in message_rows(batch, encoded):
            self.row += 1
            partition = self._target.partition_of(message.key, message.source, self.row)
            self._producer(partition, message.schema_version, encoded).send(message.value, **message.fields)
            self.sent += 1

    def end_file(self) -> None:
        """The next row is the first one of the next file."""
        self.row = 0

    def flush(self) -> None:
        """Returns when the broker has stored every message. Raises `CliError`."""
        for producer in self._last.values():
            producer.flush()

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()

    def _producer(self, partition: int, version: int | None, encoded: Payloads) -> TransactionProducer:
        """Another version than before waits until everything before it is stored."""
        producer = self._producers.get((partition, version)) or self._open(partition, version, encoded)
        last = self._last.get(partition)
        if last is not producer:
            if last is not None:
                last.flush()
            self._last[partition] = producer
        return producer

    def _open(self, partition: int, version: int | None, encoded: Payloads) -> TransactionProducer:
        target = self._target
        settings = ProducerSettings(
            name=target.producer if version is None else f"{target.producer}-v{version}",
            schema=self._schema(version, encoded),
            compression="lz4",
        )
        producer = TransactionProducer(target.access.lookup, target.partitions[partition], self._transaction, settings)
        self._producers[partition, version] = producer
        return producer

    def _schema(self, version: int | None, encoded: Payloads) -> SchemaInfo | None:
        return encoded.schema or self._target.schema_of(version)
