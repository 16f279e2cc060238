"""Table views and readers on every kind of topic."""

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.support.condition import wait_until

pytestmark = pytest.mark.feature("table_view", "reader")

SECONDS = 10.0


def put(client: pulsar.Client, topic: str, values: dict[str, bytes]) -> None:
    producer = client.create_producer(topic)
    for key, value in values.items():
        producer.send(value, partition_key=key)
    producer.close()


def test_a_table_view_has_the_last_value_of_each_key_and_follows(client: pulsar.Client, topic: str) -> None:
    put(client, topic, {"a": b"1", "b": b"1"})
    put(client, topic, {"a": b"2"})
    view = client.create_table_view(topic)
    assert (view.get("a"), view.get("b"), len(view)) == (b"2", b"1", 2)
    put(client, topic, {"b": b"3", "c": b"1"})
    wait_until(lambda: view.get("b") == b"3" and view.get("c") == b"1", SECONDS)
    view.close()


def test_a_table_view_of_a_partitioned_topic(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    values = {str(number): b"%d" % number for number in range(12)}
    put(client, topic, values)
    view = client.create_table_view(topic)
    assert {key: view.get(key) for key in values} == values
    view.close()


def test_a_reader_of_a_partitioned_topic_reads_all_of_it(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    """The client names its subscriptions `<topic>-multiTopicsReader-...`; the broker treats them like others."""
    pulsar_broker.create_partitioned_topic(topic, 3)
    values = {str(number): b"%d" % number for number in range(12)}
    put(client, topic, values)
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = set()
    while reader.has_message_available():
        found.add(reader.read_next(10_000).data())
    assert found == set(values.values())
    reader.close()
