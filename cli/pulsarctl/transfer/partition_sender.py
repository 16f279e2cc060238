"""Rows of one target partition -> messages, in order, continuing where an earlier run ended.

The file and the number of a row are its sequence ID, and the names of the producers depend only on the import. Where
the topic deduplicates, the broker knows the last ID that it has stored for each producer. The official client tells it
only the ID of the first message in a batch, so a run sends that batch again, and the broker drops it as a whole. That
is why batches must repeat, in this process and in a task of Spark: only the number and size of messages, the number of
a row, and the end of a file end one, never the time. A change of the schema version is another producer, and waits
until everything before it is stored.
"""

import json
import threading
import time
from typing import Any

import pulsar

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.client.client_settings import EncodedAlready
from pulsarctl.errors import Conflict, TimedOut
from pulsarctl.tables.writing.payloads import Payloads
from pulsarctl.tables.writing.topic_writer import Encoded
from pulsarctl.transfer.message_rows import MessageRow
from pulsarctl.transfer.target import Target, explained, problem

PENDING_MESSAGES_MAX = 5000
BATCH_MESSAGES = 500
NEVER_MS = 24 * 3600 * 1000
RETRY_SECONDS = 0.2
FILE_BITS = 40  # a file may have that many rows, as powers of two


class PartitionSender:
    """`client` is the official one; who opened it closes it."""

    def __init__(self, target: Target, client: Any, partition: int) -> None:
        self._target = target
        self._client = client
        self._topic = target.partitions[partition]
        self._lanes: dict[int | None, tuple[Any, int]] = {}  # by schema version: a producer, and its last stored ID
        self._version: int | None = None
        self._stretch = (-1, -1)
        self._failure: list[Any] = []
        self._failed = threading.Event()
        self.sent = 0

    def send(self, file: int, row: int, message: MessageRow, encoded: Payloads) -> None:
        """Rows come in order. Returns before the message is stored; see `flush`. Raises `CliError`."""
        stretch = (file, (row - 1) // self._target.checkpoint_rows)
        if stretch != self._stretch or message.schema_version != self._version:
            self.flush()
            self._stretch, self._version = stretch, message.schema_version
        producer, last = self._lane(message.schema_version, encoded)
        sequence_id = file << FILE_BITS | row
        if sequence_id >= last:
            self._check()
            self.sent += 1
            with explained(self._target.access, self._target.topic):
                producer.send_async(message.value, self._sent, sequence_id=sequence_id, **message.fields)

    def flush(self) -> None:
        """Returns when everything is stored. Raises `CliError`."""
        for producer, _ in self._lanes.values():
            with explained(self._target.access, self._target.topic):
                producer.flush()
        self._check()

    def _lane(self, version: int | None, encoded: Payloads) -> tuple[Any, int]:
        lane = self._lanes.get(version)
        if lane is None:
            producer = self._open(version, encoded)
            lane = self._lanes[version] = (producer, producer.last_sequence_id())
        return lane

    def _open(self, version: int | None, encoded: Payloads) -> Any:
        """An earlier run may still hold the name: its connection ends soon."""
        target = self._target
        deadline = time.monotonic() + target.access.timeout_seconds
        while True:
            try:
                return self._client.create_producer(
                    self._topic,
                    producer_name=target.producer if version is None else f"{target.producer}-v{version}",
                    schema=self._schema(version, encoded),
                    compression_type=pulsar.CompressionType.LZ4,
                    batching_enabled=True,
                    batching_max_messages=BATCH_MESSAGES,
                    batching_max_publish_delay_ms=NEVER_MS,
                    block_if_queue_full=True,
                    max_pending_messages=PENDING_MESSAGES_MAX,
                    send_timeout_millis=max(round(target.access.timeout_seconds * 1000), 1000),
                )
            except pulsar.ProducerBusy as error:
                if time.monotonic() > deadline:
                    raise TimedOut(f"cannot write to {target.topic}: the same command runs elsewhere") from error
                time.sleep(RETRY_SECONDS)
            except pulsar.IncompatibleSchema as error:
                raise Conflict(
                    f"cannot write to {target.topic}: the schema of the data does not fit the topic's",
                    hint="import into a new topic, or use --no-schema",
                ) from error
            except pulsar.PulsarException as error:
                raise problem(target.access, target.topic, type(error).__name__) from error

    def _schema(self, version: int | None, encoded: Payloads) -> Any:
        info = None if version is None else self._target.schemas.get(str(version))
        if info is None or encoded.schema_type != "BYTES":
            return Encoded(encoded)
        definition = info["schema"] if isinstance(info["schema"], str) else json.dumps(info["schema"])
        return EncodedAlready(SchemaInfo(info["type"], definition, dict(info.get("properties") or {})))

    def _sent(self, result: Any, message_id: Any) -> None:
        """Runs in a thread of the client."""
        if result != pulsar.Result.Ok and not self._failure:
            self._failure.append(result)
            self._failed.set()

    def _check(self) -> None:
        if self._failed.is_set():
            raise problem(self._target.access, self._target.topic, self._failure[0].name)
