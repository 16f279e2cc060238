"""Which segments a consumer reads: all of them (queue), or those that the broker assigns to it (stream)."""

import contextlib
from typing import NamedTuple, Protocol

from broker_core.wire import scalable_requests
from broker_core.wire.pulsar_api_pb2 import (
    CommandScalableTopicAssignmentUpdate,
    CommandScalableTopicSubscribeResponse,
    ScalableAssignedSegment,
    ScalableConsumerAssignment,
)
from pulsarctl.errors import CliError
from pulsarctl.raw.broker_connection import Arrived, BrokerConnection
from pulsarctl.raw.scalable.layout_session import LayoutSession
from pulsarctl.raw.topic_lookup import TopicLookup

REGISTRATION_ID = 0  # consumers of segments have others


class Assigned(NamedTuple):
    """A segment to read. Other consumers share it if it has `buckets`: the ranges of all its entry buckets."""

    topic: str
    buckets: tuple[tuple[int, int], ...] = ()


class Membership(Protocol):
    """`segments` are those to read, by ID. `take` says whether they have changed."""

    connection: BrokerConnection

    @property
    def segments(self) -> dict[int, Assigned]: ...
    @property
    def last_id(self) -> int:
        """The ID of the newest segment."""

    def take(self, item: Arrived) -> bool: ...
    def leave(self) -> None: ...


class WholeLayout:
    """Every segment, sealed ones too: the membership of a queue consumer."""

    def __init__(self, lookup: TopicLookup, topic: str) -> None:
        """Raises what `LayoutSession` raises. The broker may create a missing topic."""
        self._session = LayoutSession(lookup, topic, create=True)
        self.connection = self._session.connection

    @property
    def segments(self) -> dict[int, Assigned]:
        return {segment.id: Assigned(segment.topic) for segment in self._session.layout.segments.values()}

    @property
    def last_id(self) -> int:
        return self._session.layout.last_id

    def take(self, item: Arrived) -> bool:
        return self._session.take(item)

    def leave(self) -> None:
        self._session.close()


class Registration:
    """The membership of a stream consumer: the broker gives it a segment when all parents are consumed."""

    def __init__(self, lookup: TopicLookup, topic: str, subscription: str, name: str) -> None:
        """Raises what `LayoutSession` raises, or the broker's refusal of the consumer."""
        session = LayoutSession(lookup, topic, create=True)
        self.last_id = session.layout.last_id
        session.close()
        self.connection = session.connection
        answer = self.connection.ask(
            lambda request_id: scalable_requests.register(request_id, topic, subscription, name, REGISTRATION_ID),
            CommandScalableTopicSubscribeResponse,
            topic=topic,
        )
        self._epoch = -1
        self._segments: dict[int, Assigned] = {}
        self._assign(answer.assignment)

    @property
    def segments(self) -> dict[int, Assigned]:
        return self._segments

    def take(self, item: Arrived) -> bool:
        if not isinstance(item, CommandScalableTopicAssignmentUpdate) or item.consumer_id != REGISTRATION_ID:
            return False
        return self._assign(item.assignment)

    def leave(self) -> None:
        """The broker gives the segments to other consumers once their consumers here are closed, which follows."""
        with contextlib.suppress(CliError):
            self.connection.send(scalable_requests.unregister(0, REGISTRATION_ID))

    def _assign(self, assignment: ScalableConsumerAssignment) -> bool:
        """5.0.0-M1 sends the first assignment twice."""
        if assignment.layout_epoch < self._epoch:
            return False
        known, self._epoch = self._segments, assignment.layout_epoch
        self._segments = {segment.segment_id: _assigned(segment) for segment in assignment.segments}
        return self._segments != known


def _assigned(segment: ScalableAssignedSegment) -> Assigned:
    return Assigned(segment.segment_topic, tuple((item.start, item.end) for item in segment.bucket_ranges))
