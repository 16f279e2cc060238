"""Markers of replicated subscriptions (PIP-33), which any producer can send, from roles that may not consume."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.markers import Update, encode_update
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandPing, CommandProducer
from tests.support.loaded_topics import loaded
from tests.support.secured import NAMESPACE, PLAIN, ask, close_clients, config, connect, prepare, raw


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as found:
        prepare(found)
        path = f"persistent/{NAMESPACE}/plain/subscription/victim"
        assert ask(found, "PUT", path, {"ledgerId": -1, "entryId": -1}).status == 204
        client = connect(found, "producer")
        producer = client.create_producer(PLAIN)
        for number in range(10):
            producer.send(b"%d" % number)
        client.close()
        yield found
        close_clients()


@pytest.mark.parametrize("subscription", ["victim", "new"])
def test_a_marker_of_a_role_that_may_only_produce_moves_and_creates_no_subscription(
    broker: EmbeddedBroker, subscription: str
) -> None:
    topic = loaded(broker, PLAIN)
    before = topic.subscriptions["victim"].cursor.mark_delete
    client = raw(broker, "producer")
    body = CommandProducer(topic=PLAIN, producer_id=1, request_id=1, producer_name=f"pulsar.repl.{subscription}")
    client.send(frame(BaseCommand(type=BaseCommand.PRODUCER, producer=body)))
    client.expect(BaseCommand.PRODUCER_SUCCESS)
    marker = encode_update(Update(subscription, {"standalone": topic.ledger.last_confirmed}), 1)
    client.send(client_commands.send(1, 0, marker, is_marker=True))
    client.expect(BaseCommand.SEND_RECEIPT)
    client.send(frame(BaseCommand(type=BaseCommand.PING, ping=CommandPing())))
    client.expect(BaseCommand.PONG)
    assert ask(broker, "GET", f"persistent/{NAMESPACE}/plain/subscriptions").json == ["victim"]
    assert topic.subscriptions["victim"].cursor.mark_delete == before
