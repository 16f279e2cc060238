"""The expiry of messages whose producers have different clocks."""

import time
from pathlib import Path

from broker_core.metadata.policies.values import RetentionPolicy
from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, send

TOPIC = "persistent://public/default/t"


def test_a_message_expires_after_one_of_a_producer_whose_clock_is_ahead(tmp_path: Path) -> None:
    now_ms = int(time.time() * 1000)
    with EmbeddedBroker(tmp_path) as broker, RawClient(broker.service_url) as client:
        subscribe(client, TOPIC, permits=0)
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        for number, publish_time in enumerate((now_ms + 600_000, now_ms - 60_000)):
            client.send(send(number, metadata={"publish_time": publish_time}))
            client.expect(BaseCommand.SEND_RECEIPT)
        client.send(client_commands.flow(1, 2))
        ahead, _ = receive(client, 2)
        client.send(client_commands.acknowledge(1, [ahead.message_id]))
        cursor = broker.call(broker.broker.topics.get(parse_topic(TOPIC))).subscriptions["s"].cursor
        wait_until(lambda: cursor.backlog_entries == 1, 10)
        namespace = NamespaceName("public", "default")
        retention = RetentionPolicy(-1, -1)  # the acknowledged message stays
        broker.call(broker.broker.tenancy.set_namespace_policies(namespace, ttl_seconds=1, retention=retention))
        wait_until(lambda: cursor.backlog_entries == 0, 10)
