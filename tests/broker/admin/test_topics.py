import asyncio
from typing import Any, cast

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import TopicConfig
from broker_core.names import parse_topic
from tests.broker.admin.conftest import PORT_ZERO, Admin


async def compacted(admin: Admin, topic: str) -> dict[str, str]:
    """Polls the status of a compaction until it is finished."""
    async with asyncio.timeout(10):
        while (status := (await admin("GET", f"{topic}/compaction")).json)["status"] == "RUNNING":
            pass
    return cast(dict[str, str], status)


SHOP = "persistent/acme/shop"
FULL = "persistent://acme/shop"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("PUT", "plain", None, 409, "This topic already exists"),
        ("PUT", "parted", None, 409, "This topic already exists"),
        ("PUT", "parted-partition-1", None, 409, "This topic already exists"),
        (
            "PUT",
            "parted-partition-7",
            None,
            412,
            'Can\'t create topic parted-partition-7 with "-partition-" followed by a number smaller than '
            "number of partition of partitioned topic parted",
        ),
        (
            "PUT",
            "c-partition-1",
            None,
            412,
            "Can't create topic c-partition-1 with \"-partition-\" followed by numeric value if there isn't "
            "a partitioned topic c created.",
        ),
        ("PUT", "a%2Fb", None, 412, "Topic name is not valid"),
        ("PUT", "%20a", None, 412, "Topic name is not valid: ' a' begins or ends with a blank"),
        ("PUT", "a%20", None, 412, "Topic name is not valid: 'a ' begins or ends with a blank"),
        ("PUT", "a%20/partitions", 2, 412, "Topic name is not valid: 'a ' begins or ends with a blank"),
        ("PUT", "t-s__transaction_pending_ack", None, 400, "Cannot create topic in system topic format!"),
        ("PUT", "t-s__transaction_pending_ack/partitions", 2, 400, "Cannot create topic in system topic format!"),
        ("POST", "none/terminate", None, 404, f"Topic {FULL}/none not found"),
        ("POST", "parted/terminate", None, 405, "Termination of a partitioned topic is not allowed"),
        (
            "POST",
            "plain/terminate/partitions",
            None,
            405,
            "Termination of a non-partitioned topic is not allowed using partitioned-terminate,"
            " please use terminate commands",
        ),
        ("POST", "__change_events/terminate", None, 405, "Termination of a system topic is not allowed"),
        ("PUT", "plain/partitions", 2, 409, "This topic already exists"),
        ("PUT", "parted/partitions", 2, 409, "This topic already exists"),
        ("PUT", "new/partitions", 0, 406, "Number of partitions should be more than 0"),
        ("PUT", "new/partitions", -1, 406, "Number of partitions should be more than 0"),
        ("PUT", "new/partitions", "x", 400, "partitions must be a whole number, not 'x'"),
        ("PUT", "new/partitions", None, 400, "the number of partitions is missing"),
        (
            "PUT",
            "n-partition-x/partitions",
            2,
            412,
            "Partitioned Topic Name should not contain '-partition-'",
        ),
        (
            "POST",
            "parted/partitions",
            2,
            422,
            "Desired partitions 2 can't be less than the current partitions 3.",
        ),
        ("POST", "plain/partitions", 4, 409, f"Topic {FULL}/plain is not the partitioned topic."),
        ("POST", "none/partitions", 4, 409, f"Topic {FULL}/none is not the partitioned topic."),
        ("GET", "none/partitions", None, 404, f"Topic {FULL}/none not found"),
        (
            "DELETE",
            "parted",
            None,
            409,
            f"{FULL}/parted is a partitioned topic, instead of calling delete topic, "
            "please call delete-partitioned-topic.",
        ),
        (
            "DELETE",
            "plain/partitions",
            None,
            409,
            f"{FULL}/plain is a non-partitioned topic. Instead of calling delete-partitioned-topic please call delete.",
        ),
        ("DELETE", "none", None, 404, f"Topic {FULL}/none not found"),
        ("DELETE", "none/partitions", None, 404, f"Topic {FULL}/none not found."),
        (
            "DELETE",
            "parted-partition-0/partitions",
            None,
            412,
            "Partitioned Topic Name should not contain '-partition-'",
        ),
        ("PUT", "none/unload", None, 404, f"Topic {FULL}/none not found"),
        ("PUT", "none/compaction", None, 404, f"Topic {FULL}/none not found"),
        ("GET", "none/compaction", None, 404, f"Topic {FULL}/none not found"),
        ("GET", "parted/compaction", None, 404, f"Topic {FULL}/parted not found"),
        ("GET", "none/lastMessageId", None, 404, f"Topic {FULL}/none not found"),
        ("GET", "parted/lastMessageId", None, 404, f"Topic {FULL}/parted not found"),
        ("GET", "parted-partition-9/lastMessageId", None, 404, "Topic partitions were not yet created"),
        (
            "GET",
            "parted/messageid/1",
            None,
            405,
            "Get message ID by timestamp on a partitioned topic is not allowed, please try do it on "
            "specific topic partition",
        ),
        ("GET", "parted/getMessageIdByIndex", None, 405, "GetMessageIDByIndex is not allowed on partitioned-topic"),
        ("GET", "plain/getMessageIdByIndex?index=0", None, 404, "Message not found for index 0"),
        ("GET", "plain/getMessageIdByIndex?index=x", None, 400, "index must be a whole number, not 'x'"),
        ("GET", "plain/messageid/x", None, 400, "timestamp must be a whole number, not 'x'"),
    ],
)
async def test_refusals(shop: Admin, method: str, path: str, body: Any, status: int, reason: str) -> None:
    reply = await shop(method, f"{SHOP}/{path}", body)
    assert (reply.status, reply.reason) == (status, reason)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "persistent/acme/nope", None, 404, "Namespace does not exist"),
        ("GET", "persistent/acme/nope/partitioned", None, 404, "Namespace does not exist"),
        ("PUT", "persistent/acme/nope/t", None, 404, "Namespace not found"),
        ("PUT", "persistent/acme/nope/t/partitions", 2, 404, "Namespace not found"),
        ("DELETE", "persistent/acme/nope/t", None, 404, "Namespace not found"),
        ("GET", "persistent/acme/nope/t/stats", None, 404, "Namespace not found"),
        ("PUT", "persistent/acme/n%20x/t", None, 412, "Namespace name is not valid"),
        ("PUT", "persistent/a%20b/n/t", None, 412, "Tenant name is not valid"),
        (
            "POST",
            "non-persistent/acme/shop/t/trim",
            None,
            405,
            "Trim on a non-persistent topic is not allowed",
        ),
    ],
)
async def test_invalid_requests_are_refused_before_the_topic_is_looked_up(
    shop: Admin, method: str, path: str, body: Any, status: int, reason: str
) -> None:
    reply = await shop(method, path, body)
    assert (reply.status, reply.reason) == (status, reason)


async def test_the_list_of_a_bundle_has_only_its_topics(shop: Admin) -> None:
    everything = (await shop("GET", SHOP)).json
    bundles = ["0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xc0000000", "0xc0000000_0xffffffff"]
    lists = [(await shop("GET", f"{SHOP}?bundle={bundle}")).json for bundle in bundles]
    assert sorted(name for names in lists for name in names) == everything
    assert max(map(len, lists)) < len(everything)
    reply = await shop("GET", f"{SHOP}?bundle=nope")
    assert (reply.status, reply.reason) == (412, "Invalid bundle range: nope")


async def test_non_persistent_topics_are_listed_by_bundle(shop: Admin) -> None:
    await shop("PUT", "non-persistent/acme/shop/quick")
    bundle = (await shop("GET", "/lookup/v2/topic/non-persistent/acme/shop/quick/bundle")).text
    assert (await shop("GET", f"non-persistent/acme/shop/{bundle}")).json == ["non-persistent://acme/shop/quick"]
    assert (await shop("GET", f"{SHOP}/{bundle}")).status == 405


async def test_unloading_a_namespace_unloads_non_persistent_topics(shop: Admin) -> None:
    await shop("PUT", "non-persistent/acme/shop/quick")
    assert (await shop("PUT", "namespaces/acme/shop/unload")).status == 204
    assert (await shop("GET", "non-persistent/acme/shop")).json == []


async def test_listings_show_topics_partitions_and_partitioned_topics_apart(shop: Admin) -> None:
    assert (await shop("GET", SHOP)).json == [
        f"{FULL}/parted-partition-0",
        f"{FULL}/parted-partition-1",
        f"{FULL}/parted-partition-2",
        f"{FULL}/plain",
    ]
    assert (await shop("GET", f"{SHOP}/partitioned")).json == [f"{FULL}/parted"]
    assert (await shop("GET", "non-persistent/acme/shop")).json == []
    assert (await shop("GET", "non-persistent/acme/shop/partitioned")).json == []


@pytest.mark.parametrize("body", [None, {}, {"owner": "me"}, 0, []])
async def test_a_topic_is_created_with_a_body_that_says_nothing(shop: Admin, body: Any) -> None:
    assert (await shop("PUT", f"{SHOP}/new", body)).status == 204

    assert (await shop("GET", f"{SHOP}/new/partitions")).json == {"partitions": 0, "deleted": False}


@pytest.mark.parametrize("domain", ["persistent", "non-persistent"])
@pytest.mark.parametrize("body", [1, "x", [1], True, {"owner": {}}])
async def test_a_topic_is_not_created_with_a_body_that_pulsar_407_refuses(shop: Admin, domain: str, body: Any) -> None:
    assert (await shop("PUT", f"{domain}/acme/shop/new", body)).status == 400
    assert f"{domain}://acme/shop/new" not in (await shop("GET", f"{domain}/acme/shop")).json


async def test_a_partitioned_topic_is_created_shown_and_deleted(shop: Admin) -> None:
    path = f"{SHOP}/p/partitions"
    assert (await shop("PUT", path, 2)).status == 204
    assert (await shop("GET", path)).json == {"partitions": 2, "deleted": False}
    assert (await shop("POST", path, 4)).status == 204
    assert (await shop("GET", path)).json == {"partitions": 4, "deleted": False}
    assert f"{FULL}/p-partition-3" in (await shop("GET", SHOP)).json
    assert (await shop("DELETE", path)).status == 204
    assert not [name for name in (await shop("GET", SHOP)).json if "/p-" in name]


async def test_a_partitioned_topic_is_created_from_a_metadata_object(shop: Admin) -> None:
    body = {"partitions": 2, "properties": {"owner": "ünï"}}
    assert (await shop("PUT", f"{SHOP}/p/partitions", body)).status == 204
    assert (await shop("GET", f"{SHOP}/p/partitions")).json["properties"] == {"owner": "ünï"}


async def test_new_partitions_get_the_subscriptions_of_partition_0(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/parted/subscription/s")
    await shop("POST", f"{SHOP}/parted/partitions", 4)
    assert (await shop("GET", f"{SHOP}/parted-partition-3/subscriptions")).json == ["s"]


async def test_a_deleted_partition_is_created_again_on_request(shop: Admin) -> None:
    assert (await shop("DELETE", f"{SHOP}/parted-partition-1")).status == 204
    assert (await shop("GET", f"{SHOP}/parted-partition-1/stats")).status == 404
    assert (await shop("POST", f"{SHOP}/parted/createMissedPartitions")).status == 204
    assert (await shop("GET", f"{SHOP}/parted-partition-1/stats")).status == 200


async def test_a_clients_metadata_request_succeeds_where_use_creates_the_topic(shop: Admin) -> None:
    reply = await shop("GET", f"{SHOP}/none/partitions?checkAllowAutoCreation=true")
    assert (reply.status, reply.json["partitions"]) == (200, 0)


async def test_a_topic_is_deleted_with_its_messages(shop: Admin) -> None:
    await shop.publish(f"{FULL}/plain", [b"one"])
    assert (await shop("DELETE", f"{SHOP}/plain")).status == 204
    assert (await shop("GET", f"{SHOP}/plain/stats")).status == 404
    await shop("PUT", f"{SHOP}/plain")
    assert (await shop("GET", f"{SHOP}/plain/internalStats")).json["numberOfEntries"] == 0


async def test_an_unloaded_topic_is_loaded_again_with_its_messages(shop: Admin) -> None:
    await shop.publish(f"{FULL}/plain", [b"one"])
    assert (await shop("PUT", f"{SHOP}/plain/unload")).status == 204
    assert f"{FULL}/plain" not in shop.broker.topics.loaded
    assert (await shop("GET", f"{SHOP}/plain/internalStats")).json["numberOfEntries"] == 1


async def test_unloading_a_partitioned_topic_unloads_each_partition(shop: Admin) -> None:
    await shop("GET", f"{SHOP}/parted/partitioned-stats")
    assert len(shop.broker.topics.loaded) == 3
    assert (await shop("PUT", f"{SHOP}/parted/unload")).status == 204
    assert not shop.broker.topics.loaded


async def test_the_last_message_id_of_an_empty_topic_has_entry_minus_one(shop: Admin) -> None:
    assert (await shop("GET", f"{SHOP}/plain/lastMessageId")).json["entryId"] == -1


async def test_the_last_message_id_names_partition_and_batch(shop: Admin) -> None:
    [position] = await shop.publish(f"{FULL}/parted-partition-2", [b"three"], num_messages_in_batch=3)
    assert (await shop("GET", f"{SHOP}/parted-partition-2/lastMessageId")).json == {
        "ledgerId": position.ledger_id,
        "entryId": 0,
        "partitionIndex": 2,
        "batchSize": 3,
        "batchIndex": 2,
    }


async def test_a_message_id_is_found_by_publish_time(shop: Admin) -> None:
    for moment in (1000, 2000, 3000):
        await shop.publish(f"{FULL}/plain", [b"x"], publish_time=moment)
    found = (await shop("GET", f"{SHOP}/plain/messageid/1500")).json
    assert (found["entryId"], found["partitionIndex"]) == (1, -1)


async def test_a_message_id_is_found_by_its_index(shop: Admin) -> None:
    await shop.publish(f"{FULL}/plain", [b"x"])
    await shop.publish(f"{FULL}/plain", [b"batch"], num_messages_in_batch=3)
    found = [(await shop("GET", f"{SHOP}/plain/getMessageIdByIndex?index={index}")).json for index in (0, 2)]
    assert [one["entryId"] for one in found] == [0, 1]
    assert [(one["batchSize"], one["batchIndex"]) for one in found] == [(0, -1), (3, 1)]


async def test_compaction_runs_in_the_background_and_reports_success(shop: Admin) -> None:
    for value in (b"old", b"new"):
        await shop.publish(f"{FULL}/plain", [value], partition_key="k")
    status = f"{SHOP}/plain/compaction"
    assert (await shop("GET", status)).json == {"status": "NOT_RUN", "lastError": ""}
    assert (await shop("PUT", status)).status == 204
    assert await compacted(shop, f"{SHOP}/plain") == {"status": "SUCCESS", "lastError": ""}


async def test_compacting_a_partitioned_topic_compacts_each_partition(shop: Admin) -> None:
    assert (await shop("PUT", f"{SHOP}/parted/compaction")).status == 204
    for index in range(3):
        assert (await compacted(shop, f"{SHOP}/parted-partition-{index}"))["status"] == "SUCCESS"


async def test_lookup_over_http_names_this_broker(shop: Admin) -> None:
    broker = shop.broker
    expected = {
        "brokerUrl": broker.service_url,
        "httpUrl": broker.http_url,
        "nativeUrl": broker.service_url,
        "brokerUrlSsl": "",
    }
    assert broker.service_url.startswith("pulsar://localhost:")
    for name in ("plain", "parted", "parted-partition-0", "none"):
        assert (await shop("GET", f"/lookup/v2/topic/{SHOP}/{name}")).json == expected


async def test_lookup_in_a_missing_namespace_is_404(shop: Admin) -> None:
    reply = await shop("GET", "/lookup/v2/topic/persistent/acme/nope/t")
    assert (reply.status, reply.reason) == (404, "Namespace not found")


async def test_a_lookup_of_an_unknown_listener_fails(admin: Admin) -> None:
    reply = await admin("GET", "/lookup/v2/topic/persistent/public/default/t?listenerName=nope")
    assert (reply.status, reply.reason) == (500, "the broker do not have nope listener")


async def test_lookup_returns_the_bundle_of_a_topic(admin: Admin) -> None:
    reply = await admin("GET", "/lookup/v2/topic/persistent/public/default/test-get-topic-bundle-range/bundle")
    assert (reply.text, reply.content_type) == ("0xc0000000_0xffffffff", "text/plain")


class TestWithoutAutoCreation:
    @pytest.fixture
    def config(self) -> BrokerConfig:
        return BrokerConfig(server=PORT_ZERO, topics=TopicConfig(allow_auto_creation=False))

    async def test_lookup_of_a_missing_topic_is_404(self, shop: Admin) -> None:
        reply = await shop("GET", f"/lookup/v2/topic/{SHOP}/none")
        assert (reply.status, reply.reason) == (404, "Topic not found.")

    async def test_partitions_of_a_missing_topic_are_404(self, shop: Admin) -> None:
        assert (await shop("GET", f"{SHOP}/none/partitions?checkAllowAutoCreation=true")).status == 404

    async def test_a_subscription_creates_no_topic(self, shop: Admin) -> None:
        assert (await shop("PUT", f"{SHOP}/none/subscription/s")).status == 404
        assert not shop.broker.topics.exists(parse_topic(f"{FULL}/none"))


async def test_a_terminated_topic_takes_no_ledger_for_messages_of_another_cluster(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/ended")
    await shop("POST", f"{SHOP}/ended/terminate")
    answer = await shop("POST", f"{SHOP}/ended/migration/ledger", {"above": 100})
    assert (answer.status, answer.json["reason"]) == (
        409,
        f"Topic {FULL}/ended is terminated and takes no more messages",
    )


async def test_the_list_of_topics_can_be_restricted_to_those_with_properties(admin: Admin) -> None:
    root = "persistent/public/default"
    await admin("PUT", f"{root}/a", {"owner": "billing", "zone": "x,y"})
    await admin("PUT", f"{root}/b", {"owner": "billing"})
    await admin("PUT", f"{root}/c/partitions", {"partitions": 1, "properties": {"owner": "sales"}})
    await admin("PUT", f"{root}/d")
    names = {
        "owner=billing": ["a", "b"],
        "owner=billing,zone=x%252Cy": ["a"],
        "owner=sales": ["c-partition-0"],
        "owner=other": [],
        "": ["a", "b", "c-partition-0", "d"],
    }
    for properties, expected in names.items():
        listed = (await admin("GET", f"{root}?properties={properties}")).json
        assert listed == [f"persistent://public/default/{name}" for name in expected]
    assert (await admin("GET", "non-persistent/public/default?properties=owner%3Dbilling")).json == []
    assert (await admin("GET", f"{root}?properties=owner")).status == 400
