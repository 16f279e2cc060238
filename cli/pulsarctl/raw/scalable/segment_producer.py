"""One producer on a segment of a scalable topic, which remembers the messages that the broker has not stored."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from broker_core.wire.batch import BatchMessage
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.segment_clients import name_in_segment
from pulsarctl.raw.entry_sender import EntrySender
from pulsarctl.raw.outgoing_entry import (
    BATCH_BYTES_MAX,
    BATCH_MESSAGES_MAX,
    IDLE_SECONDS,
    EntryBuilder,
    ProducerSettings,
    TooLarge,
    bytes_in_batch,
    is_too_large,
)
from pulsarctl.raw.scalable.layout import Segment, bucket_hash
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.wire_schema import wire_schema


class Outgoing(NamedTuple):
    """`position` is that in the run, from 1. `deliver_at` is in milliseconds since the epoch."""

    position: int
    key: str | None
    message: BatchMessage
    deliver_at: int | None = None


class MessageTooLarge(TooLarge):
    """`position` is that of the message in the run."""

    def __init__(self, outgoing: Outgoing) -> None:
        super().__init__(len(outgoing.message.payload))
        self.position = outgoing.position


@dataclass(slots=True)
class Batch:
    """Messages that go into one entry, and their size in it."""

    messages: list[Outgoing] = field(default_factory=list)
    size: int = 0


class SegmentProducer:
    """`stored` is called with messages that the broker has stored, in the order of `add`.

    `lookup()` opens a lookup of its own. The producer is opened for the first entry.
    """

    def __init__(
        self,
        lookup: Callable[[], TopicLookup],
        segment: Segment,
        settings: ProducerSettings,
        stored: Callable[[Sequence[Outgoing]], None],
    ) -> None:
        self.segment = segment
        self._lookup = lookup
        self._settings = replace(settings, name=name_in_segment(settings.name, segment.id))
        self._stored = stored
        self._batches: defaultdict[int | None, Batch] = defaultdict(
            Batch
        )  # by bucket; None is for messages without a key
        self._sent: deque[list[Outgoing]] = deque()  # the messages of each entry without a receipt
        self._own_lookup: TopicLookup | None = None
        self._sender: EntrySender | None = None
        self._used = time.monotonic()

    @property
    def unstored(self) -> list[Outgoing]:
        """The messages that the broker has not confirmed, in the order of the run."""
        waiting = [batch.messages for batch in self._batches.values()]
        return sorted(chain.from_iterable([*self._sent, *waiting]), key=lambda outgoing: outgoing.position)

    def add(self, outgoing: Outgoing) -> None:
        """Raises `MessageTooLarge`, what connecting raises, or the broker's refusal.

        `unstored` then has the message, too.
        """
        batch = self._batches[self.segment.bucket_of(outgoing.key) if outgoing.key else None]
        is_alone = not self._settings.batching or outgoing.deliver_at
        batch.messages.append(outgoing)
        batch.size += bytes_in_batch(outgoing.message)
        if is_alone or batch.size > BATCH_BYTES_MAX:
            self._send(batch, len(batch.messages) - 1)
        if is_alone or batch.size >= BATCH_BYTES_MAX or len(batch.messages) == BATCH_MESSAGES_MAX:
            self._send(batch, len(batch.messages))

    def flush(self) -> None:
        """Returns when the broker has stored everything. Raises as `add` does."""
        for batch in self._batches.values():
            self._send(batch, len(batch.messages))
        self.await_receipts(None)

    def await_receipts(self, timeout_seconds: float | None) -> None:
        """Waits for the receipts of the batches that were sent. Sends nothing."""
        if self._sender is not None:
            try:
                self._sender.flush(timeout_seconds)
            finally:
                self._settle(self._sender)

    def close(self) -> None:
        if self._own_lookup is not None:
            self._own_lookup.close()
        self._own_lookup = self._sender = None

    def _send(self, batch: Batch, count: int) -> None:
        """Sends the first messages of the batch in one entry, or in several if the broker takes only smaller ones."""
        messages = batch.messages[:count]
        if not messages:
            return
        sender = self._opened()
        metadata, entry = self._entry(sender, messages)
        if is_too_large(metadata, entry, sender.entry_bytes_max):
            if count == 1:
                raise MessageTooLarge(messages[0])
            self._send(batch, count // 2)
            self._send(batch, count - count // 2)
            return
        self._sent.append(messages)
        del batch.messages[:count]
        batch.size = sum(bytes_in_batch(outgoing.message) for outgoing in batch.messages)
        try:
            sender.send(metadata, entry)
        finally:
            self._settle(sender)
        self._used = time.monotonic()

    def _entry(self, sender: EntrySender, messages: list[Outgoing]) -> tuple[MessageMetadata, bytes]:
        entries = EntryBuilder(self._settings, sender.schema_version)
        first = messages[0]
        hashes = [bucket_hash(outgoing.key) for outgoing in messages if outgoing.key]
        if self._settings.batching and not first.deliver_at:
            return entries.batch([outgoing.message for outgoing in messages], sender.sequence_id, hashes)
        return entries.alone(first.message, sender.sequence_id, first.deliver_at, hashes)

    def _opened(self) -> EntrySender:
        """A connection that was idle for long is opened again, because the broker may have closed it."""
        if not self._sent and time.monotonic() - self._used > IDLE_SECONDS:
            self.close()
        if self._sender is None:
            self._own_lookup = self._lookup()
            schema = None if self._settings.schema is None else wire_schema(self._settings.schema)
            self._sender = EntrySender(self._own_lookup, self.segment.topic, self._settings.name, schema)
        return self._sender

    def _settle(self, sender: EntrySender) -> None:
        while len(self._sent) > sender.pending:
            self._stored(self._sent.popleft())
