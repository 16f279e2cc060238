"""The commands about scalable topics that the broker sends (PIP-468; docs/reference/protocol.md "Scalable topics")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import (
    BaseCommand,
    ScalableConsumerAssignment,
    ScalableTopicDAG,
)


def topic_update(session_id: int, layout: ScalableTopicDAG, topic: str) -> bytes:
    """SCALABLE_TOPIC_UPDATE: `topic` is the full name in the domain of scalable topics."""
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_UPDATE)
    update = command.scalableTopicUpdate
    update.session_id = session_id
    update.dag.CopyFrom(layout)
    update.resolved_topic_name = topic
    return frame(command)


def topic_update_failed(session_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_UPDATE)
    command.scalableTopicUpdate.session_id = session_id
    return _failed(command, command.scalableTopicUpdate, server_error, text)


def subscribed(request_id: int, assignment: ScalableConsumerAssignment) -> bytes:
    """SCALABLE_TOPIC_SUBSCRIBE_RESPONSE."""
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE)
    command.scalableTopicSubscribeResponse.request_id = request_id
    command.scalableTopicSubscribeResponse.assignment.CopyFrom(assignment)
    return frame(command)


def subscribe_failed(request_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE)
    command.scalableTopicSubscribeResponse.request_id = request_id
    return _failed(command, command.scalableTopicSubscribeResponse, server_error, text)


def assignment_update(consumer_id: int, assignment: ScalableConsumerAssignment) -> bytes:
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE)
    command.scalableTopicAssignmentUpdate.consumer_id = consumer_id
    command.scalableTopicAssignmentUpdate.assignment.CopyFrom(assignment)
    return frame(command)


def topics_snapshot(watch_id: int, topics: Iterable[str]) -> bytes:
    """WATCH_SCALABLE_TOPICS_UPDATE with all topics."""
    command = BaseCommand(type=BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE)
    command.watchScalableTopicsUpdate.watch_id = watch_id
    command.watchScalableTopicsUpdate.snapshot.topics.extend(topics)
    command.watchScalableTopicsUpdate.snapshot.SetInParent()  # also without topics
    return frame(command)


def topics_changed(watch_id: int, added: Iterable[str], removed: Iterable[str]) -> bytes:
    """WATCH_SCALABLE_TOPICS_UPDATE with the difference to what was sent before."""
    command = BaseCommand(type=BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE)
    command.watchScalableTopicsUpdate.watch_id = watch_id
    command.watchScalableTopicsUpdate.diff.added.extend(added)
    command.watchScalableTopicsUpdate.diff.removed.extend(removed)
    return frame(command)


def watch_failed(watch_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE)
    command.watchScalableTopicsUpdate.watch_id = watch_id
    return _failed(command, command.watchScalableTopicsUpdate, server_error, text)


def _failed(command: BaseCommand, body: Any, server_error: int, text: str) -> bytes:
    """`body`: the part of the command that has the error."""
    body.error, body.message = server_error, text
    return frame(command)
