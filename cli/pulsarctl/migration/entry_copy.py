"""The entries of one partition -> another topic, in order, each exactly once.

The copy belongs to this command alone while it is made, so the number of its entries says how far an earlier run came.
To count them, the topic is unloaded first: that ends the producers of earlier runs, and the entries that they sent are
either stored or lost. The source is read from its first entry in every run, which also tells where its gaps are.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from broker_core.wire.pulsar_api_pb2 import MessageMetadata, Schema
from pulsarctl.admin.client import AdminClient
from pulsarctl.backlog.ledgers import ledgers
from pulsarctl.errors import CannotConnect, CliError, Conflict, TimedOut
from pulsarctl.migration.ascending_ids import last_known, raise_ids
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.runs import Runs
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.raw.entry_sender import EntrySender
from pulsarctl.raw.topic_lookup import TopicLookup

RETRY_SECONDS = 0.5
PRODUCER = "pulsarctl-copy"
UNCONFIRMED_MAX = 5000  # entries in memory until the broker has confirmed them

Step = Callable[[int, int], None]  # entries and bytes that were sent


@dataclass(slots=True)
class Copied:
    """The entries that were read from the source. `digest` is over the entries as they are stored, in order."""

    runs: Runs = field(default_factory=Runs)
    size: int = 0
    sent: int = 0
    digest: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))

    def add(self, entry: Entry, data: bytes) -> None:
        self.runs.add(entry.ledger_id, entry.entry_id)
        self.size += entry.stored_bytes
        self.digest.update(data)


class EntryCopy:
    """A context. `source` and `target` are topics without partitions, or partitions.

    `run` copies what the source has at that moment; it may be called again for what came later.
    """

    def __init__(
        self,
        source: Endpoint,
        source_topic: str,
        target: Endpoint,
        target_topic: str,
        *,
        schema: Schema | None,
        step: Step,
    ) -> None:
        self.copied = Copied()
        self._source_topic = source_topic
        self._target = target
        self._topic = target_topic
        self._schema = schema
        self._step = step
        self._admin = target.admin()
        self._lookup: TopicLookup | None = None
        self._sender: EntrySender | None = None
        self._was_open = False
        self._unconfirmed: list[tuple[MessageMetadata, bytes]] = []
        self._stored = 0  # entries that the copy has, confirmed
        self._reader: EntryReader | None = None
        self._source = source
        self._above = -1  # the copy's next entries have greater ledger IDs than this, if its broker can do that

    def __enter__(self) -> "EntryCopy":
        return self

    def __exit__(self, *_: object) -> None:
        self._disconnect()
        if self._reader is not None:
            self._reader.close()
        self._admin.close()

    def run(self) -> None:
        """Copies up to the last entry of now. Raises `CliError`."""
        if self._reader is None:
            self._reader = self._source.reader(self._source_topic)
            self._stored = self._count()
        self._raise_ids(self._last_known())
        for entry in self._reader.to_end():
            self._check_order(entry)
            data = entry.stored()
            self.copied.add(entry, data)
            if self.copied.runs.count > self._stored:
                self._send(entry, data)
        self._persistently(self._flush)
        if self.copied.runs.count < self._stored:
            raise Conflict(
                f"cannot copy {self._source_topic} to {self._topic} at {self._target.name}: the copy has "
                f"{self._stored:,} entries, and the source has {self.copied.runs.count:,}",
                hint="delete the copy, or name another topic",
            )

    def _check_order(self, entry: Entry) -> None:
        runs = self.copied.runs
        if runs.count and runs.position(runs.count - 1) >= entry.id.position:
            raise CliError(f"{self._source_topic} returned {entry.id} out of order")

    def _last_known(self) -> int:
        admin = self._source.admin()
        try:
            return last_known(admin, self._source_topic)[0]
        finally:
            admin.close()

    def _raise_ids(self, above: int) -> None:
        if above > self._above:
            self._persistently(lambda: raise_ids(self._admin, self._topic, above))
            self._above = above

    def _send(self, entry: Entry, data: bytes) -> None:
        self._raise_ids(entry.ledger_id)
        self._unconfirmed.append((entry.metadata, data))
        self._persistently(self._publish_last)
        self.copied.sent += 1
        self._step(1, entry.stored_bytes)
        if len(self._unconfirmed) >= UNCONFIRMED_MAX:
            self._persistently(self._flush)

    def _publish_last(self) -> None:
        if self._sender is None:
            self._reconnect()  # which sends everything unconfirmed, and so this entry
        else:
            self._sender.send(*self._unconfirmed[-1])

    def _flush(self) -> None:
        if self._sender is None and self._unconfirmed:
            self._reconnect()
        if self._sender is not None:
            self._sender.flush()
            self._stored += len(self._unconfirmed)
            self._unconfirmed.clear()

    def _persistently(self, action: Callable[[], None]) -> None:
        """Repeats after a lost connection while time is left since the last success."""
        deadline = time.monotonic() + self._target.timeout_seconds
        while True:
            try:
                return action()
            except (CannotConnect, TimedOut):
                self._disconnect()
                if time.monotonic() > deadline:
                    raise
                time.sleep(RETRY_SECONDS)

    def _reconnect(self) -> None:
        """Forgets the entries that the broker has stored in the meantime, and sends the others again."""
        if self._was_open:
            known = self._count() - self._stored
            if not 0 <= known <= len(self._unconfirmed):
                raise Conflict(f"cannot copy to {self._topic} at {self._target.name}: another producer writes to it")
            self._stored += known
            del self._unconfirmed[:known]
        self._was_open = True
        self._lookup = self._target.lookup()
        self._sender = EntrySender(self._lookup, self._topic, PRODUCER, self._schema)
        for metadata, data in self._unconfirmed:
            self._sender.send(metadata, data)

    def _disconnect(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
        self._lookup = self._sender = None

    def _count(self) -> int:
        """The number of entries of the copy, after the last receipt."""
        self._admin.topics.unload(self._topic)
        return entries_of(self._admin, self._topic).count


def entries_of(admin: AdminClient, topic: str) -> Runs:
    """The entries that a topic without gaps has."""
    return Runs.of_ledgers(ledgers(admin.topics.internal_stats(topic)))
