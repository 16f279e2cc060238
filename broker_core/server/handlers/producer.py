"""PRODUCER and CLOSE_PRODUCER: checks come first and in Pulsar's order; only then is the topic touched."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker_core.errors import MetadataFailed, NotAllowed, SubscriptionNotFound, TopicFenced, TopicMoved
from broker_core.names import TopicName, parse_topic
from broker_core.publishing.access import AccessMode
from broker_core.publishing.admission import AccessRequest
from broker_core.publishing.copy_producer import CopyProducer
from broker_core.publishing.policy_checks import check_producer
from broker_core.publishing.producer import Producer
from broker_core.publishing.replication import is_replicator
from broker_core.security.authorization import Target
from broker_core.server import needs
from broker_core.server.handlers.schema import version_for_producer
from broker_core.server.redirect import redirect_producer
from broker_core.server.session import PRODUCE, Session, creation
from broker_core.topic.topic import Topic
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb


async def on_producer(session: Session, command: pb.CommandProducer) -> bytes:
    """PRODUCER: attaches a producer to its topic, which is created if missing and allowed.

    A producer that waits for exclusive access gets an answer at once, and another one, with the same request ID, later.
    """
    name = parse_topic(command.topic)
    existing = session.producers.get(command.producer_id)
    if existing is not None:
        return _success(command, existing)
    with creation(session.creating_producers, "Producer", command.producer_id, command.request_id) as check_wanted:
        try:
            return await _create(session, command, name, check_wanted)
        except TopicMoved as moved:
            return redirect_producer(session, moved, command.producer_id)


async def _create(
    session: Session, command: pb.CommandProducer, topic_name: TopicName, check_wanted: Callable[[], None]
) -> bytes:
    from_replicator = is_replicator(command.producer_name)
    topic = await session.broker.topics.for_client(topic_name, from_replicator=from_replicator)
    await topic.migration.ended()
    topic.check_publishable()
    await topic.quotas.check_producer()
    check_producer(topic.name, topic.policies, encrypted=command.encrypted)
    schema_version = await version_for_producer(session, topic, command)
    await _initial_subscription(session, topic, command.initial_subscription_name)
    name = command.producer_name or await session.broker.new_producer_name()
    metadata = {pair.key: pair.value for pair in command.metadata}
    named = session.names_source_positions and is_replicator(name) and topic.name.is_persistent
    producer = (CopyProducer if named else topic.producer_type)(session, topic, command.producer_id, name, metadata)
    if producer.is_replicator:
        await topic.special_entries.expect_markers()
    producer.schema_version = schema_version
    producer.access_mode = AccessMode(command.producer_access_mode)
    epoch = await _attach(session, topic, command, producer, check_wanted)
    session.producers[command.producer_id] = producer
    session.closed_producers.pop(command.producer_id, None)
    last = await topic.deduplication.last_sequence_id(name)
    if session.producers.get(command.producer_id) is not producer:
        # It was closed during the wait. The client does not know the ID yet, so it has ignored CLOSE_PRODUCER.
        raise TopicFenced(f"Producer {name} was closed while it connected to {topic.name}; try again")
    return _success(command, producer, last_sequence_id=last, topic_epoch=epoch)


async def _initial_subscription(session: Session, topic: Topic, name: str) -> None:
    """Creates the subscription with the producer, so that it gets every message (for dead letter topics)."""
    if not name.strip() or name in topic.subscriptions or not topic.name.is_persistent:
        return
    try:
        session.broker.topics.auto_creation.check_subscription(topic.name, name)
    except SubscriptionNotFound as error:
        reason = "Could not create the initial subscription due to the auto subscription creation is not allowed."
        raise NotAllowed(reason) from error
    await topic.subscriptions.open(name, durable=True, start=None, earliest=True, properties={})


async def _attach(
    session: Session,
    topic: Topic,
    command: pb.CommandProducer,
    producer: Producer,
    check_wanted: Callable[[], None],
) -> int | None:
    """Attaches it as soon as its access mode allows. CLOSE_PRODUCER ends the wait."""

    def queued() -> None:
        withdrawn = MetadataFailed(f"Producer {command.producer_id} was closed while it waited")
        session.waiting_producers[command.producer_id] = partial(admission.withdraw, producer, withdrawn)
        session.outbound.send(_success(command, producer, ready=False))

    def check() -> None:
        session.check_open()
        check_wanted()
        session.check_allowed(PRODUCE, Target.of_topic(topic.name), needs.TO_PRODUCE.denial)

    admission = topic.admission
    epoch = command.topic_epoch if command.HasField("topic_epoch") else None
    request = AccessRequest(producer.access_mode, epoch, queued, check)
    try:
        return await admission.attach(producer, request)
    finally:
        session.waiting_producers.pop(command.producer_id, None)


def _success(
    command: pb.CommandProducer,
    producer: Producer,
    *,
    last_sequence_id: int = -1,
    topic_epoch: int | None = None,
    ready: bool = True,
) -> bytes:
    return commands.producer_success(
        command.request_id,
        producer.name,
        last_sequence_id=last_sequence_id,
        schema_version=producer.schema_version,
        topic_epoch=topic_epoch,
        producer_ready=ready,
    )


async def on_close_producer(session: Session, command: pb.CommandCloseProducer) -> bytes:
    """CLOSE_PRODUCER: answered after all its publishes. Then the name is free."""
    session.creating_producers.pop(command.producer_id, None)
    withdraw = session.waiting_producers.get(command.producer_id)
    if withdraw is not None:
        withdraw()
    producer = session.producers.pop(command.producer_id, None)
    if producer is not None:
        try:
            await producer.drained()
        finally:  # also if the connection breaks in the meantime
            producer.close()
    return commands.success(command.request_id)
