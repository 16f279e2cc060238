"""Stats over REST: the fields that clients rely on, and the numbers after traffic of an official client."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pulsar
import pytest

from broker_core.admin.internal_stats_body import info_body, internal_body
from broker_core.names import parse_topic
from broker_core.stats.topic_stats import topic_stats
from broker_core.storage.records.position import LATEST
from tests.broker.admin.conftest import Admin
from tests.broker.admin.pulsar_fields import CONSUMER_FIELDS, PUBLISHER_FIELDS, SUBSCRIPTION_FIELDS, TOPIC_FIELDS

PLAIN = "persistent/acme/shop/plain"
PARTED = "persistent/acme/shop/parted"
FULL = "persistent://acme/shop"


class Client:
    """An official client whose blocking calls do not run on the broker's event loop."""

    def __init__(self, client: pulsar.Client) -> None:
        self._client = client

    async def producer(self, topic: str, **options: Any) -> Any:
        return await asyncio.to_thread(self._client.create_producer, topic, **options)

    async def consumer(self, topic: str, name: str, **options: Any) -> Any:
        return await asyncio.to_thread(self._client.subscribe, topic, name, **options)

    async def close(self) -> None:
        await asyncio.to_thread(self._client.close)


@pytest.fixture
async def client(shop: Admin) -> AsyncIterator[Client]:
    logger = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    connected = Client(pulsar.Client(f"pulsar://127.0.0.1:{shop.server.port}", logger=logger))
    yield connected
    await connected.close()


async def test_a_new_topic_has_every_field_in_pulsars_order(shop: Admin) -> None:
    shown = (await shop("GET", f"{PLAIN}/stats")).json
    assert list(shown) == TOPIC_FIELDS
    assert (shown["publishers"], shown["subscriptions"], shown["replication"]) == ([], {}, {})
    assert shown["topicCreationTimeStamp"] > 0
    assert shown["lastPublishTimeStamp"] == 0
    assert shown["ownerBroker"] == f"localhost:{shop.server.web_port}"


async def test_the_entries_between_mark_delete_and_read_position_are_counted(shop: Admin, client: Client) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3", b"4"])
    await shop("POST", f"{PLAIN}/subscription/s/skip/1")
    assert await read_ahead(shop) == 1
    consumer = await client.consumer(f"{FULL}/plain", "s", consumer_type=pulsar.ConsumerType.Shared)
    messages = [await asyncio.to_thread(consumer.receive, 30_000) for _ in range(3)]
    await asyncio.to_thread(consumer.acknowledge, messages[1])
    assert await read_ahead(shop) == 4  # as Pulsar 4.0.7


async def read_ahead(shop: Admin) -> int:
    cursor = (await shop("GET", f"{PLAIN}/internalStats")).json["cursors"]["s"]
    return int(cursor["numberOfEntriesSinceFirstNotAckedMessage"])


async def test_an_idle_consumer_has_zeros_and_empty_maps(shop: Admin, client: Client) -> None:
    await client.consumer(f"{FULL}/plain", "s", consumer_name="c", properties={"k": "v"})
    shown = (await shop("GET", f"{PLAIN}/stats")).json["subscriptions"]["s"]
    assert list(shown) == [*SUBSCRIPTION_FIELDS, "backlogMessages"]
    assert (shown["type"], shown["activeConsumerName"]) == ("Exclusive", "c")
    assert (shown["msgBacklog"], shown["backlogSize"], shown["msgOutCounter"]) == (0, 0, 0)
    assert (shown["isDurable"], shown["durable"], shown["allowOutOfOrderDelivery"]) == (True, True, False)
    assert (shown["consumersAfterMarkDeletePosition"], shown["subscriptionProperties"]) == ({}, {})
    [consumer] = shown["consumers"]
    assert list(consumer) == CONSUMER_FIELDS
    assert consumer["avgMessagesPerEntry"] == 0
    assert (consumer["lastAckedTimestamp"], consumer["lastConsumedTimestamp"]) == (0, 0)
    assert consumer["lastConsumedFlowTimestamp"] > 0
    assert consumer["availablePermits"] > 0
    assert consumer["address"].startswith("/127.0.0.1:")
    assert " " not in consumer["clientVersion"]
    assert consumer["metadata"] == {"k": "v"}


async def test_a_producer_is_shown_with_what_it_sent(shop: Admin, client: Client) -> None:
    producer = await client.producer(f"{FULL}/plain", producer_name="p", batching_enabled=False)
    await asyncio.to_thread(producer.send, b"x" * 100)
    shown = (await shop("GET", f"{PLAIN}/stats")).json
    [publisher] = shown["publishers"]
    assert list(publisher) == PUBLISHER_FIELDS
    assert (publisher["producerName"], publisher["accessMode"]) == ("p", "Shared")
    assert publisher["supportsPartialProducer"] is False
    assert shown["msgInCounter"] == 1
    assert shown["bytesInCounter"] == shown["storageSize"] > 100
    assert shown["lastPublishTimeStamp"] > 0


async def test_individual_acknowledgments_leave_a_backlog_with_gaps(shop: Admin, client: Client) -> None:
    shared = pulsar.ConsumerType.Shared
    consumer = await client.consumer(f"{FULL}/plain", "s", consumer_type=shared)
    await shop.publish(f"{FULL}/plain", [b"x" * 50] * 6)
    received = [await asyncio.to_thread(consumer.receive, 5000) for _ in range(6)]
    for index in (1, 3, 4):
        await asyncio.to_thread(consumer.acknowledge, received[index])
    # The client sends acknowledgments later; closing waits until the broker has them.
    await asyncio.to_thread(consumer.close)

    stats = (await shop("GET", f"{PLAIN}/stats")).json
    shown = stats["subscriptions"]["s"]
    assert (shown["type"], shown["msgBacklog"], shown["msgOutCounter"]) == ("Shared", 3, 6)
    assert shown["backlogSize"] == stats["storageSize"] // 2 == stats["backlogSize"]
    assert shown["nonContiguousDeletedMessagesRanges"] == 2

    cursor = (await shop("GET", f"{PLAIN}/internalStats")).json["cursors"]["s"]
    ledger = received[0].message_id().ledger_id()
    assert cursor["individuallyDeletedMessages"] == (f"[({ledger}:0..{ledger}:1],({ledger}:2..{ledger}:4]]")
    assert cursor["totalNonContiguousDeletedMessagesRange"] == 2
    assert cursor["messagesConsumedCounter"] == 3


async def test_flags_leave_out_publishers_consumers_and_sizes(shop: Admin, client: Client) -> None:
    await client.consumer(f"{FULL}/plain", "s")
    await client.producer(f"{FULL}/plain")
    query = "excludePublishers=true&excludeConsumers=true&subscriptionBacklogSize=false"
    shown = (await shop("GET", f"{PLAIN}/stats?{query}")).json
    assert shown["publishers"] == []
    assert shown["subscriptions"]["s"]["consumers"] == []
    assert shown["subscriptions"]["s"]["backlogSize"] == -1


async def test_the_earliest_time_in_the_backlog_is_looked_up_on_request(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    for moment in (1000, 2000):
        await shop.publish(f"{FULL}/plain", [b"x"], publish_time=moment)
    await shop("POST", f"{PLAIN}/subscription/s/skip/1")
    plain = (await shop("GET", f"{PLAIN}/stats")).json
    assert plain["earliestMsgPublishTimeInBacklogs"] == 0
    looked = (await shop("GET", f"{PLAIN}/stats?getEarliestTimeInBacklog=true")).json
    assert looked["earliestMsgPublishTimeInBacklogs"] == 2000
    assert looked["subscriptions"]["s"]["earliestMsgPublishTimeInBacklog"] == 2000


async def test_partitioned_stats_sum_up_and_show_each_partition(shop: Admin, client: Client) -> None:
    await client.consumer(f"{FULL}/parted", "s", consumer_name="c")
    producer = await client.producer(f"{FULL}/parted", producer_name="p", batching_enabled=False)
    for _ in range(6):
        await asyncio.to_thread(producer.send, b"x")

    shown = (await shop("GET", f"{PARTED}/partitioned-stats")).json
    assert shown["metadata"] == {"partitions": 3, "deleted": False}
    assert list(shown["partitions"]) == [f"{FULL}/parted-partition-{index}" for index in range(3)]
    assert shown["msgInCounter"] == 6 == sum(one["msgInCounter"] for one in shown["partitions"].values())
    assert shown["subscriptions"]["s"]["msgBacklog"] == 6
    [consumer] = shown["subscriptions"]["s"]["consumers"]
    assert consumer["consumerName"] == "c"
    assert "address" not in consumer
    [publisher] = shown["publishers"]
    assert "address" not in publisher
    assert "deduplicationStatus" not in shown
    partition = shown["partitions"][f"{FULL}/parted-partition-0"]
    assert partition.pop("oldestBacklogMessageSubscriptionName") == "s"  # present only with a backlog
    assert list(partition) == TOPIC_FIELDS


async def test_partitioned_stats_show_the_properties_of_the_topic(shop: Admin) -> None:
    body = {"partitions": 1, "properties": {"a": "b"}}
    await shop("PUT", "persistent/acme/shop/described/partitions", body)
    for stats in ("partitioned-stats", "partitioned-internalStats"):
        shown = (await shop("GET", f"persistent/acme/shop/described/{stats}")).json
        assert shown["metadata"] == {"partitions": 1, "deleted": False, "properties": {"a": "b"}}


async def test_partitioned_stats_leave_out_the_partitions_on_request(shop: Admin) -> None:
    shown = (await shop("GET", f"{PARTED}/partitioned-stats?perPartition=false")).json
    assert shown["partitions"] == {}


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        ("none/stats", 404, f"Topic {FULL}/none not found"),
        ("parted/stats", 404, f"Topic {FULL}/parted not found"),
        ("parted/internalStats", 404, f"Topic {FULL}/parted not found"),
        ("parted-partition-9/stats", 404, "Topic partitions were not yet created"),
        ("plain/partitioned-stats", 404, f"Partitioned Topic {FULL}/plain not found"),
        ("none/partitioned-stats", 404, f"Partitioned Topic {FULL}/none not found"),
        (
            "parted-partition-0/partitioned-stats",
            412,
            "Partitioned Topic Name should not contain '-partition-'",
        ),
        ("plain/partitioned-internalStats", 404, f"Partitioned Topic {FULL}/plain not found"),
    ],
)
async def test_refusals(shop: Admin, path: str, status: int, reason: str) -> None:
    reply = await shop("GET", f"persistent/acme/shop/{path}")
    assert (reply.status, reply.reason) == (status, reason)


async def test_internal_stats_of_a_topic_with_messages(shop: Admin) -> None:
    [first, _second] = await shop.publish(f"{FULL}/plain", [b"1", b"2"])
    shown = (await shop("GET", f"{PLAIN}/internalStats")).json
    assert list(shown) == [
        "entriesAddedCounter",
        "numberOfEntries",
        "totalSize",
        "currentLedgerEntries",
        "currentLedgerSize",
        "lastLedgerCreatedTimestamp",
        "waitingCursorsCount",
        "pendingAddEntriesCount",
        "lastConfirmedEntry",
        "state",
        "ledgers",
        "cursors",
        "schemaLedgers",
        "compactedLedger",
    ]
    assert (shown["numberOfEntries"], shown["currentLedgerEntries"]) == (2, 2)
    assert (shown["lastConfirmedEntry"], shown["state"]) == (f"{first.ledger_id}:1", "LedgerOpened")
    assert shown["ledgers"] == [
        {"ledgerId": first.ledger_id, "entries": 0, "size": 0, "offloaded": False, "underReplicated": False}
    ]
    assert shown["compactedLedger"]["ledgerId"] == -1


async def test_internal_stats_show_the_properties_of_the_log(shop: Admin) -> None:
    topic = await shop.broker.topics.get(parse_topic(f"{FULL}/plain"))
    await topic.ledger.store_properties({"a": "b"})
    assert (await shop("GET", f"{PLAIN}/internalStats")).json["properties"] == {"a": "b"}


async def test_internal_stats_of_a_new_topic_show_one_empty_ledger(shop: Admin) -> None:
    [ledger] = (await shop("GET", f"{PLAIN}/internalStats")).json["ledgers"]
    assert (ledger["entries"], ledger["size"], ledger["offloaded"]) == (0, 0, False)


async def test_internal_stats_of_every_partition(shop: Admin) -> None:
    shown = (await shop("GET", f"{PARTED}/partitioned-internalStats")).json
    assert shown["metadata"] == {"partitions": 3, "deleted": False}
    assert len(shown["partitions"]) == 3


async def test_a_topic_with_a_producer_is_deleted_only_by_force(shop: Admin, client: Client) -> None:
    await client.producer(f"{FULL}/plain")
    refused = await shop("DELETE", PLAIN)
    assert refused.status == 412
    assert (await shop("DELETE", f"{PLAIN}?force=true")).status == 204


async def test_a_subscription_with_a_consumer_is_deleted_only_by_force(shop: Admin, client: Client) -> None:
    await client.consumer(f"{FULL}/plain", "s")
    refused = await shop("DELETE", f"{PLAIN}/subscription/s")
    assert (refused.status, refused.reason) == (412, "Subscription has active connected consumers")
    assert (await shop("DELETE", f"{PLAIN}/subscription/s?force=true")).status == 204


async def test_many_subscriptions_are_looked_at_a_few_at_a_time(shop: Admin) -> None:
    topic = await shop.broker.topics.get(parse_topic(f"{FULL}/plain"))
    for first in range(0, 4_000, 100):
        names = [f"s-{number}" for number in range(first, first + 100)]
        await asyncio.gather(*(topic.ledger.open_cursor(name, initial=LATEST, durable=True) for name in names))
    await topic.load()
    for body in (internal_body, info_body, topic_stats):
        looking, slices = asyncio.ensure_future(body(topic)), 0
        while not looking.done():
            await asyncio.sleep(0)
            slices += 1
        assert slices >= 3, body
