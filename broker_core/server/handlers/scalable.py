"""SCALABLE_TOPIC_LOOKUP, _SUBSCRIBE, and their ends: the segments of a topic, and who reads them; and namespaces.

A lookup opens a session: the client gets the layout, and each new one until it closes the session. A subscribe
registers a consumer that gets its segments from the broker; it then subscribes to each of them like any consumer.
WATCH_SCALABLE_TOPICS tells which scalable topics a namespace has.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from broker_core.errors import NotAllowed
from broker_core.names import NamespaceName, parse_topic
from broker_core.scalable.layout_message import layout_message
from broker_core.scalable.layout_session import LayoutSession
from broker_core.scalable.namespace_watch import NamespaceWatch
from broker_core.scalable.topics import resolved
from broker_core.security.authorization import Target
from broker_core.server import needs
from broker_core.server.session import LOOKUP, SUBSCRIBE, Registration, Session, creation
from broker_core.wire import commands, scalable_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.client_versions import knows_entry_buckets

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from broker_core.names import TopicName
    from broker_core.scalable.group import RegisteredConsumer

SESSIONS_PER_CONNECTION = 1000
REGISTRATIONS_PER_CONNECTION = 1000
WATCHES_PER_CONNECTION = 100


def on_scalable_topic_lookup(session: Session, command: pb.CommandScalableTopicLookup) -> Coroutine[Any, Any, None]:
    """SCALABLE_TOPIC_LOOKUP: answered with SCALABLE_TOPIC_UPDATE, and again whenever the layout changes.

    The session exists from now on, so that a SCALABLE_TOPIC_CLOSE that comes before the answer ends it.
    """
    name = parse_topic(command.topic)
    _check_new_session(session, command.session_id)
    session.opening_layouts[command.session_id] = command
    return _open_layout(session, command, name)


async def _open_layout(session: Session, command: pb.CommandScalableTopicLookup, name: TopicName) -> None:
    scalable = session.broker.scalable
    try:
        await scalable.for_client(name, create=command.create_if_missing)
    finally:
        is_wanted = session.opening_layouts.get(command.session_id) is command
        if is_wanted:
            del session.opening_layouts[command.session_id]

    def layout() -> pb.ScalableTopicDAG:
        urls = session.broker.addresses(session.listener)
        over_tls = session.outbound.is_tls
        return layout_message(scalable.layout_of(name), urls.service_url, urls.service_url_tls, over_tls=over_tls)

    session.check_open()
    if not is_wanted:
        return
    session.check_allowed(LOOKUP, Target.of_topic(name), needs.LAYOUT.denial)  # it may have been revoked since
    view = LayoutSession(session.outbound, command.session_id, resolved(name), name, layout)
    session.layouts[command.session_id] = view
    scalable.follow(view)
    view.layout_changed()


def _check_new_session(session: Session, session_id: int) -> None:
    if session_id in session.layouts or session_id in session.opening_layouts:
        raise NotAllowed(f"Session {session_id} exists already")
    if len(session.layouts) + len(session.opening_layouts) >= SESSIONS_PER_CONNECTION:
        raise NotAllowed(f"A connection may have {SESSIONS_PER_CONNECTION} sessions of topics")


def on_scalable_topic_close(session: Session, command: pb.CommandScalableTopicClose) -> None:
    session.close_layout(command.session_id)


async def on_scalable_topic_subscribe(session: Session, command: pb.CommandScalableTopicSubscribe) -> bytes:
    """SCALABLE_TOPIC_SUBSCRIBE: answered with the segments of the consumer; changes follow as updates."""
    name = parse_topic(command.topic)
    with creation(session.registering, "Consumer", command.consumer_id, command.request_id) as check_wanted:
        await session.broker.scalable.prepare_group(name)
        session.check_open()
        check_wanted()
        target = Target.of_topic(name, command.subscription)
        session.check_allowed(SUBSCRIBE, target, needs.TO_SUBSCRIBE.denial)  # it may have been revoked since
        consumer = _registered(session, command, name)
        await consumer.group.assigned()
        check_wanted()
    return scalable_commands.subscribed(command.request_id, consumer.assignment())


def _registered(session: Session, command: pb.CommandScalableTopicSubscribe, name: TopicName) -> RegisteredConsumer:
    _check_new_registration(session, name, command)
    is_ordered = command.consumer_type == pb.STREAM
    group = session.broker.scalable.group(name, command.subscription, command.consumer_name, is_ordered=is_ordered)
    can_share = knows_entry_buckets(session.client_version)
    consumer = group.join(command.consumer_name, session.outbound, command.consumer_id, can_share=can_share)
    session.registered[command.consumer_id] = Registration(consumer, name)
    return consumer


def _check_new_registration(session: Session, name: TopicName, command: pb.CommandScalableTopicSubscribe) -> None:
    """A client that got no answer may register the same consumer again."""
    known = session.registered.get(command.consumer_id)
    if known is None:
        if len(session.registered) >= REGISTRATIONS_PER_CONNECTION:
            raise NotAllowed(f"A connection may have {REGISTRATIONS_PER_CONNECTION} registered consumers")
    elif (known.topic, known.subscription, known.consumer.name) != (name, command.subscription, command.consumer_name):
        raise NotAllowed(f"Consumer {command.consumer_id} is registered already")


async def on_scalable_topic_unsubscribe(session: Session, command: pb.CommandScalableTopicUnsubscribe) -> bytes:
    """SCALABLE_TOPIC_UNSUBSCRIBE: the consumer leaves at once; an unknown one has left already.

    It is a coroutine, as SCALABLE_TOPIC_SUBSCRIBE is, so that the one that came first begins first.
    """
    session.registering.pop(command.consumer_id, None)
    registration = session.registered.pop(command.consumer_id, None)
    if registration is not None and registration.consumer.belongs_to(session.outbound, command.consumer_id):
        registration.consumer.group.leave(registration.consumer)
    return commands.success(command.request_id)


def on_watch_scalable_topics(session: Session, command: pb.CommandWatchScalableTopics) -> Coroutine[Any, Any, None]:
    """WATCH_SCALABLE_TOPICS: answered with all topics, unless the client knows them; changes follow.

    The watch exists from now on, so that a WATCH_SCALABLE_TOPICS_CLOSE that comes before the answer ends it.
    """
    scalable = session.broker.scalable
    scalable.check_enabled()
    if command.watch_id in session.namespace_watches:
        raise NotAllowed(f"Watch {command.watch_id} exists already")
    if len(session.namespace_watches) >= WATCHES_PER_CONNECTION:
        raise NotAllowed(f"A connection may watch {WATCHES_PER_CONNECTION} namespaces")
    properties = {pair.key: pair.value for pair in command.property_filters}
    namespace = NamespaceName.parse(command.namespace)
    watch = NamespaceWatch(session.outbound, command.watch_id, namespace, properties, scalable.records)
    session.namespace_watches[command.watch_id] = watch
    return _start_watch(session, watch, command)


async def _start_watch(session: Session, watch: NamespaceWatch, command: pb.CommandWatchScalableTopics) -> None:
    """Each answer may have every name of a namespace, so a connection gets one at a time."""
    try:
        async with session.large_answer():
            await asyncio.sleep(0)  # other clients are served between two answers
            if session.namespace_watches.get(command.watch_id) is watch:
                session.broker.scalable.listeners.add(watch.topic_changed)
                watch.start(command.current_hash)
    except BaseException:
        if session.namespace_watches.get(command.watch_id) is watch:
            session.close_namespace_watch(command.watch_id)
        raise


def on_watch_scalable_topics_close(session: Session, command: pb.CommandWatchScalableTopicsClose) -> None:
    session.close_namespace_watch(command.watch_id)


def watch_failed(command: Any, server_error: int, reason: str) -> bytes:
    return scalable_commands.watch_failed(command.watch_id, server_error, reason)


def lookup_failed(command: Any, server_error: int, reason: str) -> bytes:
    return scalable_commands.topic_update_failed(command.session_id, server_error, reason)
