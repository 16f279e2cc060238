"""Which transactions the attempts of a job have begun, so that the driver aborts those that Spark has killed.

A worker that Spark kills cannot abort its transaction, and consumers would wait for its timeout. The log is a topic
beside the target, which holds no data and needs no subscription. Without it, the timeout does the same later.
"""

import contextlib
import json
from collections.abc import Iterator
from contextlib import closing

import pulsar

from broker_core.wire.transaction_id import TransactionId
from pulsarctl.errors import CliError
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.raw.entry_record import records_of
from pulsarctl.raw.partition_consumer import PublishedSince
from pulsarctl.tables.writing.task_transactions import abort_all
from pulsarctl.tables.writing.write_options import WriteOptions
from pulsarctl.values.clock import now_ms
from pulsarctl.values.json_text import parse_json

CLOCKS_APART_MS = 60_000  # at most, so that the driver misses no record


class BegunLog:
    """It travels to tasks. `run` is the name of the job. Made before its first task."""

    def __init__(self, options: WriteOptions, run: str) -> None:
        self._options = options
        self._run = run
        self._since_ms = now_ms() - CLOCKS_APART_MS

    def add(self, transaction: TransactionId) -> None:
        """Runs in a task, before the first message of the transaction."""
        with _best_effort(), closing(self._options.access.client()) as client:
            producer = client.create_producer(self._name())
            producer.send(json.dumps({"run": self._run, "begun": transaction}).encode())

    def abort_others(self, own: set[TransactionId]) -> None:
        """Runs on the driver."""
        with _best_effort():
            abort_all(self._options.access, self._begun() - own)

    def _begun(self) -> set[TransactionId]:
        access = self._options.access
        reader = EntryReader(
            access.service_url,
            self._name(),
            start=PublishedSince(self._since_ms),
            timeout_seconds=access.timeout_seconds,
            security=access.security,
        )
        with reader:
            records = [parse_json(message.value or b"") for entry in reader.to_end() for message in records_of(entry)]
        return {TransactionId(*record["begun"]) for record in records if record["run"] == self._run}

    def _name(self) -> str:
        with closing(self._options.access.lookup()) as lookup:
            return lookup.partition_names(f"{self._options.topic}-spark-jobs")[0]


@contextlib.contextmanager
def _best_effort() -> Iterator[None]:
    with contextlib.suppress(CliError, pulsar.PulsarException):
        yield
