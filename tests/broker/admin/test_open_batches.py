"""`internalStats` lists the batches of which only some messages are acknowledged."""

import json
from urllib.request import urlopen

import pulsar

from broker_core.testing import EmbeddedBroker

TOPIC = "persistent://public/default/partly-acknowledged"


def test_the_open_messages_of_a_batch_are_listed_as_bits(pulsar_broker: EmbeddedBroker) -> None:
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    consumer = client.subscribe(TOPIC, "s", pulsar.ConsumerType.Shared, batch_index_ack_enabled=True)
    producer = client.create_producer(TOPIC, batching_enabled=True, batching_max_publish_delay_ms=10_000)
    for number in range(4):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    received = [consumer.receive(10_000) for _ in range(4)]
    consumer.acknowledge(received[1])
    consumer.close()
    client.close()
    where = received[0].message_id()
    assert cursor(pulsar_broker, TOPIC)["openBatches"] == {f"{where.ledger_id()}:{where.entry_id()}": [0b1101]}


def test_a_cursor_without_such_batches_looks_as_in_pulsar(pulsar_broker: EmbeddedBroker) -> None:
    client = pulsar.Client(pulsar_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    client.subscribe(f"{TOPIC}-2", "s").close()
    client.close()
    assert "openBatches" not in cursor(pulsar_broker, f"{TOPIC}-2")


def cursor(broker: EmbeddedBroker, topic: str) -> dict[str, object]:
    path = topic.replace("://", "/")
    with urlopen(f"{broker.http_url}/admin/v2/{path}/internalStats", timeout=30) as answer:
        found: dict[str, object] = json.load(answer)["cursors"]["s"]
    return found
