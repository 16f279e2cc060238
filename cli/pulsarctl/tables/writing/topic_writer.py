"""One task's rows -> messages of a topic, at least once, and without duplicates where the broker deduplicates.

The name of a producer and the sequence IDs of its rows depend only on the job and on the place of the rows in it, so a
retry repeats them, as `repeatable_producer` says.
"""

import base64
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import _pulsar
import pulsar
import pyarrow as pa
from pulsar import schema as pulsar_schema

from pulsarctl.client.client_errors import problem
from pulsarctl.client.routing import java_string_hash
from pulsarctl.errors import CliError, TimedOut
from pulsarctl.tables.writing.payloads import Payloads, payloads
from pulsarctl.tables.writing.repeatable_producer import Receipts, open_producer
from pulsarctl.tables.writing.send_times import milliseconds
from pulsarctl.tables.writing.write_options import WriteOptions

BATCH_MESSAGES = 1000


class Encoded(pulsar_schema.Schema):  # type: ignore[misc]  # the client ships no types
    """The schema of payloads that are already encoded."""

    def __init__(self, payloads: Payloads) -> None:
        super().__init__(
            bytes, getattr(_pulsar.SchemaType, payloads.schema_type), payloads.definition, payloads.schema_type
        )

    def encode(self, data: bytes) -> bytes:
        return data


class TopicWriter:
    """`name` identifies the producers of this task in all its attempts. `first` precedes the ID of the first row."""

    def __init__(self, options: WriteOptions, name: str, first: int = 0) -> None:
        self._options = options
        self._name = name
        self._row = first
        self._producers: dict[int, Any] = {}
        self._receipts = Receipts()

    def write(self, batches: Iterable[pa.RecordBatch]) -> int:
        """The number of rows. Every message is stored when it returns. Raises `CliError`, `UsageProblem`."""
        rows = 0
        with contextlib.closing(self._options.access.client()) as client:
            names = self._partitions(client)
            for batch in batches:
                rows += batch.num_rows
                self._send(client, names, batch)
            for producer in self._producers.values():
                with self._explained():
                    producer.flush()
                    producer.close()
        self._check()
        return rows

    def _partitions(self, client: Any) -> Sequence[str]:
        with self._explained():
            return list(client.get_topic_partitions(self._options.topic))

    def _send(self, client: Any, names: Sequence[str], batch: pa.RecordBatch) -> None:
        encoded = payloads(batch.schema.field("value").type, self._options.schema)
        for value, fields in zip(encoded.encode(batch.column("value")), sent_fields(batch), strict=True):
            self._row += 1
            partition = partition_of(fields.get("partition_key"), self._row, len(names))
            producer = self._producers.get(partition) or self._open(client, names[partition], partition, encoded)
            self._check()
            with self._explained():
                producer.send_async(value, self._receipts.add, sequence_id=self._row, **fields)

    def _open(self, client: Any, topic: str, partition: int, encoded: Payloads) -> Any:
        options = self._options
        try:
            producer = open_producer(
                client,
                topic,
                name=self._name,
                schema=Encoded(encoded),
                compression=options.compression,
                batch_messages=BATCH_MESSAGES,
                timeout_seconds=options.access.timeout_seconds,
            )
        except pulsar.ProducerBusy as error:
            raise TimedOut(f"cannot write to {topic}: another producer has the name {self._name}") from error
        except pulsar.PulsarException as error:
            raise self._problem(type(error).__name__) from error
        self._producers[partition] = producer
        return producer

    def _check(self) -> None:
        if self._receipts.failure is not None:
            raise self._problem(self._receipts.failure)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except pulsar.PulsarException as error:
            raise self._problem(type(error).__name__) from error

    def _problem(self, result: str) -> CliError:
        failure = problem(result, f"write to {self._options.topic}", self._options.access.service_url)
        failure.hint = failure.hint or "run the job again"
        return failure


def sent_fields(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The arguments of a send, without those that are null."""
    columns = {name: batch.column(name) for name in batch.schema.names if name != "value"}
    made = {
        "partition_key": map(_key, columns["key"].to_pylist()) if "key" in columns else None,
        "ordering_key": map(_key, columns["ordering_key"].to_pylist()) if "ordering_key" in columns else None,
        "properties": map(_pairs, columns["properties"].to_pylist()) if "properties" in columns else None,
        "event_timestamp": milliseconds(columns["event_time"], "event_time") if "event_time" in columns else None,
        "deliver_at": milliseconds(columns["deliver_at"], "deliver_at") if "deliver_at" in columns else None,
    }
    present = {name: iter(values) for name, values in made.items() if values is not None}
    for _ in range(batch.num_rows):
        row = {name: next(values) for name, values in present.items()}
        yield {name: value for name, value in row.items() if value is not None}


def _key(key: str | bytes | None) -> str | None:
    """Bytes that are not UTF-8 become base64, as in Pulsar's clients."""
    if not isinstance(key, bytes):
        return key
    try:
        return key.decode()
    except UnicodeDecodeError:
        return base64.b64encode(key).decode()


def _pairs(pairs: Sequence[tuple[str, str | None]] | None) -> dict[str, str] | None:
    return None if pairs is None else {key: value or "" for key, value in pairs}


def partition_of(key: str | None, row: int, count: int) -> int:
    """The same for each attempt: keys by their hash, as in Java producers, other rows in turn."""
    return (java_string_hash(key) if key else row) % count
