"""What the official client does through a proxy."""

from __future__ import annotations

import pulsar

from broker_core.testing import EmbeddedBroker
from tests.support.running_proxy import RunningProxy, client_of, proxy_config

EARLIEST = pulsar.InitialPosition.Earliest


def test_messages_pass_in_both_directions(client: pulsar.Client, proxy: RunningProxy) -> None:
    consumer = client.subscribe("plain", "s", initial_position=EARLIEST)
    producer = client.create_producer("plain")
    large = bytes(range(256)) * 16_384  # 4 MiB
    sent = [b"small", large, b"last"]
    for value in sent:
        producer.send(value)
    received = [consumer.receive(5_000) for _ in sent]
    for message in received:
        consumer.acknowledge(message)
    assert [message.data() for message in received] == sent
    assert len(proxy.gateway.splices) == 1, "messages use one connection to the broker"


def test_a_reader_and_a_partitioned_topic_work(client: pulsar.Client, broker: EmbeddedBroker) -> None:
    broker.create_partitioned_topic("parted", 3)
    producer = client.create_producer("parted")
    for number in range(30):
        producer.send(b"%d" % number, partition_key=str(number))
    assert len(client.get_topic_partitions("parted")) == 3
    reader = client.create_reader("parted", pulsar.MessageId.earliest)
    assert sorted(int(reader.read_next(5_000).data()) for _ in range(30)) == list(range(30))


def test_a_pattern_finds_topics_through_the_proxy(client: pulsar.Client) -> None:
    client.create_producer("persistent://public/default/found-1").send(b"x")
    import re

    consumer = client.subscribe(re.compile("persistent://public/default/found-.*"), "s", initial_position=EARLIEST)
    assert consumer.receive(5_000).data() == b"x"


def test_a_schema_passes_through_the_proxy(client: pulsar.Client) -> None:
    class Order(pulsar.schema.Record):  # type: ignore[misc]  # the library has no types
        number = pulsar.schema.Integer()

    schema = pulsar.schema.AvroSchema(Order)
    consumer = client.subscribe("typed", "s", schema=schema, initial_position=EARLIEST)
    client.create_producer("typed", schema=schema).send(Order(number=7))
    assert consumer.receive(5_000).value().number == 7


def test_an_error_of_the_broker_reaches_the_client(client: pulsar.Client) -> None:
    try:
        client.create_producer("persistent://nowhere/none/t")
    except pulsar.exceptions.TopicNotFound:
        return
    raise AssertionError("the client did not learn that the namespace is missing")


def test_a_client_with_an_http_service_url_reaches_its_broker_through_the_proxy(proxy: RunningProxy) -> None:
    client = client_of(proxy.http_url)
    before = proxy.gateway.counts.new
    client.create_producer("over-http").send(b"x")
    assert proxy.gateway.counts.new > before, "the client connected to the broker itself"
    client.close()


def test_several_brokers_are_asked_in_turn_and_one_that_is_down_is_passed_over(broker: EmbeddedBroker) -> None:
    url = f"pulsar://localhost:1,{broker.service_url.removeprefix('pulsar://')}"
    with RunningProxy(proxy_config(broker, service_url=url)) as proxy:
        for topic in ("first", "second"):
            client = client_of(proxy.service_url)
            client.create_producer(topic).send(b"x")
            client.close()


def test_two_proxies_share_nothing(broker: EmbeddedBroker) -> None:
    """A client looks up its topic at one proxy and connects through the other, as behind a load balancer."""
    with RunningProxy(proxy_config(broker)) as one, RunningProxy(proxy_config(broker)) as other:
        url = f"{one.service_url},{other.service_url.removeprefix('pulsar://')}"
        client = client_of(url)
        for number in range(4):
            client.create_producer(f"shared-{number}").send(b"x")
        assert one.gateway.counts.new and other.gateway.counts.new
        client.close()
