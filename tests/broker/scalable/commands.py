"""The commands about scalable topics for a `RawClient`."""

from typing import Any

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient


def framed(kind: BaseCommand.Type.ValueType, **fields: Any) -> bytes:
    command = BaseCommand(type=kind)
    body = getattr(command, BaseCommand.DESCRIPTOR.fields_by_number[kind].name)
    for name, value in fields.items():
        setattr(body, name, value)
    return frame(command)


def send(client: RawClient, kind: BaseCommand.Type.ValueType, **fields: Any) -> None:
    client.send(framed(kind, **fields))


def lookup(client: RawClient, topic: str, session_id: int = 1, **fields: Any) -> pb.CommandScalableTopicUpdate:
    """Opens a session; returns the first update, which may be an error."""
    send(client, BaseCommand.SCALABLE_TOPIC_LOOKUP, session_id=session_id, topic=topic, **fields)
    return update(client)


def update(client: RawClient) -> pb.CommandScalableTopicUpdate:
    answer = client.expect(BaseCommand.SCALABLE_TOPIC_UPDATE)
    assert isinstance(answer, pb.CommandScalableTopicUpdate)
    return answer


def register(
    client: RawClient, topic: str, subscription: str, name: str, consumer_id: int = 1, kind: int = pb.STREAM
) -> pb.CommandScalableTopicSubscribeResponse:
    """Registers a consumer; returns the answer, which may be an error."""
    fields = {"topic": topic, "subscription": subscription, "consumer_name": name, "consumer_id": consumer_id}
    send(client, BaseCommand.SCALABLE_TOPIC_SUBSCRIBE, request_id=1, consumer_type=kind, **fields)
    answer = client.expect(BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE)
    assert isinstance(answer, pb.CommandScalableTopicSubscribeResponse)
    return answer


def unregister(client: RawClient, consumer_id: int = 1) -> None:
    send(client, BaseCommand.SCALABLE_TOPIC_UNSUBSCRIBE, request_id=2, consumer_id=consumer_id)
    client.expect(BaseCommand.SUCCESS)


def assigned(message: Any) -> list[str]:
    """The topics in a response or in an update of an assignment, without the part that all have in common."""
    return [segment.segment_topic.rpartition("/")[2] for segment in message.assignment.segments]


def next_assignment(client: RawClient) -> list[str]:
    return assigned(client.expect(BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE))
