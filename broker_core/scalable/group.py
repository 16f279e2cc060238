"""The registered consumers of one subscription of a topic, and the segments that each of them reads (PIP-468).

A segment moves in two steps: its consumer is told to give it up, and once no consumer is connected to the segment, the
next one is told to read it. A consumer whose connection is lost keeps its segments for a grace period. After a restart,
clients may open the segments of a regular topic again before they register.

Consumers that share a segment subscribe to it in another way than a consumer on its own. To change between both is a
move, too: others join once the consumer that was on its own has closed the segment or opened it again to share it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_core.scalable.layout_message import assignment_message
from broker_core.scalable.sharing import spread
from broker_core.wire import scalable_commands
from broker_core.wire.segment_clients import name_in_segment, without_segment

if TYPE_CHECKING:
    from broker_core.client import Outbound
    from broker_core.names import TopicName
    from broker_core.scalable.layout import Layout, Segment
    from broker_core.scalable.segments import Attached
    from broker_core.wire.pulsar_api_pb2 import ScalableConsumerAssignment


_UNREGISTERED = "\ud800"  # stands for a connected consumer that is not registered; no name that a client sends has it


class GroupTopic(Protocol):
    """The topic of a group, as the group sees it."""

    @property
    def name(self) -> TopicName:
        """In its own domain."""

    @property
    def layout(self) -> Layout:
        """The current one."""

    def is_drained(self, segment: Segment, subscription: str) -> bool:
        """Whether the subscription has nothing left in a sealed segment."""

    def attached(self, segment: Segment, subscription: str) -> Attached:
        """The consumers that are connected to that subscription of the segment."""

    @property
    def shares_segments(self) -> bool:
        """Whether stream consumers share segments if there are not enough."""


class Told(NamedTuple):
    """What a client knows: the epoch, the IDs of the segments, and those of the shared ones."""

    epoch: int
    segments: list[int]
    shared: frozenset[int]


@dataclass(slots=True, eq=False)
class RegisteredConsumer:
    """A consumer that shares the segments with others; `outbound` is None while its connection is lost."""

    group: ConsumerGroup
    name: str
    outbound: Outbound | None = None
    consumer_id: int = 0
    told: Told | None = None  # the last assignment; None until the answer to its registration
    grace: asyncio.TimerHandle | None = None
    epoch: int = 0  # the epoch of the last layout; it never decreases, because clients ignore a lower one
    segments: list[Segment] = field(default_factory=list)
    shared: frozenset[int] = frozenset()  # the IDs of segments that it shares with others
    can_share: bool = True  # one that is expected is taken for one that can

    def belongs_to(self, outbound: Outbound, consumer_id: int) -> bool:
        """Whether that registration is the last one: another one may have taken the name."""
        return self.outbound is outbound and self.consumer_id == consumer_id

    def expel(self) -> None:
        """The client may consume no longer: it is told to give up all segments."""
        self.group.leave(self)
        self.segments, self.shared = [], frozenset()
        self._send_change()

    def assignment(self) -> ScalableConsumerAssignment:
        """The current one, which the caller sends."""
        self.told = self._now()
        return assignment_message(self.group.topic.name, self.epoch, self.segments, self.shared)

    def _now(self) -> Told:
        return Told(self.epoch, [segment.id for segment in self.segments], self.shared)

    def tell(self) -> None:
        """Sends the assignment if it has changed, once the client takes it: those in between are not kept."""
        if self.outbound is not None and self.outbound.writable:
            self._send_change()

    def _send_change(self) -> None:
        if self.outbound is not None and self.told is not None and self._now() != self.told:
            self.outbound.send(scalable_commands.assignment_update(self.consumer_id, self.assignment()))

    def cancel_grace(self) -> None:
        if self.grace is not None:
            self.grace.cancel()
            self.grace = None


class ConsumerGroup:
    def __init__(
        self,
        topic: GroupTopic,
        subscription: str,
        *,
        is_ordered: bool,
        grace_seconds: float,
        changed: Callable[[], None],
    ) -> None:
        """`is_ordered`: a segment is read after its parents, and its consumers give it up before others read it.

        `changed`: a consumer joined or left.
        """
        self.topic = topic
        self.subscription = subscription
        self.is_ordered = is_ordered
        self.consumers: dict[str, RegisteredConsumer] = {}
        self._grace_seconds = grace_seconds
        self._changed = changed
        self._sharers: dict[int, tuple[str, ...]] = {}  # who has each segment, or has yet to give it up
        self._lost: set[str] = set()  # topics of segments whose consumer lost its connection
        self._due: asyncio.Future[None] | None = None

    def join(self, name: str, outbound: Outbound, consumer_id: int, *, can_share: bool = False) -> RegisteredConsumer:
        """Registers a consumer, or replaces the one with that name.

        `assigned` and `RegisteredConsumer.assignment` follow. `can_share`: whether its client knows entry buckets.
        """
        consumer = self.consumers.get(name)
        if consumer is None:
            consumer = self.consumers[name] = RegisteredConsumer(self, name)
            self._changed()
        consumer.cancel_grace()
        consumer.outbound, consumer.consumer_id, consumer.told = outbound, consumer_id, None
        consumer.can_share = can_share
        if not self._sharers:  # the first has all, so that the others wait for what its client or theirs still reads
            self.assign()
        self.assign_soon()
        return consumer

    def expect(self, name: str) -> None:
        """A consumer that was registered before a restart of the broker may return."""
        if name not in self.consumers:
            consumer = self.consumers[name] = RegisteredConsumer(self, name)
            self.await_return(consumer)

    def disconnected(self, consumer: RegisteredConsumer, outbound: Outbound) -> None:
        """Its connection has ended. Another connection may have taken the name.

        A consumer that closed all its segments before is gone; one that did not may return.
        """
        if consumer.outbound is not outbound:
            return
        consumer.outbound = None
        if self.is_ordered and consumer.segments and all(map(self._is_given_up, consumer.segments)):
            self.leave(consumer)
        else:
            self.await_return(consumer)

    def segment_left(self, topic: str, *, lost: bool) -> None:
        """The consumer of a segment closed it, or lost its connection, which need not be that of its registration."""
        (self._lost.add if lost else self._lost.discard)(topic)

    def segment_busy(self, topic: str, consumer_name: str) -> None:
        """A consumer cannot open its segment, because another one, which may have yet to register, is connected.

        Its client does not try again, so it is told to give the segment up, and to read it once it is free.
        """
        consumer = self.consumers.get(without_segment(consumer_name))
        if consumer is None:
            return
        for segment in consumer.segments:
            named = name_in_segment(consumer.name, segment.id)
            if named == consumer_name and segment.topic_of(self.topic.name) == topic:
                self._sharers[segment.id] = (_UNREGISTERED,)
                self.assign_soon()

    def layout_changed(self) -> None:
        """Forgets segments that were removed, and shares the others again."""
        self._lost.intersection_update(
            segment.topic_of(self.topic.name) for segment in self.topic.layout.segments.values()
        )
        self.assign()

    def _is_given_up(self, segment: Segment) -> bool:
        return self._is_free(segment) and segment.topic_of(self.topic.name) not in self._lost

    def await_return(self, consumer: RegisteredConsumer) -> None:
        """The consumer leaves unless a client registers it again in time."""
        loop = asyncio.get_running_loop()
        consumer.grace = loop.call_later(self._grace_seconds, self.leave, consumer)

    def leave(self, consumer: RegisteredConsumer) -> None:
        consumer.cancel_grace()
        if self.consumers.get(consumer.name) is consumer:
            del self.consumers[consumer.name]
            self.assign_soon()
            self._changed()

    def assign_soon(self) -> asyncio.Future[None]:
        """`assign`, once for all changes of this iteration of the loop."""
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.create_future()
            loop.call_soon(self._assign_due, self._due)
        return self._due

    def _assign_due(self, due: asyncio.Future[None]) -> None:
        self._due = None
        if self.consumers:
            self.assign()
        due.set_result(None)

    async def assigned(self) -> None:
        """Waits until the segments are shared among all who have joined."""
        await asyncio.shield(self.assign_soon())

    def assign(self) -> None:
        """Shares the segments again. Call it when consumers or what is drained have changed."""
        layout = self.topic.layout
        segments = {segment.id: segment for segment in self._ready(layout)}
        wanted = spread({one.id: one.buckets for one in segments.values()}, self.consumers, self._able(), self._sharers)
        self._sharers = {segment_id: self._moved(segments[segment_id], names) for segment_id, names in wanted.items()}
        given: dict[str, list[Segment]] = {name: [] for name in self.consumers}
        shared = set()
        for segment_id, names in wanted.items():
            have = self._sharers[segment_id]
            if len(names) > 1 or len(have) > 1:
                shared.add(segment_id)
            for name in names:
                if name in have:
                    given[name].append(segments[segment_id])
        for name, consumer in self.consumers.items():
            consumer.epoch = max(consumer.epoch, layout.epoch)  # a topic that is created again starts at 0
            consumer.segments = given[name]
            consumer.shared = frozenset(shared.intersection(segment.id for segment in given[name]))
            consumer.tell()

    @property
    def is_sharing(self) -> bool:
        """Whether all consumers share segments if there are not enough."""
        return len(self._able()) == len(self.consumers)

    def _able(self) -> set[str]:
        """The consumers that can share segments."""
        if not self.is_ordered or not self.topic.shares_segments:
            return set()
        return {name for name, consumer in self.consumers.items() if consumer.can_share}

    def _ready(self, layout: Layout) -> list[Segment]:
        if not self.is_ordered:
            return sorted(layout.segments.values(), key=lambda segment: segment.order)
        sealed = (segment for segment in layout.segments.values() if not segment.is_active)
        return layout.ready({segment.id: self.topic.is_drained(segment, self.subscription) for segment in sealed})

    def _moved(self, segment: Segment, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """Who has a segment from now on. One that is not `wanted` any more has it until it has closed it."""
        have = self._sharers.get(segment.id, ())
        if not have or set(have) == set(wanted) or not self.is_ordered:
            return wanted
        attached = self.topic.attached(segment, self.subscription)
        if not attached.consumers:
            return wanted
        if attached.are_sharing:
            is_last = attached.consumers == 1 and wanted[0] in have
            return wanted if len(wanted) > 1 or is_last else have
        return have

    def _is_free(self, segment: Segment) -> bool:
        return not self.topic.attached(segment, self.subscription).consumers

    def close(self) -> None:
        for consumer in self.consumers.values():
            consumer.cancel_grace()
