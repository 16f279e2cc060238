"""`ops replay` on the command line."""

import pulsar

from broker_core.testing import EmbeddedBroker
from tests.transfer.moved_topics import by_key, failed, ops


def publish(client: pulsar.Client, topic: str) -> list[pulsar.MessageId]:
    producer = client.create_producer(topic)
    return [producer.send(f"v{n}".encode(), {"n": str(n)}, partition_key=f"k{n % 2}") for n in range(6)]


def test_a_replay_keeps_keys_properties_and_order(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic)
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", "--rate", "1000")["sent"] == 6
    assert by_key(client, f"{topic}-2") == by_key(client, topic)


def test_only_unacknowledged_messages_of_one_key_are_replayed(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    publish(client, topic)
    consumer.acknowledge(consumer.receive(20_000))
    consumer.close()
    chosen = ("-s", "s", "-k", "k0")
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", *chosen, "--dry-run")["wouldSend"] == 2
    ops(pulsar_broker, "replay", topic, f"{topic}-2", *chosen)
    assert [row[0] for row in by_key(client, f"{topic}-2")["k0"]] == [b"v2", b"v4"]


def test_a_topic_is_not_replayed_into_itself(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    code, text = failed(pulsar_broker, "replay", topic, topic)
    assert (code, "into itself" in text) == (2, True)
