"""What a non-persistent topic drops and refuses on the wire."""

from collections.abc import Iterator

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.config.topic import TopicConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSendReceipt, ServerError
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

PREFIX = "non-persistent://public/default/"
NOWHERE = (1 << 64) - 1


@pytest.fixture
def raw() -> Iterator[RawClient]:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_non_persistent=1))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        yield raw


def test_messages_over_the_limit_are_dropped_with_a_receipt(raw: RawClient) -> None:
    for producer_id in (1, 2):
        raw.ask(producer(f"{PREFIX}busy", producer_id, producer_id), BaseCommand.PRODUCER_SUCCESS)
    # In one chunk: the second run arrives while the first is under way.
    raw.send(send(0, producer_id=1) + send(1, producer_id=2))
    receipts = [raw.expect(BaseCommand.SEND_RECEIPT) for _ in range(2)]
    assert {receipt.sequence_id: is_dropped(receipt) for receipt in receipts} == {0: False, 1: True}
    raw.send(send(9))
    assert not is_dropped(raw.expect(BaseCommand.SEND_RECEIPT))


def test_a_receipt_of_a_non_persistent_topic_has_no_position(raw: RawClient) -> None:
    raw.ask(producer(f"{PREFIX}once"), BaseCommand.PRODUCER_SUCCESS)
    raw.send(send(0) + send(1))
    ids = [raw.expect(BaseCommand.SEND_RECEIPT).message_id for _ in range(2)]
    assert [(one.ledgerId, one.entryId) for one in ids] == [(0, 0), (0, 0)]


def is_dropped(receipt: CommandSendReceipt) -> bool:
    return (receipt.message_id.ledgerId, receipt.message_id.entryId) == (NOWHERE, NOWHERE)


def test_reading_compacted_is_refused(raw: RawClient) -> None:
    raw.send(client_commands.subscribe(7, f"{PREFIX}t", "s", 1, read_compacted=True))
    assert raw.expect(BaseCommand.ERROR).error == ServerError.NotAllowedError


def test_non_persistent_topics_can_be_disabled() -> None:
    config = BrokerConfig(server=FREE_PORTS, topics=TopicConfig(non_persistent=False))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as raw:
        refused = raw.ask(producer(f"{PREFIX}t"), BaseCommand.ERROR)
    assert refused.error == ServerError.NotAllowedError
