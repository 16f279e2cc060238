"""Stats, as admin tools read them, after the actions of an official client."""

import json
import urllib.request
from typing import Any

import pulsar
import pytest

from broker_core.metadata.policies.values import HOLD, BacklogQuota, DispatchRate, PublishRate
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.policies import set_topic_policies
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("stats")

Stats = dict[str, Any]


def stats_of(broker: EmbeddedBroker, topic: str, query: str = "") -> Stats:
    name = parse_topic(topic)
    url = f"{broker.http_url}/admin/v2/persistent/{name.namespace}/{name.local}/stats?{query}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: Stats = json.load(answer)
    return found


def publish(client: pulsar.Client, topic: str, keys: int, **options: Any) -> None:
    producer = client.create_producer(topic, batching_enabled=False, **options)
    for key in range(keys):
        producer.send_async(b"x", lambda result, message_id: None, partition_key=str(key))
    producer.flush()


@pytest.mark.parametrize("mode", ["Exclusive", "WaitForExclusive", "ExclusiveWithFencing", "Shared"])
def test_stats_show_the_access_mode_of_a_producer_and_the_epoch_of_its_topic(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, mode: str
) -> None:
    publish(client, topic, 0, access_mode=getattr(pulsar.ProducerAccessMode, mode))
    stats = stats_of(pulsar_broker, topic)
    assert [one["accessMode"] for one in stats["publishers"]] == [mode]
    assert stats.get("topicEpoch") == (None if mode == "Shared" else 0)


def test_stats_count_waiting_producers(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    publish(client, topic, 0, access_mode=pulsar.ProducerAccessMode.Exclusive)
    with RawClient(pulsar_broker.service_url) as raw:
        command = BaseCommand(type=BaseCommand.PRODUCER)
        command.producer.CopyFrom(
            pb.CommandProducer(
                topic=topic, producer_id=1, request_id=1, producer_access_mode=pb.ProducerAccessMode.WaitForExclusive
            )
        )
        raw.ask(command, BaseCommand.PRODUCER_SUCCESS)
        assert stats_of(pulsar_broker, topic)["waitingPublishers"] == 1


def test_every_hash_belongs_to_one_consumer_of_key_shared(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    for name in ("a", "b"):
        client.subscribe(topic, "s", pulsar.ConsumerType.KeyShared, consumer_name=name)
    subscription = stats_of(pulsar_broker, topic)["subscriptions"]["s"]
    assert (subscription["type"], subscription["keySharedMode"]) == ("Key_Shared", "AUTO_SPLIT")
    assert subscription["allowOutOfOrderDelivery"] is False
    arrays = [consumer["keyHashRangeArrays"] for consumer in subscription["consumers"]]
    assert all(arrays)
    covered = sorted(number for ranges in arrays for first, last in ranges for number in range(first, last + 1))
    assert len(covered) == len(set(covered)) and covered[-1] == 65535
    assert subscription["consumers"][0]["keyHashRanges"] == [str(one) for one in arrays[0]]


def test_draining_hashes_are_shown_at_the_consumer_that_holds_them(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    first = client.subscribe(topic, "s", pulsar.ConsumerType.KeyShared, consumer_name="first")
    publish(client, topic, 50)
    messages = [first.receive(TIMEOUT_MS) for _ in range(50)]
    client.subscribe(topic, "s", pulsar.ConsumerType.KeyShared, consumer_name="second")
    subscription = stats_of(pulsar_broker, topic)["subscriptions"]["s"]
    draining = {one["consumerName"]: one["drainingHashes"] for one in subscription["consumers"]}
    assert draining["second"] == []
    assert len(draining["first"]) == subscription["drainingHashesCount"] > 0
    assert sum(one["unackMsgs"] for one in draining["first"]) == subscription["drainingHashesUnackedMessages"]
    for message in messages:
        first.acknowledge(message)
    wait_until(lambda: stats_of(pulsar_broker, topic)["subscriptions"]["s"]["drainingHashesCount"] == 0, 5)


def test_stats_show_the_active_consumer_of_failover(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    for name in ("a", "b"):
        client.subscribe(topic, "s", pulsar.ConsumerType.Failover, consumer_name=name)
    subscription = stats_of(pulsar_broker, topic)["subscriptions"]["s"]
    assert (subscription["type"], subscription["activeConsumerName"]) == ("Failover", "a")


def test_stats_show_when_mark_delete_advanced(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    consumer = client.subscribe(topic, "s", pulsar.ConsumerType.Shared)
    publish(client, topic, 2)
    first, second = (consumer.receive(TIMEOUT_MS) for _ in range(2))

    def subscription() -> Stats:
        found: Stats = stats_of(pulsar_broker, topic)["subscriptions"]["s"]
        return found

    consumer.acknowledge(second)
    wait_until(lambda: subscription()["lastAckedTimestamp"] > 0, 5)
    assert subscription()["lastMarkDeleteAdvancedTimestamp"] == 0
    consumer.acknowledge(first)
    wait_until(lambda: subscription()["lastMarkDeleteAdvancedTimestamp"] > 0, 5)


def test_stats_show_the_oldest_message_of_the_backlog_and_the_quotas(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    client.subscribe(topic, "s").close()
    empty = stats_of(pulsar_broker, topic)
    assert (empty["oldestBacklogMessageAgeSeconds"], empty["backlogQuotaLimitSize"]) == (-1, -1)
    publish(client, topic, 1)
    quotas = {"size_quota": BacklogQuota(5000, 0, HOLD), "age_quota": BacklogQuota(0, 70, HOLD)}
    set_topic_policies(pulsar_broker, topic, **quotas)
    stats = stats_of(pulsar_broker, topic)
    assert 0 <= stats["oldestBacklogMessageAgeSeconds"] < 60
    assert stats["oldestBacklogMessageSubscriptionName"] == "s"
    assert (stats["backlogQuotaLimitSize"], stats["backlogQuotaLimitTime"]) == (5000, 70)


def test_stats_count_throttled_publishes(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    rates = {"publish_rate": PublishRate(100, -1), "dispatch_rate": DispatchRate(40, -1, False, 1)}
    set_topic_policies(pulsar_broker, topic, **rates)
    consumer = client.subscribe(topic, "s")
    publish(client, topic, 50)
    for _ in range(20):
        consumer.receive(TIMEOUT_MS)
    stats = stats_of(pulsar_broker, topic)
    assert stats["publishRateLimitedTimes"] > 0
    subscription = stats["subscriptions"]["s"]
    assert subscription["dispatchThrottledMsgEventsByTopicLimit"] > 0
    assert subscription["dispatchThrottledBytesEventsByTopicLimit"] == 0
    assert subscription["dispatchThrottledMsgEventsBySubscriptionLimit"] == 0


def test_stats_show_chunks_and_deduplication(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    producer = client.create_producer(topic, batching_enabled=False, chunking_enabled=True)
    producer.send(b"x")
    before = stats_of(pulsar_broker, topic)
    assert (before["msgChunkPublished"], before["deduplicationStatus"]) == (False, "Disabled")
    producer.send(b"x" * 6_000_000)
    set_topic_policies(pulsar_broker, topic, deduplication_enabled=True)
    after = stats_of(pulsar_broker, topic)
    assert (after["msgChunkPublished"], after["deduplicationStatus"]) == (True, "Enabled")


def test_a_consumer_can_request_its_stats(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> None:
    with RawClient(pulsar_broker.service_url) as raw:
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        subscribing = pb.CommandSubscribe(
            topic=topic,
            subscription="s",
            subType=pb.CommandSubscribe.Shared,
            consumer_id=1,
            request_id=1,
            consumer_name="c",
        )
        command.subscribe.CopyFrom(subscribing)
        raw.ask(command, BaseCommand.SUCCESS)
        publish(client, topic, 3)
        wait_until(lambda: loaded(pulsar_broker, topic).subscriptions["s"].cursor.backlog_entries == 3, 5)
        asking = BaseCommand(type=BaseCommand.CONSUMER_STATS)
        asking.consumerStats.consumer_id, asking.consumerStats.request_id = 1, 2
        found = raw.ask(asking, BaseCommand.CONSUMER_STATS_RESPONSE)
    assert (found.consumerName, found.type, found.msgBacklog, found.unackedMessages) == ("c", "Shared", 3, 0)
    assert found.connectedSince.endswith("Z") and found.address.startswith("/127.0.0.1:")
    assert {"msgRateRedeliver", "msgRateExpired", "messageAckRate"} <= {one.name for one, _ in found.ListFields()}
