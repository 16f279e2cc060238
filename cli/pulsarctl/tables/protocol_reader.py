"""Entries of a ledger range over the binary protocol, exactly: each entry once, in order, none left out.

The reader continues after a lost connection, a topic that moves, and a broker that restarts. Entry IDs in a ledger are
contiguous, so an entry that is skipped is noticed at once, and `missing_entries` finds out why.
"""

import time
from array import array
from collections.abc import Iterator

import numpy as np

from broker_core.wire.frame import MessageFrame
from broker_core.wire.message_run import MessageRun
from pulsarctl.errors import CannotConnect, CliError, TimedOut
from pulsarctl.raw.broker_connection import (
    GATHERED_BYTES,
    Arrived,
    BrokerConnection,
    ConnectionLost,
    NotReady,
    pause_before,
)
from pulsarctl.raw.partition_consumer import PartitionConsumer
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.tables.access import Access
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.foreseen_messages import ForeseenMessages
from pulsarctl.tables.missing_entries import MissingEntries
from pulsarctl.values.message_ids import MessageId

PERMITS = 20_000  # messages in flight; a reader of a range wants all of them, and TCP bounds what waits
EXPECTED = 15 / 16  # of the bytes that are left, judged by the last run; smaller entries have fewer
PROBE_SECONDS = 1.0  # silence after which the reader asks whether more is to come


class ProtocolReader:
    """Reads entries `first` to `last` of one ledger of one topic partition."""

    def __init__(
        self, access: Access, topic: str, ledger_id: int, first: int, last: int, missing: MissingEntries
    ) -> None:
        self._access = access
        self._topic = topic
        self._ledger_id = ledger_id
        self._next = first
        self._last = last
        self._missing = missing
        self._lookup: TopicLookup | None = None
        self._consumer: PartitionConsumer | None = None
        self._permitted = 0  # messages that the broker may still send
        self._opened_at = -1  # the entry from which the open subscription reads
        self._frame_bytes = GATHERED_BYTES  # of an entry, judged by the last run

    def runs(self) -> Iterator[EntryRun]:
        """Raises `DataLoss` for entries that are gone, `DamagedEntry`, `TimedOut`, or what connecting raises."""
        heard = time.monotonic()
        try:
            while self._next <= self._last:
                before, run = self._next, self._attempt(heard + self._access.timeout_seconds)
                if run is not None:
                    yield run
                if self._next > before:
                    heard = time.monotonic()
                elif time.monotonic() - heard > self._access.timeout_seconds:
                    raise TimedOut(
                        f"cannot read {self._ledger_id}:{self._next} of {self._topic}: nothing arrived within "
                        f"{self._access.timeout_seconds:g} s"
                    )
        finally:
            self._close(politely=True)

    def _attempt(self, deadline: float) -> EntryRun | None:
        """The next run, or None if nothing arrived or the connection was lost."""
        try:
            consumer = self._consumer or self._open()
            connection = consumer.connection
            if not connection.arrived and not self._receive(connection):
                self._probe(consumer)
                return None
            return self._take(consumer)
        except (CannotConnect, NotReady):
            if not pause_before(deadline):
                raise
            self._close()
            return None

    def _receive(self, connection: BrokerConnection) -> bool:
        """Entries to be taken apart together, but none after the last one: to wait for those costs a silence."""
        left = int((self._last - self._next + 1) * self._frame_bytes * EXPECTED)
        return connection.receive(time.monotonic() + PROBE_SECONDS, gather=min(left, GATHERED_BYTES))

    def _take(self, consumer: PartitionConsumer) -> EntryRun | None:
        """The next of what has arrived of the range."""
        arrived = consumer.connection.arrived
        if not arrived:  # a part of a frame
            return None
        message_run = _run_of(arrived.popleft())
        if message_run is None:  # the topic is unloaded, or moves to another broker
            self._close()
            return None
        position = (message_run.ledger_id, message_run.entry_id)
        if position > (self._ledger_id, self._next):
            arrived.appendleft(message_run)
            self._skip(position)
            return None
        run = self._in_range(message_run)
        if not len(run):
            return None
        messages = run.messages  # an entry that is damaged is the next one until it was read
        self._next += len(run)
        self._frame_bytes = -(-(message_run.ends[-1] - message_run.starts[0]) // len(message_run.ends))
        self._repay(consumer, len(run), messages)
        return run

    def _in_range(self, message_run: MessageRun) -> EntryRun:
        """The entries from the expected one on, up to the end of the range."""
        first, last = self._next - message_run.entry_id, self._last + 1 - message_run.entry_id
        rows = slice(0) if message_run.ledger_id != self._ledger_id else slice(first, last)
        starts, ends = np.array(message_run.starts[rows], np.int64), np.array(message_run.ends[rows], np.int64)
        entry_ids = np.arange(self._next, self._next + len(starts))
        return EntryRun(self._topic, self._ledger_id, entry_ids, message_run.data, starts, ends, verify=True)

    def _repay(self, consumer: PartitionConsumer, entries: int, messages: int) -> None:
        """Permits what is left of the range, judged by the batches so far, and no more than that."""
        consumer.passed(self._ledger_id, self._next - 1)
        self._permitted -= messages
        permits = min(PERMITS, (self._last - self._next + 1) * -(-messages // entries))
        if not permits or self._permitted >= permits / 2:
            return
        try:
            consumer.flow(permits - self._permitted)
            self._permitted = permits
        except ConnectionLost:
            self._close()  # the run that was taken is complete, and the next one comes over a new connection

    def _skip(self, position: tuple[int, int]) -> None:
        """The broker continues at `position`, after the entry that is expected."""
        if self._next != self._opened_at:
            self._close()  # ask for exactly that entry before anything is said about it
            return
        stop = position[1] if position[0] == self._ledger_id else self._last + 1
        self._hole_until(min(stop, self._last + 1))

    def _probe(self, consumer: PartitionConsumer) -> None:
        """After a silence: whether more is to come."""
        try:
            more = consumer.last_id()[1]
        except CannotConnect:
            raise
        except CliError:
            if not consumer.connection.take_close(consumer.consumer_id):
                raise
            self._close()
            return
        if not more and not consumer.connection.arrived:
            self._hole_until(self._last + 1)

    def _hole_until(self, stop: int) -> None:
        self._missing.check(self._ledger_id, self._next, stop - 1)
        self._next = self._opened_at = stop

    def _open(self) -> PartitionConsumer:
        self._lookup = self._access.lookup()
        start = MessageId(self._ledger_id, self._next)
        self._permitted = min(PERMITS, self._last - self._next + 1)
        consumer = PartitionConsumer(self._topic, -1, start, permits=self._permitted)
        connection = self._lookup.connect(self._topic)
        consumer.subscribe(connection)
        connection.gather_messages(ForeseenMessages())
        self._consumer, self._opened_at = consumer, self._next
        return consumer

    def _close(self, *, politely: bool = False) -> None:
        """Politely: waits until the broker has removed the subscription."""
        try:
            if politely and self._consumer is not None:
                self._consumer.close()
        except CliError:
            pass  # the subscription ends with the connection
        finally:
            self._consumer = None
            if self._lookup is not None:
                self._lookup.close()
                self._lookup = None


def _run_of(arrived: Arrived) -> MessageRun | None:
    """The run in a frame; None if it is not a message."""
    if isinstance(arrived, MessageRun):
        return arrived
    if not isinstance(arrived, MessageFrame):
        return None
    place = arrived.message.message_id
    entry = arrived.entry
    return MessageRun(
        arrived.message.consumer_id, place.ledgerId, place.entryId, entry, array("q", [0]), array("q", [len(entry)])
    )
