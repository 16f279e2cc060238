"""The state of one client connection, without I/O.

The state machine is data (`TRANSITIONS`, `ACCEPTED`). A command that the state does not accept is a protocol violation,
which always closes the connection (Pulsar binary protocol, "Connection establishment").
Producer and consumer ids are the client's, unique per connection, in two separate spaces.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from broker_core.client_log import ClientLog
from broker_core.errors import (
    BrokerError,
    MetadataFailed,
    ProtocolViolation,
    TooManyRequests,
    TopicFenced,
    Unauthorized,
)
from broker_core.rates.time_slices import gathered, sliced
from broker_core.security.authorization import Target
from broker_core.security.operations import Operation, on_namespace, on_topic
from broker_core.storage.errors import StorageError
from broker_core.wire import pulsar_api_pb2 as pb

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.client import Outbound
    from broker_core.dispatch.consumer import Consumer
    from broker_core.names import TopicName
    from broker_core.publishing.producer import Producer
    from broker_core.scalable.group import RegisteredConsumer
    from broker_core.scalable.layout_session import LayoutSession
    from broker_core.scalable.namespace_watch import NamespaceWatch
    from broker_core.security.principal import Principal
    from broker_core.security.refresh import Refresh
    from broker_core.topic.subscription import Subscription
    from broker_core.topics.watcher import TopicListWatcher

log = ClientLog(__name__)

CONNECT, AUTH_RESPONSE = pb.BaseCommand.CONNECT, pb.BaseCommand.AUTH_RESPONSE
ASSIGNED_BROKER_VERSION = 21  # version of the protocol
TOPIC_MIGRATED_VERSION = 20
PRODUCE, SUBSCRIBE, GET_TOPICS = on_topic("PRODUCE"), on_topic("CONSUME"), on_namespace("GET_TOPICS")
LOOKUP = on_topic("LOOKUP")
LARGE_ANSWER_SECONDS = 60.0  # keep-alive ends the connection of a client that takes nothing


class Registration(NamedTuple):
    """A consumer that this connection registered, and the topic as the client named it."""

    consumer: RegisteredConsumer
    topic: TopicName

    @property
    def subscription(self) -> str:
        return self.consumer.group.subscription


class SessionState(enum.Enum):
    """`AUTHENTICATING`: CONNECT is being judged. `REFUSED`: it failed, and the next request learns why."""

    NEW = "new"
    AUTHENTICATING = "authenticating"
    REFUSED = "refused"
    READY = "ready"
    CLOSED = "closed"


TRANSITIONS: dict[SessionState, frozenset[SessionState]] = {
    SessionState.NEW: frozenset({SessionState.AUTHENTICATING, SessionState.READY, SessionState.CLOSED}),
    SessionState.AUTHENTICATING: frozenset({SessionState.READY, SessionState.REFUSED, SessionState.CLOSED}),
    SessionState.REFUSED: frozenset({SessionState.CLOSED}),
    SessionState.READY: frozenset({SessionState.CLOSED}),
    SessionState.CLOSED: frozenset(),
}
ACCEPTED: dict[SessionState, frozenset[int]] = {
    SessionState.NEW: frozenset({CONNECT, AUTH_RESPONSE}),
    SessionState.AUTHENTICATING: frozenset(),
    SessionState.REFUSED: frozenset(pb.BaseCommand.Type.values()) - {CONNECT},
    SessionState.READY: frozenset(pb.BaseCommand.Type.values()) - {CONNECT},
    SessionState.CLOSED: frozenset(),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attachment:
    """The consumer that an id of this connection stands for."""

    consumer: Consumer
    subscription: Subscription


class Session:
    def __init__(self, broker: Broker, outbound: Outbound, address: str) -> None:
        self.broker = broker
        self.outbound = outbound
        self.address = address
        self.listener = ""  # the listener of the address that the client used
        self._state = SessionState.NEW
        self.client_version = ""
        self.principal: Principal | None = None
        self.refusal: BrokerError | None = None  # why authentication failed
        self.refresh: Refresh | None = None  # set for credentials that expire
        self.is_proxied = False  # the client came through a proxy, which is at `address`
        self.protocol_version = 0
        self.takes_broker_metadata = False
        self.names_source_positions = False  # a replicator that tells its copies apart (`publishing.copy_producer`)
        self.producers: dict[int, Producer] = {}
        self.consumers: dict[int, Attachment] = {}
        # Id -> request id of a running creation: a second one for that id is refused, and a CLOSE ends it.
        self.creating_producers: dict[int, int] = {}
        self.creating_consumers: dict[int, int] = {}
        # Producers that wait for exclusive access: what a CLOSE calls.
        self.waiting_producers: dict[int, Callable[[], None]] = {}
        # Producers that the broker closed, and when (monotonic): their SENDs on the way are not a violation.
        self.closed_producers: dict[int, float] = {}
        self.watchers: dict[int, TopicListWatcher] = {}
        self.layouts: dict[int, LayoutSession] = {}  # by session ID
        self.opening_layouts: dict[int, pb.CommandScalableTopicLookup] = {}  # by session ID: not answered yet
        self.namespace_watches: dict[int, NamespaceWatch] = {}
        self.registering: dict[int, int] = {}  # like `creating_consumers`, of registered consumers
        self.registered: dict[int, Registration] = {}  # by consumer ID
        self.non_persistent_messages = 0  # messages of non-persistent topics in transit
        self.max_non_persistent = broker.config.connection.max_non_persistent
        self._large_answers = asyncio.Lock()
        self._drained: asyncio.Event | None = None

    @property
    def host(self) -> str:
        """The address without its port."""
        return self.address.rpartition(":")[0]

    @property
    def is_closed(self) -> bool:
        return self._state is SessionState.CLOSED

    def check_open(self) -> None:
        """Raises `ProtocolViolation` if the client left during an await."""
        if self.is_closed:
            raise ProtocolViolation(f"the connection of {self.address} was closed meanwhile")

    def hint(self, served_at: str) -> str:
        """The address of the next broker of a topic, if this client understands it (PIP-307).

        It is the plain one, so a client that came by TLS looks the topic up.
        """
        return served_at if self.protocol_version >= ASSIGNED_BROKER_VERSION and not self.outbound.is_tls else ""

    def follows_to(self, service_url: str, service_url_tls: str) -> bool:
        """Whether it understands TOPIC_MIGRATED (PIP-188), and can use one of the addresses."""
        url = service_url_tls if self.outbound.is_tls else service_url
        return bool(url) and self.protocol_version >= TOPIC_MIGRATED_VERSION

    @property
    def state(self) -> SessionState:
        return self._state

    def become(self, state: SessionState) -> None:
        if state not in TRANSITIONS[self._state]:
            raise ProtocolViolation(f"a connection that is {self._state.value} cannot become {state.value}")
        self._state = state

    def check_accepts(self, command_type: int) -> None:
        """Raises `ProtocolViolation` unless this state accepts the command."""
        if command_type not in ACCEPTED[self._state]:
            name = pb.BaseCommand.Type.Name(command_type)  # type: ignore[arg-type]  # enum values are ints here
            raise ProtocolViolation(f"{name} is not accepted while the connection is {self._state.value}")

    def forget_consumer(self, consumer_id: int) -> None:
        self.consumers.pop(consumer_id, None)

    def forget_producer(self, producer_id: int) -> None:
        """Drops SENDs that are already in transit, for at least a keep-alive interval."""
        self.producers.pop(producer_id, None)
        closed, now = self.closed_producers, self.broker.clock.monotonic()
        closed.pop(producer_id, None)
        closed[producer_id] = now
        while closed[oldest := next(iter(closed))] < now - self.broker.config.connection.keep_alive_seconds:
            del closed[oldest]

    @contextlib.asynccontextmanager
    async def large_answer(self) -> AsyncIterator[None]:
        """Allows one large answer at a time, once the client has read everything sent before."""
        try:
            async with asyncio.timeout(LARGE_ANSWER_SECONDS), self._large_answers:
                while not self.outbound.writable:
                    self._drained = self._drained or asyncio.Event()
                    await self._drained.wait()
                yield
        except TimeoutError:
            raise TooManyRequests("The client does not take the answers to its requests") from None

    def on_writable(self) -> None:
        """The socket drained: consumers and watchers with more to send continue."""
        if self._drained is not None:
            self._drained.set()
            self._drained = None
        for attached in self.consumers.values():
            attached.consumer.on_writable()
        for watcher in self.watchers.values():
            watcher.on_writable()
        for layout in self.layouts.values():
            layout.on_writable()
        for watch in self.namespace_watches.values():
            watch.on_writable()
        for registration in self.registered.values():
            registration.consumer.tell()

    def watch(self, watcher_id: int, watcher: TopicListWatcher) -> None:
        self.watchers[watcher_id] = watcher
        self.broker.topics.listeners.add(watcher.topic_changed)

    def unwatch(self, watcher_id: int) -> None:
        watcher = self.watchers.pop(watcher_id, None)
        if watcher is not None:
            self.broker.topics.listeners.discard(watcher.topic_changed)
            watcher.close()

    def close_namespace_watch(self, watch_id: int) -> None:
        watch = self.namespace_watches.pop(watch_id, None)
        if watch is not None:
            self.broker.scalable.listeners.discard(watch.topic_changed)
            watch.close()

    def close_layout(self, session_id: int) -> None:
        self.opening_layouts.pop(session_id, None)
        layout = self.layouts.pop(session_id, None)
        if layout is not None:
            self.broker.scalable.unfollow(layout)

    def forget_registered(self) -> None:
        """The connection is lost: registered consumers have a grace period to return on another one."""
        for registration in self.registered.values():
            registration.consumer.group.disconnected(registration.consumer, self.outbound)
        self.registered.clear()

    def check_allowed(self, operation: Operation, target: Target, denial: str) -> None:
        """Raises `Unauthorized` with `denial` unless the client's role may do it now."""
        security = self.broker.security
        if security.authorization is None:
            return
        decision = security.authorization.decide(self.principal, operation, target)
        if not decision.allowed:
            security.audit.denied(self.principal, str(operation), str(target), decision.rule, self.address)
            raise Unauthorized(denial)

    async def permissions_changed(self) -> None:
        """Closes what the client's role may no longer have.

        Registered consumers end before their consumers of segments, so that these do not get the segments again.
        """
        for producer in list(self.producers.values()):
            if not self._may(PRODUCE, Target.of_topic(producer.topic.name)):
                producer.disconnect()
        for watcher_id, watcher in list(self.watchers.items()):
            if not self._may(GET_TOPICS, Target.of_namespace(watcher.namespace)):
                self.unwatch(watcher_id)
        for watch_id, watch in list(self.namespace_watches.items()):
            if not self._may(GET_TOPICS, Target.of_namespace(watch.namespace)):
                self.close_namespace_watch(watch_id)
                watch.failed(Unauthorized("Client is not authorized to watch scalable topics"))
        for session_id, layout in list(self.layouts.items()):
            if not self._may(LOOKUP, Target.of_topic(layout.asked)):
                self.close_layout(session_id)
                layout.failed(Unauthorized("Client is not authorized to Lookup"))
        for consumer_id, registered in list(self.registered.items()):
            if not self._may(SUBSCRIBE, Target.of_topic(registered.topic, registered.subscription)):
                del self.registered[consumer_id]
                if registered.consumer.belongs_to(self.outbound, consumer_id):
                    registered.consumer.expel()
        for attached in list(self.consumers.values()):
            subscription = attached.subscription
            if not self._may(SUBSCRIBE, Target.of_topic(subscription.topic_name, subscription.name)):
                await attached.consumer.disconnect()

    def may_move(self, topic: TopicName, subscription: str) -> bool:
        return self._may(SUBSCRIBE, Target.of_topic(topic, subscription))

    def _may(self, operation: Operation, target: Target) -> bool:
        return self.broker.security.decide(self.principal, operation, target).allowed

    async def release(self) -> None:
        """Closes producers, then consumers, after the connection is lost, so that messages can be redelivered."""
        if self.refresh is not None:
            self.refresh.cancel()
            self.refresh = None
        for watcher_id in list(self.watchers):
            self.unwatch(watcher_id)
        for session_id in list(self.layouts):
            self.close_layout(session_id)
        for watch_id in list(self.namespace_watches):
            self.close_namespace_watch(watch_id)
        self.forget_registered()
        for producer in list(self.producers.values()):
            producer.close()
        self.producers.clear()
        attached, self.consumers = list(self.consumers.values()), {}
        # All of them leave before the first one waits for the disk, or fails.
        leaving = [one.consumer async for one in sliced(attached) if self._lose(one)]
        await gathered(leaving, self._flush)

    def _lose(self, attached: Attachment) -> bool:
        subscription = attached.subscription
        self.broker.scalable.segment_left(subscription.topic_name, subscription.name, lost=True)
        return attached.consumer.leave()

    async def _flush(self, consumer: Consumer) -> None:
        try:
            await consumer.flush()
        except StorageError as error:
            log.warning(self.host, "", "consumer %s: its acknowledgments are not synced: %s", consumer.name, error)


@contextlib.contextmanager
def creation(creating: dict[int, int], kind: str, identity: int, request_id: int) -> Iterator[Callable[[], None]]:
    """Marks a creation that takes its time; what it yields raises when a CLOSE has come meanwhile."""
    if identity in creating:
        raise TopicFenced(f"{kind} {identity} is already being created; try again")
    creating[identity] = request_id

    def check_wanted() -> None:
        if creating.get(identity) != request_id:
            raise MetadataFailed(f"{kind} {identity} was closed while it was being created")

    try:
        yield check_wanted
    finally:
        if creating.get(identity) == request_id:
            del creating[identity]
