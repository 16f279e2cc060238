"""Rows -> messages, in order for each key, continuing where an earlier run ended.

The number of a row in the import is its sequence ID, and the names of the producers depend only on the import. Where
the topic deduplicates, the broker knows the last ID that it has stored for each producer. The official client tells it
only the ID of the first message in a batch, so a run sends that batch again, and the broker drops it as a whole. That
is why batches must repeat: only the number and size of messages, the number of a row, and the end of a file end one,
never the time. A change of the schema version is another producer, and waits until everything before it is stored.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pulsar
import pyarrow as pa

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.client.client_settings import EncodedAlready
from pulsarctl.client.routing import java_string_hash
from pulsarctl.errors import CliError, Conflict, TimedOut
from pulsarctl.tables.access import Access
from pulsarctl.tables.writing.payloads import Payloads, payloads
from pulsarctl.tables.writing.topic_writer import Encoded

PENDING_MESSAGES_MAX = 5000
BATCH_MESSAGES = 500
CHECKPOINT_ROWS = 5000
NEVER_MS = 24 * 3600 * 1000
RETRY_SECONDS = 0.2

Lane = tuple[int, int | None]  # partition, schema version


class RowSender:
    """A context. Rows up to `after` are stored already.

    `schemas` is by the version that rows name, and `record_schema`, json or avro, is how structs are encoded.
    Everything is stored after each `checkpoint_rows`, in which runs must agree: it is a part of how batches end.
    """

    def __init__(
        self,
        access: Access,
        topic: str,
        name: str,
        *,
        schemas: Mapping[str, Mapping[str, Any]],
        record_schema: str = "",
        after: int = 0,
        checkpoint_rows: int = CHECKPOINT_ROWS,
    ) -> None:
        self._access = access
        self._topic = topic
        self._name = name
        self._schemas = schemas
        self._record_schema = record_schema
        self._after = after
        self._checkpoint_rows = checkpoint_rows
        self._lanes: dict[Lane, tuple[Any, int]] = {}
        self._version: int | None = None
        self._failure: list[str] = []
        self._failed = threading.Event()
        self.row = 0  # of the import, from 1
        self.sent = 0
        self.stored = after

    def __enter__(self) -> "RowSender":
        self._client = self._access.client()
        with self._explained():
            self._partitions = list(self._client.get_topic_partitions(self._topic))
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def send(self, batch: pa.RecordBatch) -> None:
        """Returns before the messages are stored; see `flush`. Raises `CliError`."""
        kind = batch.schema.field("value").type
        encoded = payloads(kind, self._record_schema if pa.types.is_struct(kind) else "")
        values = encoded.encode(batch.column("value"))
        for value, (version, source, fields) in zip(values, _fields(batch), strict=True):
            if self.row >= self._after and version != self._version:
                self.flush()
                self._version = version
            self.row += 1
            if self.row <= self._after:
                continue
            producer, last = self._lane((self._partition(fields.get("partition_key"), source), version), encoded)
            if self.row >= last:
                self._check()
                self.sent += 1
                with self._explained():
                    producer.send_async(value, self._sent, sequence_id=self.row, **fields)
            if self.row % self._checkpoint_rows == 0:
                self.flush()

    def flush(self) -> None:
        """Returns when every row up to here is stored. Raises `CliError`."""
        for producer, _ in self._lanes.values():
            with self._explained():
                producer.flush()
        self._check()
        self.stored = max(self.row, self._after)

    def _partition(self, key: str | None, source: int) -> int:
        """Keys by their hash, as in Java producers. Other rows stay in their partition if there is one like it."""
        if key:
            return java_string_hash(key) % len(self._partitions)
        return (source if source >= 0 else self.row) % len(self._partitions)

    def _lane(self, lane: Lane, encoded: Payloads) -> tuple[Any, int]:
        found = self._lanes.get(lane)
        if found is None:
            producer = self._open(lane, encoded)
            found = self._lanes[lane] = (producer, producer.last_sequence_id())
        return found

    def _open(self, lane: Lane, encoded: Payloads) -> Any:
        """An earlier run may still hold the name: its connection ends soon."""
        partition, version = lane
        deadline = time.monotonic() + self._access.timeout_seconds
        while True:
            try:
                return self._client.create_producer(
                    self._partitions[partition],
                    producer_name=self._name if version is None else f"{self._name}-v{version}",
                    schema=self._schema(version, encoded),
                    compression_type=pulsar.CompressionType.LZ4,
                    batching_enabled=True,
                    batching_max_messages=BATCH_MESSAGES,
                    batching_max_publish_delay_ms=NEVER_MS,
                    block_if_queue_full=True,
                    max_pending_messages=PENDING_MESSAGES_MAX,
                    send_timeout_millis=max(round(self._access.timeout_seconds * 1000), 1000),
                )
            except pulsar.ProducerBusy as error:
                if time.monotonic() > deadline:
                    raise TimedOut(f"cannot write to {self._topic}: the same command runs elsewhere") from error
                time.sleep(RETRY_SECONDS)
            except pulsar.IncompatibleSchema as error:
                raise Conflict(
                    f"cannot write to {self._topic}: the schema of the data does not fit the topic's",
                    hint="import into a new topic, or use --no-schema",
                ) from error
            except pulsar.PulsarException as error:
                raise self._problem(error) from error

    def _schema(self, version: int | None, encoded: Payloads) -> Any:
        info = None if version is None else self._schemas.get(str(version))
        if info is None or encoded.schema_type != "BYTES":
            return Encoded(encoded)
        definition = info["schema"] if isinstance(info["schema"], str) else json.dumps(info["schema"])
        return EncodedAlready(SchemaInfo(info["type"], definition, dict(info.get("properties") or {})))

    def _sent(self, result: Any, message_id: Any) -> None:
        """Runs in a thread of the client."""
        if result != pulsar.Result.Ok and not self._failure:
            self._failure.append(str(result))
            self._failed.set()

    def _check(self) -> None:
        if self._failed.is_set():
            raise CliError(f"cannot write to {self._topic}: {self._failure[0]}", hint="run the command again")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except pulsar.PulsarException as error:
            raise self._problem(error) from error

    def _problem(self, error: Exception) -> CliError:
        return CliError(f"cannot write to {self._topic}: {error or type(error).__name__}")


def _fields(batch: pa.RecordBatch) -> Iterator[tuple[int | None, int, dict[str, Any]]]:
    """Schema version, partition in the source (-1: none), and the arguments of a send, without those that are null."""
    names = batch.schema.names
    columns = {name: batch.column(name).to_pylist() for name in names if name in ("key", "properties")}
    if "ordering_key" in names:
        columns["ordering_key"] = [
            None if key is None else _text(key) for key in batch.column("ordering_key").to_pylist()
        ]
    for name in ("event_time", "deliver_at"):
        if name in names:
            columns[name] = (
                batch.column(name).cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).to_pylist()
            )
    versions = batch.column("schema_version").to_pylist() if "schema_version" in names else [None] * len(batch)
    sources = batch.column("partition").to_pylist() if "partition" in names else [-1] * len(batch)
    present = [(_ARGUMENTS[name], values) for name, values in columns.items()]
    for row, (version, source) in enumerate(zip(versions, sources, strict=True)):
        fields = {name: values[row] for name, values in present if values[row] is not None}
        if "properties" in fields:
            fields["properties"] = {key: value or "" for key, value in fields["properties"]}
        yield version, -1 if source is None else source, fields


def _text(key: bytes | str) -> str:
    return key if isinstance(key, str) else key.decode("utf-8", "surrogateescape")


_ARGUMENTS = {
    "key": "partition_key",
    "ordering_key": "ordering_key",
    "properties": "properties",
    "event_time": "event_timestamp",
    "deliver_at": "deliver_at",
}
