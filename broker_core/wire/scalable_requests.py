"""The commands about scalable topics that a client sends (PIP-468; docs/reference/protocol.md "Scalable topics")."""

from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import STREAM, BaseCommand


def lookup(session_id: int, topic: str, *, create: bool) -> bytes:
    """SCALABLE_TOPIC_LOOKUP, which opens a session. `create`: the broker may create a missing topic."""
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_LOOKUP)
    command.scalableTopicLookup.session_id = session_id
    command.scalableTopicLookup.topic = topic
    command.scalableTopicLookup.create_if_missing = create
    return frame(command)


def close_session(session_id: int) -> bytes:
    """SCALABLE_TOPIC_CLOSE, which has no answer."""
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_CLOSE)
    command.scalableTopicClose.session_id = session_id
    return frame(command)


def register(request_id: int, topic: str, subscription: str, consumer_name: str, consumer_id: int) -> bytes:
    """SCALABLE_TOPIC_SUBSCRIBE of a stream consumer."""
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_SUBSCRIBE)
    body = command.scalableTopicSubscribe
    body.request_id = request_id
    body.topic = topic
    body.subscription = subscription
    body.consumer_name = consumer_name
    body.consumer_id = consumer_id
    body.consumer_type = STREAM
    return frame(command)


def unregister(request_id: int, consumer_id: int) -> bytes:
    """SCALABLE_TOPIC_UNSUBSCRIBE, which 5.0.0-M1 does not know."""
    command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_UNSUBSCRIBE)
    command.scalableTopicUnsubscribe.request_id = request_id
    command.scalableTopicUnsubscribe.consumer_id = consumer_id
    return frame(command)
