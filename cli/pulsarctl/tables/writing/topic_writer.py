"""One task's rows -> messages of a topic, at least once, and without duplicates where the broker deduplicates.

The name of a producer and the sequence IDs of its rows depend only on the job and on the place of the rows in it, so a
retry repeats them. The broker compares the ID of the first message in a batch, so batches repeat, too: only the number
and the size of messages end one, never the time.
"""

import base64
import contextlib
import threading
import time
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
from pulsarctl.tables.writing.send_times import milliseconds
from pulsarctl.tables.writing.write_options import WriteOptions

PENDING_MESSAGES_MAX = 5000
BATCH_MESSAGES = 1000
NEVER_MS = 24 * 3600 * 1000  # the end of the task sends what is left
RETRY_SECONDS = 0.5

_COMPRESSIONS = {
    "none": pulsar.CompressionType.NONE,
    "lz4": pulsar.CompressionType.LZ4,
    "zlib": pulsar.CompressionType.ZLib,
    "zstd": pulsar.CompressionType.ZSTD,
    "snappy": pulsar.CompressionType.SNAPPY,
}


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
        self._deadline = time.monotonic() + options.access.timeout_seconds
        self._producers: dict[int, Any] = {}
        self._failure: list[str] = []
        self._failed = threading.Event()

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
        for value, fields in zip(encoded.encode(batch.column("value")), _fields(batch), strict=True):
            self._row += 1
            partition = _partition(fields.get("partition_key"), self._row, len(names))
            producer = self._producers.get(partition) or self._open(client, names[partition], partition, encoded)
            self._check()
            with self._explained():
                producer.send_async(value, self._sent, sequence_id=self._row, **fields)

    def _open(self, client: Any, topic: str, partition: int, encoded: Payloads) -> Any:
        """An earlier attempt of the task may still hold the name: its connection ends soon."""
        while True:
            try:
                producer = client.create_producer(
                    topic,
                    producer_name=self._name,
                    schema=Encoded(encoded),
                    compression_type=_COMPRESSIONS[self._options.compression],
                    batching_enabled=True,
                    batching_max_messages=BATCH_MESSAGES,
                    batching_max_publish_delay_ms=NEVER_MS,
                    block_if_queue_full=True,
                    max_pending_messages=PENDING_MESSAGES_MAX,
                    send_timeout_millis=max(round(self._options.access.timeout_seconds * 1000), 1000),
                )
            except pulsar.ProducerBusy as error:
                if time.monotonic() > self._deadline:
                    raise TimedOut(f"cannot write to {topic}: another producer has the name {self._name}") from error
                time.sleep(RETRY_SECONDS)
            except pulsar.PulsarException as error:
                raise self._problem(type(error).__name__) from error
            else:
                self._producers[partition] = producer
                return producer

    def _sent(self, result: Any, message_id: Any) -> None:
        """Runs in a thread of the client."""
        if result != pulsar.Result.Ok and not self._failure:
            self._failure.append(result.name)
            self._failed.set()

    def _check(self) -> None:
        if self._failed.is_set():
            raise self._problem(self._failure[0])

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


def _fields(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
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


def _partition(key: str | None, row: int, count: int) -> int:
    """The same for each attempt: keys by their hash, as in Java producers, other rows in turn."""
    return (java_string_hash(key) if key else row) % count
