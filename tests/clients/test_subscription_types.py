"""Failover, Key_Shared, and Shared with the official client."""

from collections import defaultdict

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.receiving import arrivals, consume, is_silent, payloads, shares, values

pytestmark = pytest.mark.feature("failover", "key_shared", "shared", "negative_ack")

FAILOVER, SHARED, KEY_SHARED = pulsar.ConsumerType.Failover, pulsar.ConsumerType.Shared, pulsar.ConsumerType.KeyShared
EARLIEST = pulsar.InitialPosition.Earliest


def publish(client: pulsar.Client, topic: str, count: int, keys: int = 0) -> None:
    producer = client.create_producer(topic)
    for index in range(count):
        producer.send(str(index).encode(), partition_key=str(index % keys) if keys else None)
    producer.close()


def test_the_standby_of_a_failover_subscription_takes_over_in_order(client: pulsar.Client, topic: str) -> None:
    active = client.subscribe(topic, "s", FAILOVER, consumer_name="a")
    standby = client.subscribe(topic, "s", FAILOVER, consumer_name="b")
    publish(client, topic, 20)
    assert values(consume(active, 5)) == [0, 1, 2, 3, 4]
    assert is_silent(standby)
    active.close()
    assert values(consume(standby, 15)) == list(range(5, 20))


def test_partitions_of_a_failover_subscription_are_spread_over_its_consumers(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 4)
    consumers = [client.subscribe(topic, "s", FAILOVER, consumer_name=name) for name in ("a", "b")]
    producer = client.create_producer(topic)
    for index in range(40):
        producer.send(str(index).encode())
    got = [values(share) for share in shares(consumers, 40)]
    assert sorted(got[0] + got[1]) == list(range(40))
    assert all(got)


@pytest.mark.parametrize("ordering", [False, True])
def test_a_key_stays_with_one_consumer_and_in_order(client: pulsar.Client, topic: str, ordering: bool) -> None:
    consumers = [client.subscribe(topic, "s", KEY_SHARED, initial_position=EARLIEST) for _ in range(3)]
    producer = client.create_producer(topic)
    for index in range(120):
        if ordering:
            producer.send(str(index).encode(), ordering_key=str(index % 12), partition_key=str(index))
        else:
            producer.send(str(index).encode(), partition_key=str(index % 12))
    owners: dict[int, list[int]] = defaultdict(list)
    seen: dict[int, list[int]] = defaultdict(list)
    for number, share in enumerate(shares(consumers, 120)):
        for value in values(share):
            owners[value % 12].append(number)
            seen[value % 12].append(value)
    assert {key: sorted(set(found)) for key, found in owners.items()} == {key: [owners[key][0]] for key in range(12)}
    assert all(seen[key] == list(range(key, 120, 12)) for key in range(12))


def test_batches_by_key_go_to_the_owners_of_their_keys(client: pulsar.Client, topic: str) -> None:
    consumers = [client.subscribe(topic, "s", KEY_SHARED) for _ in range(2)]
    producer = client.create_producer(
        topic, batching_enabled=True, batching_type=pulsar.BatchingType.KeyBased, batching_max_publish_delay_ms=50
    )
    for index in range(100):
        producer.send_async(str(index).encode(), lambda result, message_id: None, partition_key=str(index % 10))
    producer.flush()
    got = [values(share) for share in shares(consumers, 100)]
    assert sorted(got[0] + got[1]) == list(range(100))
    assert not {value % 10 for value in got[0]} & {value % 10 for value in got[1]}


def test_keys_continue_in_order_when_their_consumer_leaves(client: pulsar.Client, topic: str) -> None:
    first = client.subscribe(topic, "s", KEY_SHARED)
    second = client.subscribe(topic, "s", KEY_SHARED)
    publish(client, topic, 60, keys=6)
    held = [first.receive(TIMEOUT_MS) for _ in range(10)]
    assert len({int(message.data()) % 6 for message in held}) > 0
    first.close()
    got = values(consume(second, 60))
    assert is_silent(second)
    assert sorted(got) == list(range(60))
    assert all([value for value in got if value % 6 == key] == list(range(key, 60, 6)) for key in range(6))


def test_sticky_consumers_get_the_hash_ranges_that_they_request(client: pulsar.Client, topic: str) -> None:
    def sticky(*ranges: tuple[int, int]) -> pulsar.Consumer:
        policy = pulsar.ConsumerKeySharedPolicy(pulsar.KeySharedMode.Sticky, False, list(ranges))
        return client.subscribe(topic, "s", KEY_SHARED, key_shared_policy=policy)

    low, high = sticky((0, 32767)), sticky((32768, 65535))
    producer = client.create_producer(topic)
    for key in ("key1", "key01", "key2", "test"):  # 293, 47652, 14772, 53779
        producer.send(key.encode(), partition_key=key)
    assert payloads(consume(low, 2)) == [b"key1", b"key2"]
    assert payloads(consume(high, 2)) == [b"key01", b"test"]
    with pytest.raises(pulsar.ConsumerAssignError):
        sticky((0, 10))


def test_a_nacked_message_is_redelivered_to_the_owner_of_its_key(client: pulsar.Client, topic: str) -> None:
    consumers = [
        client.subscribe(topic, "s", KEY_SHARED, negative_ack_redelivery_delay_ms=100, consumer_name=name)
        for name in ("a", "b")
    ]
    client.create_producer(topic).send(b"v", partition_key="k")
    index, message = next(arrivals(consumers))
    consumers[index].negative_acknowledge(message)
    (again,) = consume(consumers[index], 1)
    assert again.redelivery_count() == 1


def test_the_type_of_an_unused_subscription_can_change(client: pulsar.Client, topic: str) -> None:
    for kind in (FAILOVER, KEY_SHARED, SHARED, pulsar.ConsumerType.Exclusive):
        consumer = client.subscribe(topic, "s", kind)
        publish(client, topic, 1)
        assert values(consume(consumer, 1)) == [0]
        consumer.close()


def test_a_connected_consumer_keeps_the_type_of_its_subscription(client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s", SHARED)
    for kind in (FAILOVER, KEY_SHARED, pulsar.ConsumerType.Exclusive):
        with pytest.raises(pulsar.ConsumerBusy):
            client.subscribe(topic, "s", kind)
