from typing import Any

import pytest

from broker_core.names import parse_topic
from broker_core.topic.subscription import Subscription
from tests.broker.admin.conftest import Admin

SHOP = "persistent/acme/shop"
PLAIN = f"{SHOP}/plain"
FULL = "persistent://acme/shop"
EARLIEST = {"ledgerId": -1, "entryId": -1, "partitionIndex": -1}
LATEST = {"ledgerId": 9223372036854775807, "entryId": 9223372036854775807, "partitionIndex": -1}


async def subscription(admin: Admin, name: str, topic: str = f"{FULL}/plain") -> Subscription:
    return (await admin.broker.topics.get(parse_topic(topic))).subscriptions.find(name)


@pytest.mark.parametrize(("text", "waiting"), [("earliest", 2), ("latest", 0)])
async def test_a_position_may_be_named_as_in_pulsar_407(shop: Admin, text: str, waiting: int) -> None:
    await shop.publish(f"{FULL}/plain", [b"1", b"2"])
    assert (await shop("PUT", f"{PLAIN}/subscription/named", text)).status == 204
    assert (await subscription(shop, "named")).cursor.backlog_entries == waiting
    assert (await shop("POST", f"{PLAIN}/subscription/named/resetcursor", "earliest")).status == 204
    assert (await subscription(shop, "named")).cursor.backlog_entries == 2


@pytest.mark.parametrize("text", ["", "Earliest", "1:0", "nonsense"])
@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "named"), ("POST", "there/resetcursor"), ("POST", "there/expireMessages")]
)
async def test_other_names_of_positions_are_refused_as_in_pulsar_407(
    shop: Admin, method: str, path: str, text: str
) -> None:
    await shop.publish(f"{FULL}/plain", [b"1"])
    await shop("PUT", f"{PLAIN}/subscription/there")
    reply = await shop(method, f"{PLAIN}/subscription/{path}", text)
    reason = f"Invalid value {text} for the position. Allowed values are [latest, earliest]"
    assert (reply.status, reply.reason) == (400, reason)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "none/subscriptions", None, 404, f"Topic {FULL}/none not found"),
        ("PUT", "plain/subscription/s", None, 409, "Subscription already exists for topic"),
        ("PUT", "parted/subscription/s", None, 409, "Subscription already exists for topic"),
        ("PUT", "plain/subscription/__compaction", None, 412, "Subscription name __compaction is reserved"),
        ("PUT", "plain/subscription/%20", None, 412, "Subscription name   is reserved"),
        ("DELETE", "plain/subscription/no", None, 404, f"Subscription no not found for topic {FULL}/plain"),
        ("DELETE", "parted/subscription/no", None, 404, "Subscription not found"),
        ("DELETE", "none/subscription/no", None, 404, f"Topic {FULL}/none not found"),
        ("POST", "plain/subscription/no/skip_all", None, 404, f"Subscription no not found for topic {FULL}/plain"),
        ("POST", "parted/subscription/no/skip_all", None, 404, f"Subscription no not found for topic {FULL}/parted"),
        ("POST", "plain/subscription/no/skip/3", None, 404, f"Subscription no not found for topic {FULL}/plain"),
        ("POST", "parted/subscription/s/skip/3", None, 405, "Skip messages on a partitioned topic is not allowed"),
        ("POST", "plain/subscription/s/skip/x", None, 400, "count must be a whole number, not 'x'"),
        (
            "POST",
            "plain/subscription/no/resetcursor/1",
            None,
            404,
            f"Subscription no not found for topic {FULL}/plain",
        ),
        (
            "POST",
            "plain/subscription/no/resetcursor",
            EARLIEST,
            404,
            f"Subscription no not found for topic {FULL}/plain",
        ),
        (
            "POST",
            "parted/subscription/s/resetcursor",
            EARLIEST,
            405,
            "Reset-cursor at position is not allowed for partitioned-topic",
        ),
        (
            "POST",
            "plain/subscription/s/resetcursor",
            None,
            400,
            "a message id with ledgerId and entryId is needed",
        ),
        (
            "POST",
            "plain/subscription/s/expireMessages/5",
            None,
            409,
            f"Expire message by timestamp not issued on topic {FULL}/plain for subscription s due to ongoing "
            "message expiration not finished or subscription almost catch  up. If it's performed on a "
            "partitioned topic operation might succeeded on other partitions, please check stats of "
            "individual partition.",
        ),
    ],
)
async def test_refusals(shop: Admin, method: str, path: str, body: Any, status: int, reason: str) -> None:
    for topic in ("plain", "parted"):
        assert (await shop("PUT", f"{SHOP}/{topic}/subscription/s")).status == 204
    reply = await shop(method, f"{SHOP}/{path}", body)
    assert (reply.status, reply.reason) == (status, reason)


@pytest.mark.parametrize(
    ("body", "backlog"),
    [(None, 0), (LATEST, 0), (EARLIEST, 3), ({**EARLIEST, "properties": {"a": "b"}}, 3)],
)
async def test_a_subscription_starts_where_the_body_says(shop: Admin, body: Any, backlog: int) -> None:
    await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3"])
    assert (await shop("PUT", f"{PLAIN}/subscription/s", body)).status == 204
    found = await subscription(shop, "s")
    assert found.cursor.backlog_entries == backlog
    assert found.cursor.properties == ((body or {}).get("properties") or {})


@pytest.mark.parametrize(("excluded", "backlog"), [(False, 2), (True, 1)])
async def test_a_subscription_starts_at_a_message_or_after_it(shop: Admin, excluded: bool, backlog: int) -> None:
    positions = await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3"])
    body = {"ledgerId": positions[1].ledger_id, "entryId": 1, "excluded": excluded}
    await shop("PUT", f"{PLAIN}/subscription/s", body)
    assert (await subscription(shop, "s")).cursor.backlog_entries == backlog


async def test_creating_a_subscription_creates_its_topic(shop: Admin) -> None:
    assert (await shop("PUT", f"{SHOP}/new/subscription/s")).status == 204
    assert (await shop("GET", f"{SHOP}/new/subscriptions")).json == ["s"]


async def test_subscriptions_of_a_partitioned_topic_are_those_of_its_partitions(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/parted/subscription/all")
    await shop("PUT", f"{SHOP}/parted-partition-1/subscription/one")
    assert (await shop("GET", f"{SHOP}/parted/subscriptions")).json == ["all", "one"]
    assert (await shop("GET", f"{SHOP}/parted-partition-0/subscriptions")).json == ["all"]


async def test_a_subscription_of_some_partitions_is_created_on_the_others(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/parted-partition-1/subscription/s")
    assert (await shop("PUT", f"{SHOP}/parted/subscription/s")).status == 204
    assert (await shop("GET", f"{SHOP}/parted-partition-2/subscriptions")).json == ["s"]


async def test_deleting_a_subscription_of_some_partitions_succeeds(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/parted-partition-1/subscription/s")
    assert (await shop("DELETE", f"{SHOP}/parted/subscription/s")).status == 204
    assert (await shop("GET", f"{SHOP}/parted/subscriptions")).json == []


async def test_the_backlog_is_cleared(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"1", b"2"])
    assert (await shop("POST", f"{PLAIN}/subscription/s/skip_all")).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == 0


async def test_the_backlog_of_every_partition_is_cleared(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/parted/subscription/s")
    for index in range(3):
        await shop.publish(f"{FULL}/parted-partition-{index}", [b"1"])
    assert (await shop("POST", f"{SHOP}/parted/subscription/s/skip_all")).status == 204
    for index in range(3):
        found = await subscription(shop, "s", f"{FULL}/parted-partition-{index}")
        assert found.cursor.backlog_entries == 0


async def test_messages_are_skipped(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3"])
    assert (await shop("POST", f"{PLAIN}/subscription/s/skip/2")).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == 1


async def test_a_subscription_is_moved_to_a_time(shop: Admin) -> None:
    for moment in (1000, 2000, 3000):
        await shop.publish(f"{FULL}/plain", [b"x"], publish_time=moment)
    await shop("PUT", f"{PLAIN}/subscription/s")
    assert (await shop("POST", f"{PLAIN}/subscription/s/resetcursor/1500")).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == 2


@pytest.mark.parametrize(("body", "backlog"), [(EARLIEST, 3), (LATEST, 0)])
async def test_a_subscription_is_moved_to_an_end(shop: Admin, body: Any, backlog: int) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3"])
    assert (await shop("POST", f"{PLAIN}/subscription/s/resetcursor", body)).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == backlog


@pytest.mark.parametrize(("excluded", "backlog"), [(False, 2), (True, 1)])
async def test_a_subscription_is_moved_to_a_message_or_after_it(shop: Admin, excluded: bool, backlog: int) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    positions = await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3"])
    body = {"ledgerId": positions[1].ledger_id, "entryId": 1, "excluded": excluded}
    assert (await shop("POST", f"{PLAIN}/subscription/s/resetcursor", body)).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == backlog


@pytest.mark.parametrize(
    ("index", "excluded", "backlog"),
    [(0, False, 5), (2, False, 3), (2, True, 2), (3, False, 2), (3, True, 1), (9, False, 1)],
)
async def test_a_subscription_is_moved_into_a_batch(shop: Admin, index: int, excluded: bool, backlog: int) -> None:
    (batch,) = await shop.publish(f"{FULL}/plain", [b"four"], num_messages_in_batch=4)
    await shop.publish(f"{FULL}/plain", [b"last"])
    await shop("PUT", f"{PLAIN}/subscription/s")
    body = {"ledgerId": batch.ledger_id, "entryId": 0, "batchIndex": index, "excluded": excluded}
    assert (await shop("POST", f"{PLAIN}/subscription/s/resetcursor", body)).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_messages == backlog


async def test_old_messages_are_expired(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"old"], publish_time=1000)
    await shop.publish(f"{FULL}/plain", [b"new"])
    assert (await shop("POST", f"{PLAIN}/subscription/s/expireMessages/3600")).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == 1
    shown = (await shop("GET", f"{PLAIN}/stats")).json["subscriptions"]["s"]
    assert shown["totalMsgExpired"] == 1
    assert shown["lastExpireTimestamp"] > 0


async def test_young_messages_of_a_subscription_without_consumers_are_looked_through(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"new"])
    assert (await shop("POST", f"{PLAIN}/subscription/s/expireMessages/3600")).status == 204
    assert (await shop("POST", f"{PLAIN}/all_subscription/expireMessages/3600")).status == 204
    assert (await subscription(shop, "s")).cursor.backlog_entries == 1


async def test_old_messages_are_expired_for_all_subscriptions(shop: Admin) -> None:
    for name in ("a", "b"):
        await shop("PUT", f"{PLAIN}/subscription/{name}")
    await shop.publish(f"{FULL}/plain", [b"old"], publish_time=1000)
    assert (await shop("POST", f"{PLAIN}/all_subscription/expireMessages/3600")).status == 204
    for name in ("a", "b"):
        assert (await subscription(shop, name)).cursor.backlog_entries == 0


async def test_a_subscription_keeps_its_position_over_an_unload(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"1", b"2", b"3"])
    await shop("POST", f"{PLAIN}/subscription/s/skip/2")
    await shop("PUT", f"{PLAIN}/unload")
    assert (await subscription(shop, "s")).cursor.backlog_entries == 1


async def test_a_subscription_can_be_marked_as_replicated(shop: Admin) -> None:
    status = "persistent/acme/shop/plain/subscription/s/replicatedSubscriptionStatus"
    await shop("PUT", "persistent/acme/shop/plain/subscription/s?replicated=true", {"properties": {"a": "b"}})
    assert (await shop("GET", status)).json == {f"{FULL}/plain": True}
    shown = (await shop("GET", "persistent/acme/shop/plain/stats")).json["subscriptions"]["s"]
    assert (shown["isReplicated"], shown["replicated"], shown["subscriptionProperties"]) == (True, True, {"a": "b"})
    await shop("PUT", "persistent/acme/shop/plain/subscription/s/properties", {"c": "d"})
    await shop("PUT", "persistent/acme/shop/plain/unload")
    assert (await shop("GET", status)).json == {f"{FULL}/plain": True}
    assert (await shop("POST", status, False)).status == 204
    assert (await shop("GET", status)).json == {f"{FULL}/plain": False}
    assert (await shop("GET", "persistent/acme/shop/plain/subscription/s/properties")).json == {"c": "d"}
