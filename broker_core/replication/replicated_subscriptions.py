"""The replicated subscriptions of one topic (PIP-33), whose consumers can move to another cluster.

Positions differ between clusters, so brokers compare them by markers in the topic (`wire.markers`). While a
subscription is replicated, this part asks the other clusters for snapshots, answers theirs, and tells them when a
subscription passes one. It follows when another cluster tells that. It handles markers of other clusters when they are
on disk, not when a replicator reads them: the cluster that sent them may be gone by then.

One task asks, while there is something new: an idle topic writes no markers (docs/how-to/geo-replication.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import uuid4

from broker_core.errors import BrokerError
from broker_core.names import is_reserved_subscription
from broker_core.publishing.replication import MARKER_MESSAGES, MarkerSender
from broker_core.rates.backoff import Backoff
from broker_core.replication.passed_snapshots import PassedSnapshots
from broker_core.replication.snapshot_rounds import SnapshotRounds
from broker_core.storage.errors import StorageError
from broker_core.storage.records.position import Position
from broker_core.topic_context import TopicContext, TopicPart
from broker_core.wire import markers
from broker_core.wire.send import SendRun

if TYPE_CHECKING:
    from broker_core.replication.replicator import Replicator
    from broker_core.replication.services import ReplicationServices
    from broker_core.storage.cursor.cursor import ManagedCursor
    from broker_core.topic_log import PublishDone

log = logging.getLogger(__name__)


class Followed(Protocol):
    """A subscription of the topic."""

    @property
    def is_replicated(self) -> bool:
        """Whether other clusters should have the subscription, too."""

    async def follow(self, position: Position) -> None:
        """Acknowledges everything up to the position, and never moves back."""


class FollowedSubscriptions(Protocol):
    """The subscriptions of the topic."""

    def values(self) -> Collection[Followed]: ...

    async def open_replicated(self, name: str) -> Followed:
        """The subscription of that name, created at the earliest message if missing."""


class MarkerCalls(NamedTuple):
    """The calls that this part makes to its topic. `messages` is the number published; it only grows, from 0.

    `publish` appends a run, or raises a `BrokerError`. `expect_markers`: dispatchers look for markers from now on.
    """

    publish: Callable[[SendRun, PublishDone], None]
    messages: Callable[[], int]
    expect_markers: Callable[[], Awaitable[None]]
    subscriptions: Callable[[], FollowedSubscriptions]


class ReplicatedSubscriptions(TopicPart):
    def __init__(
        self,
        context: TopicContext,
        services: ReplicationServices,
        topic: MarkerCalls,
        replicators: Mapping[str, Replicator],
    ) -> None:
        self._context = context
        self._services = services
        self._topic = topic
        self._replicators = replicators
        config = services.config
        self._rounds = SnapshotRounds(config.snapshot_timeout_seconds, config.snapshots_cached)
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    # -- which subscriptions

    def may_replicate(self, name: str, *, requested: bool) -> bool:
        """Whether a subscription becomes replicated: with `enableReplicatedSubscriptions`, if a client wants it."""
        if requested and not self._services.config.subscriptions:
            log.warning(
                "topic %s: subscription %s is not replicated: enableReplicatedSubscriptions is false",
                self._context.name,
                name,
            )
        return requested and self._services.config.subscriptions

    def snapshots_of(self, name: str, cursor: ManagedCursor) -> PassedSnapshots:
        """The snapshots of a replicated subscription: what its dispatcher reads and its cursor passes."""

        def passed(elsewhere: markers.Positions) -> None:
            if self._replicators:
                self._write(markers.encode_update(markers.Update(name, elsewhere), self._now_ms()))

        return PassedSnapshots(cursor, self._services.config.snapshots_cached, passed)

    def changed(self) -> None:
        """A subscription or a replicator came or went: starts or stops asking for snapshots."""
        needed = (
            not self._closed
            and self._services.config.subscriptions
            and bool(self._replicators)
            and any(subscription.is_replicated for subscription in self._topic.subscriptions().values())
        )
        if needed and self._task is None:
            self._task = self._context.spawn(self._run())
        elif not needed and self._task is not None:
            self._stop(self._task)

    def _stop(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        self._task = None
        self._services.snapshots.pending -= self._rounds.clear()

    async def policies_changed(self) -> None:
        self.changed()

    async def close(self) -> None:
        self._closed = True
        self.changed()

    # -- asking

    @property
    def is_asking(self) -> bool:
        """Whether a snapshot is due, or waits for answers."""
        return self._task is not None and self._rounds.is_due(self._topic.messages())

    def wake(self) -> None:
        """There may be new messages. Hot path: called once per group of confirmed entries."""
        if self._task is not None:
            self._awake.set()

    async def _run(self) -> None:
        await self._expect_markers()
        while True:
            self._awake.clear()  # cleared before the checks, so that a later change wakes this loop
            if not self._rounds.is_due(self._topic.messages()):
                await self._awake.wait()
                continue
            self._ask()
            await asyncio.sleep(self._services.config.snapshot_ms / 1000)

    async def _expect_markers(self) -> None:
        """Tries until it succeeds: a disk that is full for a moment must not end the snapshots of this topic."""
        backoff = Backoff()
        while True:
            try:
                await self._topic.expect_markers()
                return
            except (BrokerError, StorageError) as error:
                self._failed(error)
            await asyncio.sleep(backoff.next_seconds())

    def _ask(self) -> None:
        """Ask for a snapshot; as in Pulsar, only while all other clusters are connected."""
        expired = self._rounds.expire(self._context.clock.monotonic())
        self._services.snapshots.pending -= expired
        self._services.snapshots.timed_out += expired
        messages, replicators = self._topic.messages(), list(self._replicators.values())
        connected = bool(replicators) and all(replicator.link is not None for replicator in replicators)
        if not connected or not self._rounds.may_begin(messages):
            return
        snapshot_id = str(uuid4())
        if self._request(snapshot_id):
            clusters = [replicator.cluster for replicator in replicators]
            self._rounds.begin(snapshot_id, clusters, self._context.clock.monotonic(), messages)
            self._services.snapshots.pending += 1
        else:
            self._rounds.skip(messages)

    def _request(self, snapshot_id: str) -> bool:
        request = markers.SnapshotRequest(snapshot_id, self._services.cluster)
        return self._write(markers.encode_request(request, self._now_ms()))

    # -- markers of other clusters

    def received(self, entry: bytes, position: Position, sender: MarkerSender) -> None:
        """A marker of another cluster is on disk, at that position."""
        if self._closed or not self._services.config.subscriptions:
            return
        marker = markers.parse_marker(entry)
        if isinstance(marker, markers.SnapshotRequest):
            self._answer(marker)
        elif isinstance(marker, markers.SnapshotResponse):
            self._answered(marker, position)
        elif isinstance(marker, markers.Update):
            self._apply_update(marker, sender)
        else:
            log.warning("topic %s: ignoring the marker at %s, which cannot be read", self._context.name, position)

    def _answer(self, request: markers.SnapshotRequest) -> None:
        """Everything up to the end of the topic reaches the other cluster before the answer does."""
        own = self._services.cluster
        if not self._replicates_to(request.source):
            log.warning(
                "topic %s: cannot answer cluster %s: the topic is not replicated to it",
                self._context.name,
                request.source,
            )
            return
        response = markers.SnapshotResponse(request.snapshot_id, own, self._context.log.visible_end)
        self._write(markers.encode_response(response, request.source, self._now_ms()))

    def _answered(self, response: markers.SnapshotResponse, position: Position) -> None:
        done = self._rounds.answered(response)
        if done is None:
            return
        if done.rounds_left:
            self._request(done.snapshot_id)
            return
        snapshot = markers.SnapshotMarker(done.snapshot_id, position, done.elsewhere)
        self._write(markers.encode_snapshot(snapshot, self._services.cluster, self._now_ms()))
        metrics = self._services.snapshots
        metrics.pending -= 1
        metrics.taken += 1
        metrics.taken_ms += (self._context.clock.monotonic() - done.started) * 1000

    def _replicates_to(self, cluster: str) -> bool:
        return any(replicator.cluster == cluster for replicator in self._replicators.values())

    def _apply_update(self, update: markers.Update, sender: MarkerSender) -> None:
        """Consumers in another cluster have acknowledged everything up to some position here.

        Any role that may produce can send a marker, so it also needs permission to consume.
        """
        here = update.elsewhere.get(self._services.cluster)
        if here is None or not update.subscription.strip() or is_reserved_subscription(update.subscription):
            return
        if not self._replicates_to(sender.cluster) or not sender.may_move(update.subscription):
            log.warning(
                "topic %s: subscription %s does not follow cluster %s, to which the topic is not replicated or whose"
                " role may not consume",
                self._context.name,
                update.subscription,
                sender.cluster,
            )
            return
        position = Position(*here)
        if position > self._context.log.last_confirmed:  # a position of an earlier life of this cluster
            log.warning(
                "topic %s: subscription %s does not follow another cluster to %s, which is after the end of the topic",
                self._context.name,
                update.subscription,
                position,
            )
            return
        self._context.spawn(self._follow(update.subscription, position))

    async def _follow(self, name: str, position: Position) -> None:
        """Follow an update; as in Pulsar, also with a subscription that is not replicated from here."""
        try:
            subscription = await self._topic.subscriptions().open_replicated(name)
            await subscription.follow(position)
        except (BrokerError, StorageError) as error:
            log.warning("topic %s: subscription %s cannot follow another cluster: %s", self._context.name, name, error)

    # -- writing

    def _write(self, entry: bytes) -> bool:
        """Returns whether the topic took the marker."""
        run = SendRun(0, entry, [0], [len(entry)], [b""], [MARKER_MESSAGES], [self._now_ms()])
        try:
            self._topic.publish(run, self._written)
        except BrokerError as error:
            self._failed(error)
            return False
        return True

    def _written(self, _: Position | None, error: StorageError | None) -> None:
        if error is not None:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        log.warning("topic %s: cannot write a marker of replicated subscriptions: %s", self._context.name, error)

    def _now_ms(self) -> int:
        return self._context.clock.wall_ms()
