"""Publish and subscribe rates as an official client meets them: slower, never refused where Pulsar does not refuse."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pulsar
import pytest

from broker_core.config import BrokerConfig
from broker_core.config_features import RateConfig
from broker_core.policy_values import PublishRate, SubscribeRate
from broker_core.stats import topic_stats
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests import official_client
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.policies import loaded, set_namespace_policies, set_topic_policies
from tests.raw_client import RawClient
from tests.raw_publishing import close_producer, producer, send


@pytest.fixture(autouse=True)
def no_policies(pulsar_broker: EmbeddedBroker, topic: str) -> Iterator[None]:
    yield
    set_namespace_policies(pulsar_broker, topic, publish_rate=None, subscribe_rate=None)


def seconds_to_publish(client: pulsar.Client, topic: str, messages: int, size: int = 1) -> float:
    """From the first message until all have receipts."""
    producer = client.create_producer(topic, block_if_queue_full=True, batching_enabled=False)
    start = time.monotonic()
    for _ in range(messages):
        producer.send_async(b"x" * size, lambda result, message_id: None)
    producer.flush()
    took = time.monotonic() - start
    producer.close()
    return took


def published_within(url: str, topic: str, seconds: float, payload: bytes) -> int:
    """How many messages get a receipt in that time, from a client that always has more to send, on its connection."""
    client = official_client.connect(url)
    sending = client.create_producer(topic, max_pending_messages=1000, block_if_queue_full=True, batching_enabled=False)
    receipts, ended = [0], threading.Event()

    def received(result: pulsar.Result, _: object) -> None:
        receipts[0] += 1

    def send() -> None:
        while not ended.is_set():
            sending.send_async(payload, received)

    sender = threading.Thread(target=send)
    sender.start()
    ended.wait(seconds)
    counted = receipts[0]
    ended.set()
    sender.join()
    client.shutdown()  # without a word to the broker: the connection is not read while it is held back
    return counted


def test_a_topic_takes_no_more_messages_than_its_publish_rate(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, publish_rate=PublishRate(40, -1))
    assert seconds_to_publish(client, topic, 30) > 0.45  # 10 at once, 20 at 40 a second
    assert loaded(pulsar_broker, topic).throttles.publishes_held > 0


def test_a_topic_takes_no_more_bytes_than_its_publish_rate(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, publish_rate=PublishRate(-1, 40_000))
    assert seconds_to_publish(client, topic, 30, size=1000) > 0.45


def test_messages_that_were_held_back_keep_their_order(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_namespace_policies(pulsar_broker, topic, publish_rate=PublishRate(100, -1))
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=False)
    for index in range(60):
        producer.send_async(str(index).encode(), lambda result, message_id: None)
    received = [int(consumer.receive(TIMEOUT_MS).data()) for _ in range(60)]
    assert received == list(range(60))


def test_a_rate_that_is_removed_lets_go_what_it_held(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, publish_rate=PublishRate(1, -1))
    producer = client.create_producer(topic, batching_enabled=False)
    for _ in range(100):
        producer.send_async(b"x", lambda result, message_id: None)
    set_topic_policies(pulsar_broker, topic, publish_rate=None)
    producer.flush()  # would take 99 seconds


def test_a_producer_that_closes_gets_its_receipts_before_the_answer(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    set_topic_policies(pulsar_broker, topic, publish_rate=PublishRate(1, -1))
    with RawClient(pulsar_broker.service_url) as raw:
        raw.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
        raw.send(b"".join(send(index) for index in range(20)) + close_producer())  # one chunk
        receipts = [raw.expect(BaseCommand.SEND_RECEIPT).sequence_id for _ in range(20)]
        assert receipts == list(range(20))
        raw.expect(BaseCommand.SUCCESS)


def test_all_topics_together_take_no_more_than_the_publish_rate_of_the_broker() -> None:
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, rates=RateConfig(broker_publish_messages=40))) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        assert seconds_to_publish(client, "one", 15) + seconds_to_publish(client, "two", 15) > 0.45
        client.close()


def test_a_consumer_that_subscribes_too_often_is_refused_until_its_period_goes_on(
    pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_namespace_policies(pulsar_broker, topic, subscribe_rate=SubscribeRate(1, 600))
    with RawClient(pulsar_broker.service_url) as raw:
        raw.ask(subscribing(topic, 1), BaseCommand.SUCCESS)
        raw.ask(closing(1), BaseCommand.SUCCESS)
        refused = raw.ask(subscribing(topic, 1), BaseCommand.ERROR)
        assert refused.error == pb.NotAllowedError
        assert refused.message == "Subscribe limited by subscribe rate limit per consumer."
        raw.ask(subscribing(topic, 2), BaseCommand.SUCCESS)  # another consumer


def subscribing(topic: str, consumer_id: int) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    command.subscribe.CopyFrom(
        pb.CommandSubscribe(
            topic=topic,
            subscription="s",
            subType=pb.CommandSubscribe.Shared,
            consumer_id=consumer_id,
            request_id=consumer_id,
            consumer_name="c",
        )
    )
    return command


def closing(consumer_id: int) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.CLOSE_CONSUMER)
    command.close_consumer.consumer_id, command.close_consumer.request_id = consumer_id, 9
    return command


@pytest.mark.slow
def test_publish_rates_are_kept_within_a_tenth_over_ten_seconds(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    rates = [PublishRate(100, -1), PublishRate(3000, -1), PublishRate(-1, 1_000_000)]
    topics = [f"{topic}-{index}" for index in range(len(rates))]
    for one, rate in zip(topics, rates, strict=True):
        set_topic_policies(pulsar_broker, one, publish_rate=rate)
    url = pulsar_broker.service_url
    with ThreadPoolExecutor() as pool:
        counted = list(pool.map(lambda one: published_within(url, one, 10, b"x" * 1000), topics))
    by_size = topic_stats(loaded(pulsar_broker, topics[2])).incoming
    assert counted[:2] == [pytest.approx(1000, rel=0.1), pytest.approx(30_000, rel=0.1)]
    assert counted[2] * by_size.bytes / by_size.messages == pytest.approx(10_000_000, rel=0.1)
