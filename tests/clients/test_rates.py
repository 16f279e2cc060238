"""Publish, dispatch, and subscribe rates with an official client: they slow it down, and refuse only to subscribe."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import RateConfig
from broker_core.metadata.policies.values import DispatchRate, PublishRate, SubscribeRate
from broker_core.stats.topic_stats import topic_stats
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.policies import set_namespace_policies, set_topic_policies
from tests.support import official_client
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import close_producer, producer, send

pytestmark = pytest.mark.feature("rates")

EARLIEST = pulsar.InitialPosition.Earliest


@pytest.fixture(autouse=True)
def no_policies(pulsar_broker: EmbeddedBroker, topic: str) -> Iterator[None]:
    yield
    set_namespace_policies(pulsar_broker, topic, publish_rate=None, subscribe_rate=None)


def seconds_to_publish(client: pulsar.Client, topic: str, messages: int, size: int = 1) -> float:
    """The time from the first message until all have receipts."""
    producer = client.create_producer(topic, block_if_queue_full=True, batching_enabled=False)
    start = time.monotonic()
    for _ in range(messages):
        producer.send_async(b"x" * size, lambda result, message_id: None)
    producer.flush()
    took = time.monotonic() - start
    producer.close()
    return took


def published_within(broker: EmbeddedBroker, topic: str, seconds: float, payload: bytes) -> int:
    """The number of receipts in that time for a client that always has more to send; removes the rate afterwards."""
    client = official_client.connect(broker.service_url)
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
    set_topic_policies(broker, topic, publish_rate=None)
    sender.join()
    client.close()
    return counted


def test_a_topic_accepts_no_more_messages_than_its_publish_rate(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, publish_rate=PublishRate(40, -1))
    assert seconds_to_publish(client, topic, 30) > 0.45  # 10 at once, 20 at 40 a second
    assert loaded(pulsar_broker, topic).throttles.publishes_held > 0


def test_a_topic_accepts_no_more_bytes_than_its_publish_rate(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, publish_rate=PublishRate(-1, 40_000))
    assert seconds_to_publish(client, topic, 30, size=1000) > 0.45


def test_throttled_messages_keep_their_order(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    set_namespace_policies(pulsar_broker, topic, publish_rate=PublishRate(100, -1))
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=False)
    for index in range(60):
        producer.send_async(str(index).encode(), lambda result, message_id: None)
    received = [int(consumer.receive(TIMEOUT_MS).data()) for _ in range(60)]
    assert received == list(range(60))


def test_removing_a_rate_releases_throttled_messages(
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


def test_all_topics_together_accept_no_more_than_the_brokers_publish_rate() -> None:
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, rates=RateConfig(broker_publish_messages=40))) as broker:
        client = pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        assert seconds_to_publish(client, "one", 15) + seconds_to_publish(client, "two", 15) > 0.45
        client.close()


def test_a_consumer_that_subscribes_too_often_is_refused_for_the_period(
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


def seconds_to_consume(client: pulsar.Client, topic: str, messages: int, subscription: str = "s") -> float:
    """The time from the subscription to the last message; all are stored already.

    The time of the first one is too late: a client that is slow gets it when the broker has sent others.
    """
    start = time.monotonic()
    consumer = client.subscribe(topic, subscription, pulsar.ConsumerType.Shared, initial_position=EARLIEST)
    for _ in range(messages):
        consumer.receive(TIMEOUT_MS)
    took = time.monotonic() - start
    consumer.close()
    return took


LIMITED = [
    {"dispatch_rate": DispatchRate(40, -1, False, 1)},
    {"subscription_dispatch_rate": DispatchRate(40, -1, False, 1)},
    {"subscription_dispatch_rate": DispatchRate(80, 0, False, 2)},
    {"dispatch_rates": {"s": DispatchRate(40, -1, False, 1)}},
    {"dispatch_rate": DispatchRate(-1, 40 * 50, False, 1)},
]


@pytest.mark.parametrize("policies", LIMITED, ids=lambda policies: next(iter(policies)))
def test_a_subscription_gets_no_more_than_its_dispatch_rate(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, policies: dict[str, object]
) -> None:
    seconds_to_publish(client, topic, 30)
    set_topic_policies(pulsar_broker, topic, **policies)
    assert seconds_to_consume(client, topic, 30) > 0.3  # 10 at once, 20 at 40 a second; a message has over 30 bytes


def test_subscriptions_have_separate_rates(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    seconds_to_publish(client, topic, 100)
    set_topic_policies(pulsar_broker, topic, dispatch_rates={"s": DispatchRate(1, 0, False, 1)})
    assert seconds_to_consume(client, topic, 100, "other") < 5  # at that rate: 99


def test_two_subscriptions_share_the_dispatch_rate_of_their_topic(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    seconds_to_publish(client, topic, 15)
    set_topic_policies(pulsar_broker, topic, dispatch_rate=DispatchRate(40, -1, False, 1))
    assert seconds_to_consume(client, topic, 15, "one") + seconds_to_consume(client, topic, 15, "two") > 0.3


def test_removing_a_dispatch_rate_releases_all_messages(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    seconds_to_publish(client, topic, 100)
    set_topic_policies(pulsar_broker, topic, dispatch_rate=DispatchRate(1, -1, False, 1))
    consumer = client.subscribe(topic, "s", initial_position=EARLIEST)
    consumer.receive(TIMEOUT_MS)
    set_topic_policies(pulsar_broker, topic, dispatch_rate=None)
    for _ in range(99):
        consumer.receive(TIMEOUT_MS)


def test_dispatch_rates_do_not_apply_to_non_persistent_topics(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    topic = topic.replace("persistent", "non-persistent", 1)
    set_topic_policies(pulsar_broker, topic, dispatch_rate=DispatchRate(1, -1, False, 1))
    consumer = client.subscribe(topic, "s")
    seconds_to_publish(client, topic, 10)
    for _ in range(10):
        consumer.receive(TIMEOUT_MS)


def test_a_relative_rate_is_added_to_the_publish_rate(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    set_topic_policies(pulsar_broker, topic, dispatch_rate=DispatchRate(1, 0, True, 1))
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=False)
    start = time.monotonic()
    for _ in range(15):
        producer.send(b"x")
        consumer.receive(TIMEOUT_MS)
    assert time.monotonic() - start < 7  # at the rate alone: 14


def test_a_caught_up_consumer_is_not_limited_if_configured() -> None:
    rates = RateConfig(topic_dispatch_messages=1, without_backlog=False)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, rates=rates)) as broker:
        client = official_client.connect(broker.service_url)
        seconds_to_publish(client, "t", 100)
        assert seconds_to_consume(client, "t", 100) < 5
        client.close()


def test_a_batch_counts_as_one_message_if_configured() -> None:
    rates = RateConfig(topic_dispatch_messages=1, per_batch_message=True)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, rates=rates)) as broker:
        client = official_client.connect(broker.service_url)
        batches = client.create_producer("t", batching_enabled=True, batching_max_publish_delay_ms=1000)
        for _ in range(2):
            for _ in range(100):
                batches.send_async(b"x", lambda result, message_id: None)
            batches.flush()
        assert seconds_to_consume(client, "t", 200) < 5  # as messages: 100 seconds for the second batch
        client.close()


def consumed_within(broker: EmbeddedBroker, topic: str, subscription: str, seconds: float) -> int:
    """The number of messages that a client without limits receives in that time after the first."""
    client = official_client.connect(broker.service_url)
    consumer = client.subscribe(topic, subscription)
    consumer.receive(TIMEOUT_MS)
    counted, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        with contextlib.suppress(pulsar.Timeout):
            consumer.receive(max(1, round(left * 1000)))
            counted += 1
    client.close()
    return counted


@pytest.mark.slow
def test_rates_are_kept_within_a_tenth_over_ten_seconds(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    published = [PublishRate(100, -1), PublishRate(2000, -1), PublishRate(-1, 1_000_000)]
    topics = [f"{topic}-{index}" for index in range(len(published))]
    for one, rate in zip(topics, published, strict=True):
        set_topic_policies(pulsar_broker, one, publish_rate=rate)
    dispatched = {"slow": DispatchRate(100, 0, False, 1), "fast": DispatchRate(2000, 0, False, 1)}
    set_topic_policies(pulsar_broker, topic, dispatch_rates=dispatched)
    for name in dispatched:
        client.subscribe(topic, name).close()
    seconds_to_publish(client, topic, 25_000)

    with ThreadPoolExecutor() as pool:
        sent = [pool.submit(published_within, pulsar_broker, one, 10, b"x" * 1000) for one in topics]
        received = [pool.submit(consumed_within, pulsar_broker, topic, name, 10) for name in dispatched]
        counted = [one.result() for one in (*sent, *received)]

    by_size = asyncio.run(topic_stats(loaded(pulsar_broker, topics[2]))).incoming
    counted[2] = round(counted[2] * by_size.bytes / by_size.messages)
    assert counted == [pytest.approx(10 * rate, rel=0.1) for rate in (100, 2000, 1_000_000, 100, 2000)]
