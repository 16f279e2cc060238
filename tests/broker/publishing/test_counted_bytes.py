"""What a topic counts of the messages that its producers send."""

import json
import urllib.request

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

TOPIC = "persistent://public/default/counted"


def test_messages_that_arrive_together_are_counted_without_their_commands() -> None:
    with EmbeddedBroker() as broker, RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        client.send(b"".join(send(sequence_id, b"x" * 10) for sequence_id in range(20)))
        for _ in range(20):
            client.expect(BaseCommand.SEND_RECEIPT)
        url = f"{broker.http_url}/admin/v2/persistent/public/default/counted/stats"
        with urllib.request.urlopen(url, timeout=30) as answer:
            stats = json.load(answer)
    assert stats["msgInCounter"] == 20
    assert stats["bytesInCounter"] == stats["storageSize"]
