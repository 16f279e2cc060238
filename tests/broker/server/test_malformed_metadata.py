"""No message that a broker accepts keeps another command from being answered (docs/reference/protocol.md "Entries")."""

import asyncio
import contextlib
import json
from collections.abc import Iterator

import pytest

from broker_core.broker import Broker
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command
from broker_core.wire.message import add_checksum
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from broker_core.wire.send import SendRun
from tests.long.abuse.attackers import Requests
from tests.support.malformed_metadata import first_fields, parsed, tails
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer
from tests.support.send_frames import NOW_MS, send_frame

TOPIC = "persistent://public/default/malformed"


@pytest.fixture
def client(pulsar_broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        client.send(client_commands.subscribe(1, TOPIC, "s", 1, initial_position=pb.CommandSubscribe.Latest))
        client.expect(BaseCommand.SUCCESS)
        yield client


def entry_of(metadata: bytes) -> bytes:
    return add_checksum(len(metadata).to_bytes(4, "big") + metadata + b"payload")


async def store(broker: Broker, run: SendRun) -> None:
    """As if the decoder had accepted it."""
    stored = asyncio.Event()
    (await broker.topics.get(parse_topic(TOPIC))).publish(run, lambda *_: stored.set())
    await stored.wait()


def batch_index_of_last(client: RawClient) -> int:
    client.send(client_commands.get_last_message_id(1, 9))
    return int(client.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE).last_message_id.batch_index)


def test_whatever_metadata_is_accepted_the_last_message_id_is_answered(client: RawClient) -> None:
    for sequence_id, (name, tail) in enumerate(tails()):
        metadata = first_fields(sequence_id) + tail
        client.send(send_frame(1, sequence_id, entry_of(metadata)))
        answer = client.next()
        assert isinstance(answer, Command)
        if parsed(metadata) is None:
            assert (answer.type, answer.message.error) == (BaseCommand.SEND_ERROR, pb.MetadataError), name
        else:
            assert answer.type == BaseCommand.SEND_RECEIPT, name
            assert batch_index_of_last(client) in (-1, 0, 2, 4), name


@pytest.mark.parametrize("tail", [b"\x58\xff", b"\x22\x01", b"\x0b", b"\x58\x00"], ids=bytes.hex)
def test_an_entry_that_an_older_version_stored_has_an_id(
    pulsar_broker: EmbeddedBroker, client: RawClient, tail: bytes
) -> None:
    stored = entry_of(first_fields(1) + tail)
    run = SendRun(1, stored, [0], [len(stored)], [b"\x08\x01\x10\x01"], [1], [NOW_MS])
    pulsar_broker.call(store(pulsar_broker.broker, run))
    assert batch_index_of_last(client) == -1
    with contextlib.closing(Requests(pulsar_broker.http_url)) as requests:
        status, body = requests.ask("GET", f"/admin/v2/{TOPIC.replace('://', '/')}/lastMessageId")
    assert (status, json.loads(body)["batchIndex"]) == (200, -1)
