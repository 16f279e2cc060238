"""`/metrics` reads its values from the topics. They agree with the stats, which are read in another way."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.rates.time_slices import TimeSlices
from broker_core.stats.metrics import blocks_of
from broker_core.stats.subscription_stats import SubscriptionStats
from broker_core.stats.topic_stats import TopicStats, topic_stats
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.support.condition import wait_until

TOPIC = "persistent://public/default/agreed"
Samples = dict[str, float]


class Found:
    """The stats of a topic, and its metrics by subscription ("" for those of the topic itself)."""

    def __init__(self, stats: TopicStats, metrics: dict[str, Samples], of_broker: Samples) -> None:
        self.stats, self.metrics, self.of_broker = stats, metrics, of_broker


async def read(broker: EmbeddedBroker) -> Found:
    found: dict[str, Samples] = {}
    of_broker: Samples = {}
    async for blocks in blocks_of(broker.broker, TimeSlices()):
        for labels, metrics, values in blocks:
            if TOPIC in labels:
                subscription = labels.partition('subscription="')[2].rstrip('"')
                found.setdefault(subscription, {}).update(zip(metrics, values, strict=True))
            elif "topic=" not in labels:
                of_broker.update(zip(metrics, values, strict=True))
    return Found(await topic_stats(broker.broker.topics.loaded[TOPIC]), found, of_broker)


@pytest.fixture(scope="module")
def busy() -> Iterator[Found]:
    """Two consumers share a subscription: of 8 messages, 2 are acknowledged, 1 is delayed, 1 was redelivered."""
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS)) as broker:
        client = pulsar.Client(broker.service_url)
        shared = [
            client.subscribe(
                TOPIC, "shared", pulsar.ConsumerType.Shared, consumer_name=name, negative_ack_redelivery_delay_ms=1
            )
            for name in ("a", "b")
        ]
        client.subscribe(TOPIC, "idle").close()
        gone = client.create_producer(TOPIC, producer_name="gone")
        gone.send(b"x" * 200)
        gone.close()
        producer = client.create_producer(TOPIC, producer_name="here")
        for number in range(6):
            producer.send(b"y" * number)
        producer.send(b"later", deliver_after=timedelta(hours=1))
        for consumer in shared:
            consumer.acknowledge(consumer.receive(30_000))
        shared[0].negative_acknowledge(shared[0].receive(30_000))

        def settled() -> bool:
            found = broker.call(read(broker)).metrics["shared"]
            return bool(found["pulsar_subscription_delayed"] and found["pulsar_subscription_msg_rate_redeliver"])

        wait_until(settled, 30)
        yield broker.call(read(broker))
        client.close()


def test_the_metrics_of_a_topic_are_those_of_its_stats(busy: Found) -> None:
    stats = busy.stats
    expected = {
        "subscriptions_count": len(stats.subscriptions),
        "producers_count": len(stats.publishers),
        "consumers_count": sum(len(one.consumers) for one in stats.subscriptions.values()),
        "rate_in": stats.incoming.message_rate,
        "rate_out": stats.outgoing.message_rate,
        "throughput_in": stats.incoming.byte_rate,
        "throughput_out": stats.outgoing.byte_rate,
        "average_msg_size": stats.incoming.average_size,
        "in_messages_total": stats.incoming.messages,
        "in_bytes_total": stats.incoming.bytes,
        "storage_size": stats.storage_bytes,
        "storage_logical_size": stats.storage_bytes,
        "storage_offloaded_size": stats.offload.bytes,
        "storage_backlog_size": stats.backlog_bytes,
        "storage_backlog_quota_limit": stats.quota_bytes,
        "storage_backlog_quota_limit_time": stats.quota_seconds,
        "msg_backlog": stats.backlog_entries,
        "publish_rate_limit_times": stats.publishes_held,
        "delayed_message_index_size_bytes": stats.subscriptions["shared"].delayed_index_bytes,
        "storage_read_rate": 0,
        "storage_read_cache_misses_rate": 0,
    }
    found = {name: value for name, value in busy.metrics[""].items() if "write" not in name and "entry" not in name}
    assert found == agrees(expected, "pulsar_")


@pytest.mark.parametrize("name", ["shared", "idle"])
def test_the_metrics_of_a_subscription_are_those_of_its_stats(busy: Found, name: str) -> None:
    stats = busy.stats.subscriptions[name]
    totals = {"pulsar_out_messages_total": stats.traffic.messages, "pulsar_out_bytes_total": stats.traffic.bytes}
    assert busy.metrics[name] == {**agrees(of_subscription(stats), "pulsar_subscription_"), **totals}


def test_the_broker_counts_the_bytes_that_it_sent(busy: Found) -> None:
    assert busy.of_broker["pulsar_broker_out_bytes_total"] == busy.stats.outgoing.bytes > 0


def of_subscription(stats: SubscriptionStats) -> Samples:
    return {
        "back_log": stats.backlog_entries,
        "back_log_no_delayed": stats.backlog_not_delayed,
        "delayed": stats.delayed,
        "delayed_message_index_size_bytes": stats.delayed_index_bytes,
        "unacked_messages": stats.unacked_messages,
        "blocked_on_unacked_messages": stats.blocked,
        "in_replay": stats.in_replay,
        "consumers_count": len(stats.consumers),
        "msg_rate_out": stats.traffic.message_rate,
        "msg_throughput_out": stats.traffic.byte_rate,
        "msg_rate_redeliver": stats.redelivery_rate,
        "msg_ack_rate": stats.ack_rate,
        "msg_rate_expired": stats.expired.message_rate,
        "total_msg_expired": stats.expired.messages,
        "last_expire_timestamp": stats.last_expired_ms,
        "last_acked_timestamp": stats.last_acked_ms,
        "last_consumed_timestamp": stats.last_consumed_ms,
        "last_consumed_flow_timestamp": stats.last_flow_ms,
        "last_mark_delete_advanced_timestamp": stats.last_advanced_ms,
    }


def agrees(samples: Samples, prefix: str) -> dict[str, Any]:
    """Rates are counted to the moment of reading, which is a little later for the stats."""
    return {
        f"{prefix}{name}": pytest.approx(value, rel=0.5) if isinstance(value, float) else value
        for name, value in samples.items()
    }
