"""SUBSCRIBE, FLOW, CONSUMER_STATS, UNSUBSCRIBE, CLOSE_CONSUMER."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable

from broker_core.clock import iso
from broker_core.dispatch.consumer import Consumer
from broker_core.dispatch.hash_ranges import AUTO_SPLIT, KeySharedMode
from broker_core.errors import (
    BrokerError,
    ConsumerAssignFailed,
    ConsumerBusy,
    ConsumerNotFound,
    MetadataFailed,
    NotAllowed,
    ProducerBusy,
    ProtocolViolation,
    TopicFenced,
    TopicMoved,
)
from broker_core.names import TopicName, is_reserved_subscription, parse_topic
from broker_core.security.authorization import Target
from broker_core.server import needs
from broker_core.server.handlers.schema import check_consumers_schema, takes_any_schema
from broker_core.server.handlers.seek import position_of
from broker_core.server.redirect import redirect_consumer
from broker_core.server.session import SUBSCRIBE, Attachment, Session, creation
from broker_core.storage.records.position import LATEST
from broker_core.topic.migration import TopicMigration
from broker_core.topic.subscription import Subscription
from broker_core.topic.subscription_type import EXCLUSIVE, FAILOVER, INDIVIDUAL_ACK_TYPES, KEY_SHARED, check_type
from broker_core.topic.topic import Topic
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb


async def on_subscribe(session: Session, command: pb.CommandSubscribe) -> bytes:
    """SUBSCRIBE: attaches a consumer. The broker sends nothing before its first FLOW."""
    name = parse_topic(command.topic)
    _check_request(command)
    if command.consumer_id in session.consumers:
        return commands.success(command.request_id)
    with creation(session.creating_consumers, "Consumer", command.consumer_id, command.request_id) as check_wanted:
        try:
            await _subscribe(session, command, name, check_wanted)
        except TopicMoved as moved:
            return redirect_consumer(session, moved, command.consumer_id)
    return commands.success(command.request_id)


async def _subscribe(
    session: Session, command: pb.CommandSubscribe, name: TopicName, check_wanted: Callable[[], None]
) -> None:
    topic = await session.broker.topics.for_client(name, create=command.force_topic_creation)
    await _check_here(session, topic, command)
    topic.check_room_for_consumer(session)
    topic.throttles.check_subscribe(session, command.consumer_name, command.consumer_id)
    check_type(topic.dispatch, command.subType)
    await check_consumers_schema(session, topic, command)
    _check_still_here(topic, command)
    subscription = await _subscription(session, topic, command)
    try:
        await _attach(session, topic, subscription, command, check_wanted)
    finally:
        await subscription.forget_unless_used()


async def _check_here(session: Session, topic: Topic, command: pb.CommandSubscribe) -> None:
    """Raises `TopicMoved` if the consumer belongs to another cluster, or `TopicFenced` while that is decided."""
    migration = topic.migration
    if not migration.is_running:
        return
    if command.durable:
        if not migration.delivers():
            await migration.ended()
        migration.check_consumable(command.subscription)
    elif not _knows_position(command):
        with contextlib.suppress(TopicFenced):  # a reader need not wait
            _check_reader(session, migration)


def _check_still_here(topic: Topic, command: pb.CommandSubscribe) -> None:
    """After a wait: the clients may have been sent away meanwhile, and nothing would tell this one."""
    if command.durable:
        topic.migration.check_consumable(command.subscription)


def _check_reader(session: Session, migration: TopicMigration) -> None:
    """Raises `TopicMoved` for a client that can follow; another one reads what is here."""
    try:
        migration.check_publishable()
    except TopicMoved as moved:
        if session.follows_to(moved.service_url, moved.service_url_tls):
            raise


def _knows_position(command: pb.CommandSubscribe) -> bool:
    """Whether it starts at a message, not at the earliest or the latest one: positions are those of this cluster."""
    if not command.HasField("start_message_id"):
        return False
    return 0 <= position_of(command.start_message_id).ledger_id < LATEST.ledger_id


def _check_request(command: pb.CommandSubscribe) -> None:
    name = command.subscription
    if not name.strip():
        raise ProducerBusy("Empty subscription name")
    if is_reserved_subscription(name):
        raise ProducerBusy(f"Subscription name {name} is reserved")
    if command.read_compacted and not parse_topic(command.topic).is_persistent:
        raise NotAllowed("readCompacted only valid on persistent topics")
    if command.read_compacted and command.subType not in (EXCLUSIVE, FAILOVER):
        raise NotAllowed("readCompacted only allowed on failover or exclusive subscriptions")


async def _subscription(session: Session, topic: Topic, command: pb.CommandSubscribe) -> Subscription:
    earliest = command.durable and command.initialPosition == pb.CommandSubscribe.Earliest
    is_new = command.subscription not in topic.subscriptions
    if command.durable and is_new:
        session.broker.topics.auto_creation.check_subscription(topic.name, command.subscription)
    start = None
    if not command.durable and command.HasField("start_message_id"):
        start = position_of(command.start_message_id)
    subscription = await topic.subscriptions.open(
        command.subscription,
        durable=command.durable,
        start=start,
        earliest=earliest,
        properties={pair.key: pair.value for pair in command.subscription_properties},
        replicated=command.replicate_subscription_state,
    )
    if is_new and command.durable:
        await session.broker.scalable.begin(topic.name, command.subscription, earliest=earliest)
    return subscription


async def _attach(
    session: Session,
    topic: Topic,
    subscription: Subscription,
    command: pb.CommandSubscribe,
    check_wanted: Callable[[], None],
) -> None:
    if command.start_message_rollback_duration_sec:  # also of a durable subscription with other consumers
        back_ms = command.start_message_rollback_duration_sec * 1000
        await subscription.reset_to_time(subscription.clock.wall_ms() - back_ms)
    consumer = Consumer(
        session,
        subscription,
        command.consumer_id,
        command.consumer_name or secrets.token_hex(5),
        priority=command.priority_level,
        read_compacted=command.read_compacted,
        metadata={pair.key: pair.value for pair in command.metadata},
        auto_consume=takes_any_schema(command),
        key_shared=_key_shared(command, has_buckets=session.broker.config.scalable.enabled),
    )
    if command.HasField("consumer_epoch") and command.subType not in INDIVIDUAL_ACK_TYPES:
        consumer.use_epoch(command.consumer_epoch)
    try:
        await subscription.add_consumer(consumer, command.subType)
    except ConsumerBusy:
        session.broker.scalable.segment_busy(subscription.topic_name, subscription.name, consumer.name)
        raise
    try:
        session.check_open()
        check_wanted()
        target = Target.of_topic(subscription.topic_name, subscription.name)
        session.check_allowed(SUBSCRIBE, target, needs.TO_SUBSCRIBE.denial)
        _check_still_here(topic, command)
    except BrokerError:
        await consumer.close()
        raise
    session.consumers[command.consumer_id] = Attachment(consumer, subscription)


def _key_shared(command: pb.CommandSubscribe, *, has_buckets: bool) -> KeySharedMode:
    """Raises `ConsumerAssignFailed`. `has_buckets`: whether the broker knows entry buckets."""
    if not command.HasField("keySharedMeta"):
        return AUTO_SPLIT
    meta = command.keySharedMeta
    mode = KeySharedMode(
        sticky=meta.keySharedMode == pb.STICKY,
        out_of_order=meta.allowOutOfOrderDelivery,
        ranges=tuple((bounds.start, bounds.end) for bounds in meta.hashRanges),
        buckets=meta.entryBucketDispatch and has_buckets and command.subType == KEY_SHARED,
    )
    if mode.buckets and (mode.out_of_order or not mode.sticky):
        raise ConsumerAssignFailed("Entry buckets are delivered in the mode STICKY, and in order")
    return mode


def on_flow(session: Session, command: pb.CommandFlow) -> None:
    if command.messagePermits <= 0:
        raise ProtocolViolation("FLOW with 0 permits")
    attached = session.consumers.get(command.consumer_id)
    if attached is not None:
        attached.consumer.flow(command.messagePermits)


def on_consumer_stats(session: Session, command: pb.CommandConsumerStats) -> bytes:
    attached = session.consumers.get(command.consumer_id)
    if attached is None:
        error = ConsumerNotFound(f"Consumer {command.consumer_id} not found")
        return commands.consumer_stats(command.request_id, error_code=error.server_error, error_message=error.reason)
    from broker_core.stats.subscription_stats import ConsumerStats  # few clients ask

    subscription, stats = attached.subscription, ConsumerStats.of(attached.consumer)
    return commands.consumer_stats(
        command.request_id,
        msgRateOut=stats.traffic.message_rate,
        msgThroughputOut=stats.traffic.byte_rate,
        msgRateRedeliver=stats.redelivery_rate,
        consumerName=stats.name,
        availablePermits=max(0, stats.permits),
        unackedMessages=stats.unacked_messages,
        blockedConsumerOnUnackedMsgs=stats.blocked,
        address=stats.address,
        connectedSince=iso(stats.connected_since_ms),
        type=subscription.delivery.type_name,
        msgRateExpired=subscription.expired.per_second()[0],
        msgBacklog=subscription.cursor.backlog_entries,
        messageAckRate=stats.ack_rate,
    )


async def on_unsubscribe(session: Session, command: pb.CommandUnsubscribe) -> bytes:
    attached = session.consumers.get(command.consumer_id)
    if attached is None:
        raise MetadataFailed(f"Consumer {command.consumer_id} not found")
    await attached.subscription.unsubscribe(attached.consumer, force=command.force)
    session.consumers.pop(command.consumer_id, None)
    return commands.success(command.request_id)


async def on_close_consumer(session: Session, command: pb.CommandCloseConsumer) -> bytes:
    """CLOSE_CONSUMER: answered once its acknowledgments are on disk."""
    session.creating_consumers.pop(command.consumer_id, None)
    attached = session.consumers.pop(command.consumer_id, None)
    if attached is not None:
        subscription = attached.subscription
        session.broker.scalable.segment_left(subscription.topic_name, subscription.name, lost=False)
        await attached.consumer.close()
    return commands.success(command.request_id)
