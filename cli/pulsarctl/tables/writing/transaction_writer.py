"""One attempt of a task -> messages in a transaction of its own, which the driver commits or aborts.

So the messages of an attempt that fails, or that has a faster double, never become visible.
"""

import contextlib
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from typing import NamedTuple

import pyarrow as pa

from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import CliError
from pulsarctl.raw.broker_connection import NotAllowed
from pulsarctl.raw.outgoing_entry import ProducerSettings
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction, coordinator_connection
from pulsarctl.raw.transaction_producer import TransactionProducer
from pulsarctl.tables.writing.payloads import Payloads, payloads
from pulsarctl.tables.writing.topic_writer import partition_of, sent_fields
from pulsarctl.tables.writing.write_options import WriteOptions


class Sent(NamedTuple):
    """`transaction` is None if there was no row."""

    rows: int
    transaction: TransactionId | None


def has_transactions(options: WriteOptions) -> bool:
    """Whether to write in transactions. Raises `NotAllowed` if they are wanted, and disabled at the broker."""
    if options.transaction == "false" or options.topic.startswith("non-persistent:"):
        return False
    try:
        with closing(options.access.lookup()) as lookup:
            coordinator_connection(lookup)
    except NotAllowed:
        if options.transaction == "true":
            raise
        return False
    return True


class TransactionWriter:
    """`begun` gets the transaction before its first message."""

    def __init__(self, options: WriteOptions, begun: Callable[[TransactionId], None] = lambda _: None) -> None:
        self._options = options
        self._begun = begun
        self._transaction: Transaction | None = None
        self._producers: dict[int, TransactionProducer] = {}
        self._row = 0

    def write(self, batches: Iterable[pa.RecordBatch]) -> Sent:
        """Every message is stored when it returns, and invisible. A failure aborts. Raises `CliError`."""
        with ExitStack() as end:
            lookup = end.enter_context(closing(self._options.access.lookup()))
            end.callback(self._close)
            try:
                self._write(lookup, batches)
            except BaseException:
                self._abort()
                raise
        return Sent(self._row, None if self._transaction is None else self._transaction.id)

    def _write(self, lookup: TopicLookup, batches: Iterable[pa.RecordBatch]) -> None:
        names: list[str] = []
        for batch in batches:
            if not batch.num_rows:
                continue
            if self._transaction is None:
                names = lookup.partition_names(self._options.topic)
                self._transaction = self._begin(lookup)
            self._send(self._transaction, names, batch)
        for producer in self._producers.values():
            producer.flush()

    def _begin(self, lookup: TopicLookup) -> Transaction:
        options = self._options
        transaction = Transaction(
            lookup, ttl_seconds=options.transaction_timeout, timeout_seconds=options.access.timeout_seconds
        )
        self._begun(transaction.id)
        return transaction

    def _send(self, transaction: Transaction, names: list[str], batch: pa.RecordBatch) -> None:
        encoded = payloads(batch.schema.field("value").type, self._options.schema)
        for value, fields in zip(encoded.encode(batch.column("value")), sent_fields(batch), strict=True):
            self._row += 1
            partition = partition_of(fields.get("partition_key"), self._row, len(names))
            producer = self._producers.get(partition)
            if producer is None:
                producer = self._producers[partition] = self._open(transaction, names[partition], encoded)
            producer.send(value, **fields)

    def _open(self, transaction: Transaction, topic: str, encoded: Payloads) -> TransactionProducer:
        """A name of its own: a broker that deduplicates would drop what an aborted attempt has sent."""
        options, (most, least) = self._options, transaction.id
        name = f"{options.producer_name}-{most}-{least}"
        settings = ProducerSettings(name, encoded.schema, options.compression)
        return TransactionProducer(options.access.lookup, topic, transaction, settings)

    def _abort(self) -> None:
        if self._transaction is not None:
            with contextlib.suppress(CliError):  # the broker aborts it at its timeout
                self._transaction.abort()

    def _close(self) -> None:
        for producer in self._producers.values():
            producer.close()
