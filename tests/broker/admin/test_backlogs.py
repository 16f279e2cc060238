"""Counting a backlog, showing a topic at rest, and truncating it."""

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import TopicConfig
from tests.broker.admin.conftest import PORT_ZERO, Admin

TOPIC = "persistent/acme/shop/plain"
FULL = "persistent://acme/shop/plain"
ANALYZE = f"{TOPIC}/subscription/s/analyzeBacklog"


@pytest.fixture
def config() -> BrokerConfig:
    return BrokerConfig(server=PORT_ZERO, topics=TopicConfig(scan_entries=4))


async def test_a_backlog_is_counted_in_entries_and_messages(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    await shop.publish(FULL, [b"1"])
    await shop.publish(FULL, [b"batch"], num_messages_in_batch=10)
    found = (await shop("POST", ANALYZE)).json
    assert (found["entries"], found["messages"], found["aborted"]) == (2, 11, False)
    assert (found["filterAcceptedEntries"], found["filterAcceptedMessages"]) == (2, 11)
    assert found["filterRejectedEntries"] == 0
    assert found["firstMessageId"].endswith(":0") and found["lastMessageId"].endswith(":1")


async def test_acknowledged_messages_and_those_before_the_position_do_not_count(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    positions = await shop.publish(FULL, [b"1", b"2", b"3"])
    await shop("POST", f"{TOPIC}/subscription/s/skip/1")
    assert (await shop("POST", ANALYZE)).json["entries"] == 2
    last = {"ledgerId": positions[2].ledger_id, "entryId": positions[2].entry_id}
    assert (await shop("POST", ANALYZE, last)).json["entries"] == 1


async def test_markers_count_as_entries_without_messages(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    await shop.publish(FULL, [b"marker"], num_messages_in_batch=0)
    await shop.publish(FULL, [b"1"])
    found = (await shop("POST", ANALYZE)).json
    assert (found["entries"], found["messages"], found["markerMessages"]) == (2, 1, 1)


async def test_a_count_ends_at_the_configured_number_of_entries(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    await shop.publish(FULL, [b"x"] * 6)
    found = (await shop("POST", ANALYZE)).json
    assert (found["entries"], found["aborted"]) == (4, True)


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        (
            "persistent/acme/shop/parted/subscription/s/analyzeBacklog",
            405,
            "Analyze backlog on a partitioned topic is not allowed, please try do it on specific topic partition",
        ),
        (f"{TOPIC}/subscription/nope/analyzeBacklog", 404, f"Subscription nope not found for topic {FULL}"),
    ],
)
async def test_what_cannot_be_counted_is_refused(shop: Admin, path: str, status: int, reason: str) -> None:
    reply = await shop("POST", path)
    assert (reply.status, reply.reason) == (status, reason)


async def test_a_topic_at_rest_is_shown_with_its_ledgers_and_cursors(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    await shop.publish(FULL, [b"1", b"2"])
    found = (await shop("GET", f"{TOPIC}/backlog")).json
    assert (found["totalMessages"], found["messageBacklog"]) == (2, 2)
    assert found["topicName"] == "acme/shop/persistent/plain"
    assert found["cursorDetails"] == {"s": {"cursorBacklog": 2, "cursorLedgerId": -1}}
    assert found["storageSize"] > 0 and len(found["dataLedgerDetails"]) == 1


async def test_truncating_deletes_all_messages_whatever_retention_says(shop: Admin) -> None:
    await shop("POST", f"{TOPIC}/retention", {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1})
    await shop("PUT", f"{TOPIC}/subscription/s")
    await shop.publish(FULL, [b"1", b"2"])
    assert (await shop("DELETE", f"{TOPIC}/truncate")).status == 204
    assert (await shop("GET", f"{TOPIC}/internalStats")).json["numberOfEntries"] == 0
    await shop.publish(FULL, [b"3"])
    assert (await shop("GET", f"{TOPIC}/stats")).json["subscriptions"]["s"]["msgBacklog"] == 1


async def test_truncating_includes_every_partition_and_what_deduplication_keeps(shop: Admin) -> None:
    parted = "persistent/acme/shop/parted"
    await shop("POST", f"{parted}/deduplicationEnabled", True)
    for index in range(3):
        await shop.publish(f"persistent://acme/shop/parted-partition-{index}", [b"x"], partition_key="k")
    assert (await shop("DELETE", f"{parted}/truncate")).status == 204
    for index in range(3):
        shown = (await shop("GET", f"{parted}-partition-{index}/internalStats")).json
        assert shown["numberOfEntries"] == 0


async def test_a_non_persistent_topic_is_not_truncated(shop: Admin) -> None:
    await shop("PUT", "non-persistent/acme/shop/quick")
    reply = await shop("DELETE", "non-persistent/acme/shop/quick/truncate")
    assert (reply.status, reply.reason) == (412, "unsupport truncate")
