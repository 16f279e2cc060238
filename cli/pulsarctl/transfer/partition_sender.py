"""Rows of one target partition -> messages, in order, continuing where an earlier run ended.

The file and the number of a row are its sequence ID, and the names of the producers depend only on the import. Where
the topic deduplicates, the broker knows the last ID that it has stored for each producer. The official client tells it
only the ID of the first message in a batch, so a run sends that batch again, and the broker drops it as a whole. That
is why batches must repeat, in this process and in a task of Spark (`repeatable_producer`): the number of a row and the
end of a file flush, too. A change of the schema version is another producer, and waits
until everything before it is stored.
"""

from typing import Any

import pulsar

from pulsarctl.client.client_settings import EncodedAlready
from pulsarctl.errors import Conflict, TimedOut
from pulsarctl.tables.writing.payloads import Payloads
from pulsarctl.tables.writing.repeatable_producer import Receipts, open_producer
from pulsarctl.tables.writing.topic_writer import Encoded
from pulsarctl.transfer.message_rows import MessageRow
from pulsarctl.transfer.target import Target, explained, problem

BATCH_MESSAGES = 500
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
        self._receipts = Receipts()
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
                producer.send_async(message.value, self._receipts.add, sequence_id=sequence_id, **message.fields)

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
        target = self._target
        try:
            return open_producer(
                self._client,
                self._topic,
                name=target.producer if version is None else f"{target.producer}-v{version}",
                schema=self._schema(version, encoded),
                compression="lz4",
                batch_messages=BATCH_MESSAGES,
                timeout_seconds=target.access.timeout_seconds,
            )
        except pulsar.ProducerBusy as error:
            raise TimedOut(f"cannot write to {target.topic}: the same command runs elsewhere") from error
        except pulsar.IncompatibleSchema as error:
            raise Conflict(
                f"cannot write to {target.topic}: the schema of the data does not fit the topic's",
                hint="import into a new topic, or use --no-schema",
            ) from error
        except pulsar.PulsarException as error:
            raise problem(target.access, target.topic, type(error).__name__) from error

    def _schema(self, version: int | None, encoded: Payloads) -> Any:
        info = self._target.schema_of(version)
        return Encoded(encoded) if info is None or encoded.schema_type != "BYTES" else EncodedAlready(info)

    def _check(self) -> None:
        if self._receipts.failure is not None:
            raise problem(self._target.access, self._target.topic, self._receipts.failure)
