"""Publishes to a scalable topic: each message to the active segment of its key, in order also across splits and merges.

A sealed segment takes no more messages. Those that it has not stored go, in the same order, to the segments that
follow it. After a lost connection, messages without a receipt are sent again, so the broker may store them twice.
"""

import contextlib
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from broker_core.wire.batch import BatchMessage
from pulsarctl.errors import CannotConnect, CliError, NotFound, TimedOut
from pulsarctl.raw.broker_connection import RETRY_SECONDS, NotReady, Terminated
from pulsarctl.raw.outgoing_entry import ProducerSettings
from pulsarctl.raw.scalable.layout import HASHES, SegmentRouter
from pulsarctl.raw.scalable.layout_session import LayoutSession
from pulsarctl.raw.scalable.segment_producer import Outgoing, SegmentProducer
from pulsarctl.raw.topic_lookup import TopicLookup

MAY_PASS = (Terminated, CannotConnect, NotReady, NotFound)  # a segment is sealed, loading, or collected


class SegmentsProducer:
    """`lookup()` opens a lookup. `timeout_seconds` bounds the time without a segment that takes messages."""

    def __init__(
        self, lookup: Callable[[], TopicLookup], topic: str, settings: ProducerSettings, timeout_seconds: float
    ) -> None:
        """Raises what connecting raises, or the broker's refusal of the topic, which it may create."""
        self.topic = topic
        self.sent = 0
        self._lookup = lookup
        self._settings = settings
        self._timeout_seconds = timeout_seconds
        self._unstored: dict[int, None] = {}  # positions, in the order of sending
        self._producers: dict[int, SegmentProducer] = {}
        self._router = SegmentRouter(random.randrange(HASHES))  # noqa: S311  # spreads the load, and is not a secret
        self._deadline: float | None = None
        self._session_lookup = lookup()
        try:
            self._session = self._open_session()
        except BaseException:
            self._session_lookup.close()
            raise

    @property
    def acknowledged(self) -> int:
        """The number of messages that the broker has stored, in any order."""
        return self.sent - len(self._unstored)

    @property
    def acknowledged_in_order(self) -> int:
        """The broker has stored every message up to this position."""
        return min(self._unstored, default=self.sent + 1) - 1

    def send(self, message: BatchMessage, key: str | None, deliver_at: int | None) -> None:
        """Raises `MessageTooLarge`, `TimedOut`, or what the broker refuses."""
        self.sent += 1
        self._unstored[self.sent] = None
        self._deliver([Outgoing(self.sent, key, message, deliver_at)])

    def flush(self) -> None:
        """Returns when the broker has stored everything. Raises as `send` does."""
        while self._unstored:
            for segment_id in list(self._producers):
                self._flush(segment_id)

    def flush_others(self) -> None:
        """Flushes the segments that take messages, after one did not."""
        for producer in self._producers.values():
            with contextlib.suppress(CliError):
                producer.flush()
        self.await_receipts(self._timeout_seconds)

    def await_receipts(self, seconds: float) -> bool:
        """Whether the broker stores everything that is sent, with no more than `seconds` between two receipts."""
        try:
            for producer in self._producers.values():
                producer.await_receipts(seconds)
        except CliError:
            return False
        return not self._unstored

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()
        self._session_lookup.close()

    def _flush(self, segment_id: int) -> None:
        producer = self._producers.get(segment_id)
        if producer is None:  # it ended while another one was flushed
            return
        try:
            producer.flush()
        except MAY_PASS as error:
            self._deliver(self._left_by(producer, error))

    def _deliver(self, messages: Iterable[Outgoing]) -> None:
        """In the order of the run: what a segment has left comes before the messages that still wait."""
        waiting = deque(messages)
        while waiting:
            outgoing = waiting.popleft()
            producer = self._producer_for(outgoing.key)
            try:
                producer.add(outgoing)
            except MAY_PASS as error:
                waiting = deque(sorted((*self._left_by(producer, error), *waiting), key=_position))

    def _producer_for(self, key: str | None) -> SegmentProducer:
        segment = self._router.segment_for(self._session.layout, key)
        producer = self._producers.get(segment.id)
        if producer is None:
            producer = SegmentProducer(self._lookup, segment, self._settings, self._stored)
            self._producers[segment.id] = producer
        return producer

    def _stored(self, messages: Sequence[Outgoing]) -> None:
        self._deadline = None
        for outgoing in messages:
            del self._unstored[outgoing.position]

    def _left_by(self, producer: SegmentProducer, error: CliError) -> list[Outgoing]:
        """The messages of a producer that has ended, once the layout may have another place for them.

        Raises `error` if no segment has taken messages for long.
        """
        self._deadline = self._deadline or time.monotonic() + self._timeout_seconds
        if time.monotonic() > self._deadline:
            raise error
        messages = self._end(producer)
        self._await_layout(producer.segment.id, is_sealed=isinstance(error, Terminated | NotFound))
        return sorted([*messages, *self._left_by_sealed()], key=_position)

    def _await_layout(self, segment_id: int, *, is_sealed: bool) -> None:
        """Until the layout calls the segment sealed. If it may still be active, this is the pause before a retry."""
        try:
            if self._session.connection.is_lost:
                self._session = self._open_session()
            self._session.wait(lambda layout: not layout.is_active(segment_id), None if is_sealed else RETRY_SECONDS)
        except (CannotConnect, NotReady):
            time.sleep(RETRY_SECONDS)
        except TimedOut:
            if is_sealed:
                raise

    def _left_by_sealed(self) -> list[Outgoing]:
        """What the segments that the layout calls sealed have not stored.

        Without this, later messages of their keys would go to the children first.
        """
        layout = self._session.layout
        messages = []
        for producer in [known for known in self._producers.values() if not layout.is_active(known.segment.id)]:
            with contextlib.suppress(CliError):
                producer.await_receipts(None)
            messages += self._end(producer)
        return messages

    def _end(self, producer: SegmentProducer) -> list[Outgoing]:
        self._producers.pop(producer.segment.id).close()
        return producer.unstored

    def _open_session(self) -> LayoutSession:
        return LayoutSession(self._session_lookup, self.topic, create=True)


def _position(outgoing: Outgoing) -> int:
    return outgoing.position
