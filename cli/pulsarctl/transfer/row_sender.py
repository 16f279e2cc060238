"""Rows -> messages of all partitions, in this process, continuing where an earlier run ended."""

from contextlib import ExitStack, closing

import pyarrow as pa

from pulsarctl.transfer.message_rows import encoding, message_rows
from pulsarctl.transfer.partition_sender import PartitionSender
from pulsarctl.transfer.target import Target


class RowSender:
    """A context. Rows of the file up to `after` are stored already.

    `row` is the number of the last row in the file, from 1, and `stored` that of the last one that is known to be
    stored. `rows` and `sent` are of all files.
    """

    def __init__(self, target: Target, *, file: int = 0, after: int = 0) -> None:
        self._target = target
        self._after = after
        self._partitions: dict[int, PartitionSender] = {}
        self._end = ExitStack()
        self.file = file
        self.row = 0
        self.rows = 0
        self.stored = after

    def __enter__(self) -> "RowSender":
        self._client = self._end.enter_context(closing(self._target.access.client()))
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    @property
    def sent(self) -> int:
        return sum(sender.sent for sender in self._partitions.values())

    def send(self, batch: pa.RecordBatch) -> None:
        """Returns before the messages are stored; see `flush`. Raises `CliError`."""
        encoded = encoding(batch, self._target.record_schema)
        for message in message_rows(batch, encoded):
            self.row += 1
            self.rows += 1
            if self.row <= self._after:
                continue
            partition = self._target.partition_of(message.key, message.source, self.row)
            self._sender(partition).send(self.file, self.row, message, encoded)
            if self.row % self._target.checkpoint_rows == 0:
                self.flush()

    def flush(self) -> None:
        """Returns when every row up to here is stored. Raises `CliError`."""
        for sender in self._partitions.values():
            sender.flush()
        self.stored = max(self.row, self._after)

    def end_file(self) -> None:
        """Flushes. The next row is the first one of the next file."""
        self.flush()
        self.file += 1
        self.row = self._after = self.stored = 0

    def _sender(self, partition: int) -> PartitionSender:
        sender = self._partitions.get(partition)
        if sender is None:
            sender = self._partitions[partition] = PartitionSender(self._target, self._client, partition)
        return sender
