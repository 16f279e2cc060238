"""SUBSCRIBE, FLOW, CLOSE_CONSUMER, and received messages for a `RawClient`."""

from collections.abc import Iterable
from typing import Any

from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient


def subscribe(
    client: RawClient, topic: str, consumer_id: int = 1, *, name: str = "s", permits: int = 100, **fields: Any
) -> None:
    """Subscribes and gives permits; `fields` are those of `client_commands.subscribe`."""
    client.send(client_commands.subscribe(consumer_id, topic, name, consumer_id, **fields))
    client.expect(BaseCommand.SUCCESS)
    if permits:
        client.send(client_commands.flow(consumer_id, permits))


def receive(client: RawClient, count: int = 1) -> list[pb.CommandMessage]:
    return [client.expect(BaseCommand.MESSAGE) for _ in range(count)]


def entry_ids(messages: Iterable[pb.CommandMessage]) -> list[int]:
    return [message.message_id.entryId for message in messages]


def still_open(message_id: pb.MessageIdData, words: Iterable[int]) -> pb.MessageIdData:
    """The ID of a batch with an ack set: its set bits are the messages that are not acknowledged."""
    marked = commands.message_id(message_id.ledgerId, message_id.entryId)
    marked.ack_set.extend(words)
    return marked


def close_consumer(consumer_id: int = 1, request_id: int = 9) -> bytes:
    command = BaseCommand(type=BaseCommand.CLOSE_CONSUMER)
    command.close_consumer.consumer_id, command.close_consumer.request_id = consumer_id, request_id
    return frame(command)
