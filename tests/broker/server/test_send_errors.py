"""Refused SENDs: their error, and the effect on the connection and on the messages around them."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.broker import Broker
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send, send_batch, send_chunk

KEYS = [pb.EncryptionKeys(key="k", value=b"sealed")]
ENCRYPTED = {"encryption_keys": KEYS, "encryption_algo": "AES", "encryption_param": b"iv"}


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return f"persistent://public/default/{request.node.name.replace('[', '-').replace(']', '')}"


@pytest.fixture
def raw(pulsar_broker: EmbeddedBroker, topic: str) -> Iterator[RawClient]:
    with RawClient(pulsar_broker.service_url) as client:
        client.ask(producer(topic, encrypted=True), BaseCommand.PRODUCER_SUCCESS)
        yield client


def answers(client: RawClient, count: int) -> dict[int, int | None]:
    """Maps the sequence IDs of the next answers to their error, or None for a receipt."""
    found: dict[int, int | None] = {}
    for _ in range(count):
        item = client.next()
        assert isinstance(item, Command)
        found[item.message.sequence_id] = item.message.error if item.type == BaseCommand.SEND_ERROR else None
    return found


def set_policy(broker: EmbeddedBroker, topic: str, **fields: Any) -> None:
    async def change(broker: Broker) -> None:
        await broker.tenancy.topic_policies.set(parse_topic(topic), **fields)

    broker.call(change(broker.broker))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"txnid_least_bits": 1, "txnid_most_bits": 1}, pb.NotAllowedError),
        ({"marker": True}, pb.NotAllowedError),
        ({"message_id": pb.MessageIdData(ledgerId=1, entryId=1)}, pb.NotAllowedError),
    ],
    ids=["transaction", "marker", "shadow"],
)
def test_only_the_forbidden_send_is_refused(raw: RawClient, fields: dict[str, Any], error: int) -> None:
    raw.send(send(0) + send(1, **fields) + send(2))
    assert answers(raw, 3) == {0: None, 1: error, 2: None}


def test_a_highest_sequence_id_below_the_sequence_id_is_ignored(raw: RawClient) -> None:
    raw.send(send(5, highest_sequence_id=3))
    receipt = raw.expect(BaseCommand.SEND_RECEIPT)
    assert (receipt.sequence_id, receipt.highest_sequence_id) == (5, 0)


def test_only_the_message_over_the_topics_size_is_refused(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    set_policy(pulsar_broker, topic, max_message_size=1000)
    raw.send(send(0) + send(1, b"x" * 1000) + send(2) + send(3, b"x" * 2000) + send(4))
    assert answers(raw, 5) == {0: None, 1: pb.NotAllowedError, 2: None, 3: pb.NotAllowedError, 4: None}


def test_the_message_size_of_a_topic_does_not_limit_chunks(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    set_policy(pulsar_broker, topic, max_message_size=10)
    raw.send(send_chunk(0, 0, 2) + send_chunk(0, 1, 2))
    assert answers(raw, 2) == {0: None}


def test_without_its_own_size_a_topic_accepts_what_fits_in_a_frame(raw: RawClient) -> None:
    raw.send(send(0, b"x" * (5 * 1024 * 1024)))
    assert answers(raw, 1) == {0: None}


def test_a_frame_over_the_maximum_size_closes_the_connection(raw: RawClient) -> None:
    raw.send(send(0, b"x" * (5 * 1024 * 1024 + 10 * 1024))[:1000])
    assert raw.is_closed()


def test_with_required_encryption_only_plain_messages_are_refused(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    set_policy(pulsar_broker, topic, encryption_required=True)
    raw.send(send(0, metadata=ENCRYPTED) + send(1) + send(2, metadata=ENCRYPTED))
    assert answers(raw, 3) == {0: None, 1: pb.MetadataError, 2: None}


def test_with_required_encryption_plain_producers_are_refused(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    set_policy(pulsar_broker, topic, encryption_required=True)
    refused = raw.ask(producer(topic, producer_id=2), BaseCommand.ERROR)
    assert (refused.error, refused.message) == (pb.MetadataError, f"Encryption is required in {topic}")


def test_encrypted_messages_are_delivered_unchanged(raw: RawClient, topic: str) -> None:
    raw.send(client_commands.subscribe(1, topic, "s", 1))
    raw.expect(BaseCommand.SUCCESS)
    raw.send(client_commands.flow(1, 10))
    sent = send(0, b"\x00sealed", metadata=ENCRYPTED)
    raw.send(sent)
    found = [raw.next() for _ in range(2)]
    (entry,) = [item.entry for item in found if not isinstance(item, Command)]
    assert sent.endswith(entry)


def test_a_batch_has_one_receipt(raw: RawClient) -> None:
    raw.send(send_batch(3, 9))
    receipt = raw.expect(BaseCommand.SEND_RECEIPT)
    assert (receipt.sequence_id, receipt.highest_sequence_id) == (3, 9)


def test_a_send_after_the_broker_closed_its_producer_is_dropped_silently(
    pulsar_broker: EmbeddedBroker, raw: RawClient, topic: str
) -> None:
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
    raw.expect(BaseCommand.CLOSE_PRODUCER)
    raw.send(send(0) + send_chunk(1, 0, 1) + commands.ping())
    raw.expect(BaseCommand.PONG)


def test_a_send_for_an_unknown_producer_closes_the_connection(raw: RawClient) -> None:
    raw.send(send(0, producer_id=77))
    assert raw.is_closed()
