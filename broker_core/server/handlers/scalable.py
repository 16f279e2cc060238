"""SCALABLE_TOPIC_LOOKUP and _CLOSE, _SUBSCRIBE and _UNSUBSCRIBE: the segments of a topic, and who reads them.

A lookup opens a session: the client gets the layout, and each new one until it closes the session. A subscribe
registers a consumer that gets its segments from the broker; it then subscribes to each of them like any consumer.
"""

from __future__ import annotations

from typing import Any

from broker_core.errors import NotAllowed
from broker_core.names import parse_topic
from broker_core.scalable.layout_message import layout_message
from broker_core.scalable.layout_session import LayoutSession
from broker_core.scalable.topics import resolved
from broker_core.server.session import Session
from broker_core.wire import commands, scalable_commands
from broker_core.wire import pulsar_api_pb2 as pb

SESSIONS_PER_CONNECTION = 1000


async def on_scalable_topic_lookup(session: Session, command: pb.CommandScalableTopicLookup) -> None:
    """SCALABLE_TOPIC_LOOKUP: answered with SCALABLE_TOPIC_UPDATE, and again whenever the layout changes."""
    name = parse_topic(command.topic)
    scalable = session.broker.scalable
    if command.session_id in session.layouts:
        raise NotAllowed(f"Session {command.session_id} exists already")
    if len(session.layouts) >= SESSIONS_PER_CONNECTION:
        raise NotAllowed(f"A connection may have {SESSIONS_PER_CONNECTION} sessions of topics")
    await scalable.for_client(name, create=command.create_if_missing)

    def layout() -> pb.ScalableTopicDAG:
        urls = session.broker.addresses(session.listener)
        over_tls = session.outbound.is_tls
        return layout_message(scalable.layout_of(name), urls.service_url, urls.service_url_tls, over_tls=over_tls)

    session.check_open()
    view = LayoutSession(session.outbound, command.session_id, resolved(name), layout)
    session.layouts[command.session_id] = view
    scalable.follow(view)
    view.layout_changed()


def on_scalable_topic_close(session: Session, command: pb.CommandScalableTopicClose) -> None:
    session.close_layout(command.session_id)


async def on_scalable_topic_subscribe(session: Session, command: pb.CommandScalableTopicSubscribe) -> bytes:
    """SCALABLE_TOPIC_SUBSCRIBE: answered with the segments of the consumer; changes follow as updates."""
    group = await session.broker.scalable.group(
        parse_topic(command.topic), command.subscription, is_ordered=command.consumer_type == pb.STREAM
    )
    session.check_open()
    consumer = group.join(command.consumer_name, session.outbound, command.consumer_id)
    session.registered[command.consumer_id] = consumer
    return scalable_commands.subscribed(command.request_id, consumer.assignment())


def on_scalable_topic_unsubscribe(session: Session, command: pb.CommandScalableTopicUnsubscribe) -> bytes:
    """SCALABLE_TOPIC_UNSUBSCRIBE: the consumer leaves at once; an unknown one has left already."""
    consumer = session.registered.pop(command.consumer_id, None)
    if consumer is not None:
        consumer.group.leave(consumer)
    return commands.success(command.request_id)


def lookup_failed(command: Any, server_error: int, reason: str) -> bytes:
    return scalable_commands.topic_update_failed(command.session_id, server_error, reason)
