"""A producer attached to a topic: its name, its counters, and its receipts.

`publish` takes a run of messages (the consecutive SENDs of this producer in one chunk of the socket). Receipts are sent
in publish order, one per SEND, with the sequence ID of the SEND (docs/reference/protocol.md "Receipts").
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from broker_core.errors import BrokerError, PersistenceFailed
from broker_core.limits.publish_throttle import PublishThrottle
from broker_core.publishing.access import AccessMode
from broker_core.publishing.policy_checks import entry_refusal, needs_entry_checks
from broker_core.publishing.replication import MarkerSender, Origin, by_original_producer, is_replicator, source_cluster
from broker_core.rates.rate import Rate
from broker_core.wire import commands
from broker_core.wire.encode import ReceiptEncoder

if TYPE_CHECKING:
    from broker_core.client import Client
    from broker_core.clock import Clock
    from broker_core.limits.rate_limit import RateLimit
    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName
    from broker_core.publishing.deduplication import Deduplication
    from broker_core.storage.errors import StorageError
    from broker_core.storage.records.position import Position
    from broker_core.topic_log import PublishDone
    from broker_core.wire.send import SendRun


class PublishTarget(Protocol):
    """A topic as its producers see it."""

    name: TopicName
    clock: Clock
    publishes_plainly: bool  # a publish only has to be appended
    publish_limit: RateLimit | None
    deduplication: Deduplication

    @property
    def served_at(self) -> str:
        """Once closed: the broker that serves the topic; "" if unknown."""

    @property
    def policies(self) -> TopicPolicies:
        """The policies in force now."""

    def publish(self, run: SendRun, done: PublishDone) -> None:
        """Appends a run; `done` follows. Raises a `BrokerError` if nothing of it is written."""

    def publish_in_transaction(self, run: SendRun, done: PublishDone) -> None:
        """As `publish`, for messages of a transaction."""

    def write_failed(self, error: StorageError | None) -> BrokerError:
        """The error for the topic's producers after a failed write."""

    def chunk_published(self) -> None:
        """A chunk is about to be published."""

    def marker_stored(self, entry: bytes, position: Position, sender: MarkerSender) -> None:
        """A marker of another cluster is on disk."""

    def publish_held(self) -> None:
        """A publish rate has stopped reading from a connection."""

    def remove_producer(self, producer: Producer) -> None:
        """Removes a producer that leaves."""


class Producer:
    names_positions = False  # a replicator whose copies are told apart by their positions (`copy_producer`)
    dropped: Rate | None = None  # messages that the topic did not take, where it keeps none

    def __init__(
        self, client: Client, topic: PublishTarget, producer_id: int, name: str, metadata: dict[str, str]
    ) -> None:
        self.client = client
        self.topic = topic
        self.producer_id = producer_id
        self.name = name
        self.metadata = metadata
        self.is_replicator = is_replicator(name)
        self.access_mode = AccessMode.SHARED
        self.schema_version = b""  # the version under which it publishes, in the eight bytes of the wire
        self.connected_since_ms = topic.clock.wall_ms()
        self.rate = Rate(topic.clock)
        self.closed = False
        self.receipts = ReceiptEncoder(topic.name.partition)
        self.throttle = PublishThrottle(topic, client.outbound, self.publish_now)
        self._pending = 0  # runs that wait for the disk
        self._drained: asyncio.Event | None = None

    def publish(self, run: SendRun) -> None:
        """Takes a run; messages above the publish rates follow later, and until then the socket is not read."""
        topic = self.topic
        if topic.publishes_plainly:
            self._publish_whole(run)
        elif topic.publish_limit is None:
            self.publish_now(run)
        else:
            self.throttle.publish(run)

    def publish_now(self, run: SendRun) -> None:
        """Passes a run to the topic; SEND_RECEIPTs or SEND_ERRORs follow."""
        if needs_entry_checks(run, self.topic.policies):
            self._publish_acceptable(run)
        else:
            self._publish_checked(run)

    def _publish_acceptable(self, run: SendRun) -> None:
        """Refuses the messages that the topic's policies do not allow, and publishes the others of the run."""
        start = 0
        for index, sequence_id in enumerate(run.sequence_ids):
            error = entry_refusal(run, index, self.topic.policies)
            if error is not None:
                self._publish_slice(run, start, index)
                self.refuse(sequence_id, error)
                start = index + 1
        self._publish_slice(run, start, len(run))

    def _publish_slice(self, run: SendRun, start: int, stop: int) -> None:
        if start < stop and not self.closed:
            self._publish_checked(run.slice(start, stop))

    def _publish_checked(self, run: SendRun) -> None:
        if not self.topic.deduplication.enabled:
            self._publish_whole(run)
        elif self.is_replicator:
            self._publish_copies(run)
        else:
            self._publish_once(run, self.name)

    def _publish_copies(self, run: SendRun) -> None:
        """With deduplication: checks each copy against its origin; a marker is never a duplicate."""
        if self.names_positions:
            run.chunk = None  # each chunk has a position of its own
        for name, first, origins in by_original_producer(run, by_position=self.names_positions):
            if self.closed:
                return
            self._publish_once(run.slice(first, first + len(origins)), name, origins)

    def _publish_whole(self, run: SendRun) -> None:
        pending = self._begin(run)
        topic = self.topic
        publish = topic.publish if run.transaction is None else topic.publish_in_transaction
        try:
            publish(run, pending.done)
        except BrokerError as error:
            self._refused(pending, error)

    def _publish_once(self, run: SendRun, name: str, origins: Sequence[Origin] = ()) -> None:
        """With deduplication: new messages go to the topic, duplicates are answered in order.

        Copies of a replicator have `origins`, one for each entry.
        """
        deduplication = self.topic.deduplication
        publish = self.topic.publish if run.transaction is None else self.topic.publish_in_transaction
        parts = deduplication.split_copies(name, run, origins) if origins else deduplication.split(name, run)
        for first, stop, is_new in parts:
            if self.closed:  # an earlier part failed, and the client will send all of it again
                return
            pending = self._begin(run.slice(first, stop))
            if not is_new:
                deduplication.repeat(pending)
                continue
            try:
                highest = origins[stop - 1].highest if origins else pending.run.last_sequence_id
                deduplication.publish(name, pending, highest, publish)
            except BrokerError as error:
                self._refused(pending, error)

    def _begin(self, run: SendRun) -> PendingPublish:
        self.rate.add(sum(run.counts), sum(run.ends) - sum(run.starts))
        self._pending += 1
        self.client.outbound.publish_started(len(run.starts))
        return PendingPublish(self, run)

    def _refused(self, pending: PendingPublish, error: BrokerError) -> None:
        pending.refuse(error)
        if isinstance(error, PersistenceFailed):
            self.disconnect()

    def refuse(self, sequence_id: int, error: BrokerError) -> None:
        """Answers a SEND that never reached the topic."""
        if not self.closed:
            self.client.outbound.send(
                commands.send_error(self.producer_id, sequence_id, error.server_error, error.reason)
            )

    def close(self) -> None:
        """Leaves the topic; pending publishes complete, but their receipts are not sent."""
        self.closed = True
        self.throttle.close()
        self.topic.remove_producer(self)

    def disconnect(self) -> None:
        """Closes this producer from the broker's side; its client looks up the topic again.

        Also after a failed write: messages that the client has already sent must not be stored before the failed ones.
        The client sends both again, in order (Pulsar disconnects the producers of a fenced topic for the same reason).
        """
        if self.closed:
            return
        self.ignore_sends()
        self.close()
        served_at = self.client.hint(self.topic.served_at)
        self.client.outbound.send(commands.close_producer(self.producer_id, served_at=served_at))

    def ignore_sends(self) -> None:
        """Ignores what the client sends from now on; it sends it again after it reconnects."""
        self.client.forget_producer(self.producer_id)

    async def drained(self) -> None:
        """Waits until every pending publish has been answered; limited by the disk's own deadline."""
        self.throttle.flush()
        if self._pending:
            self._drained = asyncio.Event()
            await self._drained.wait()

    @property
    def marker_sender(self) -> MarkerSender:
        return MarkerSender(source_cluster(self.name), partial(self.client.may_move, self.topic.name))

    def finished(self, messages: int) -> None:
        self._pending -= 1
        self.client.outbound.publish_finished(messages)
        if self._drained is not None and not self._pending:
            self._drained.set()


class PendingPublish:
    """A run being written: one object per run, so that the hot path makes no closure per message."""

    __slots__ = ("producer", "run")

    def __init__(self, producer: Producer, run: SendRun) -> None:
        self.producer = producer
        self.run = run

    def done(self, first: Position | None, error: StorageError | None) -> None:
        """Called on the loop, in publish order, after the run is on disk or has failed."""
        producer, run = self.producer, self.run
        if first is None:
            self.refuse(producer.topic.write_failed(error))
            producer.disconnect()
            return
        receipts = producer.receipts.receipts(run, *first)
        producer.client.outbound.send(receipts)
        producer.finished(len(run.starts))
        if not run.counts[0]:  # a marker comes as a run of one
            producer.topic.marker_stored(run.entry(0), first, producer.marker_sender)

    def repeated(self, error: StorageError | None) -> None:
        """These messages are duplicates; with an error, a message published before them failed."""
        if error is not None:
            self.done(None, error)
            return
        producer, run = self.producer, self.run
        producer.client.outbound.send(producer.receipts.duplicates(run))
        producer.finished(len(run.starts))

    def refuse(self, error: BrokerError) -> None:
        for sequence_id in self.run.sequence_ids:
            self.producer.refuse(sequence_id, error)
        self.producer.finished(len(self.run.starts))
