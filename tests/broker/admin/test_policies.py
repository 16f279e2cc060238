"""Retention, TTL, and compaction threshold of a namespace and a topic over REST."""

import asyncio
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.metadata.policies.values import RetentionPolicy
from broker_core.names import parse_topic
from tests.broker.admin.conftest import PORT_ZERO, Admin

NAMESPACE = "namespaces/acme/shop"
TOPIC = "persistent/acme/shop/plain"
PLAIN = parse_topic("persistent://acme/shop/plain")
LABELS = 'namespace="acme/shop",topic="persistent://acme/shop/plain"'
RETENTION = {"retentionTimeInMinutes": 5, "retentionSizeInMB": 50}
ONE_ZERO = (
    "Invalid retention policy: Setting a single time or size limit to 0 is invalid when one of the limits has a"
    " non-zero value. Use the value of -1 instead of 0 to ignore a specific limit. To disable retention"
    " both limits must be set to 0."
)


@pytest.mark.parametrize("path", [NAMESPACE, TOPIC, "persistent/acme/shop/parted"])
async def test_retention_is_set_read_and_removed(shop: Admin, path: str) -> None:
    unset = await shop("GET", f"{path}/retention")
    assert (unset.status, unset.text) == (204, "")
    assert (await shop("POST", f"{path}/retention", RETENTION)).status == 204
    assert (await shop("GET", f"{path}/retention")).json == RETENTION
    assert (await shop("DELETE", f"{path}/retention")).status == 204
    assert (await shop("GET", f"{path}/retention")).status == 204


async def test_posting_null_removes_a_policy_of_a_namespace(shop: Admin) -> None:
    for policy, value in (("retention", RETENTION), ("messageTTL", 5)):
        await shop("POST", f"{NAMESPACE}/{policy}", value)
        assert (await shop("POST", f"{NAMESPACE}/{policy}", raw=b"null")).status == 204
        assert (await shop("GET", f"{NAMESPACE}/{policy}")).status == 204


async def test_ttl_of_a_namespace_is_a_bare_number(shop: Admin) -> None:
    assert (await shop("POST", f"{NAMESPACE}/messageTTL", 0)).status == 204
    assert (await shop("GET", f"{NAMESPACE}/messageTTL")).text == "0"
    assert (await shop("DELETE", f"{NAMESPACE}/messageTTL")).status == 204
    assert (await shop("GET", f"{NAMESPACE}/messageTTL")).text == ""


async def test_ttl_of_a_topic_is_in_the_query(shop: Admin) -> None:
    assert (await shop("POST", f"{TOPIC}/messageTTL?messageTTL=11")).status == 204
    assert (await shop("GET", f"{TOPIC}/messageTTL")).text == "11"
    assert (await shop("DELETE", f"{TOPIC}/messageTTL?messageTTL=0")).status == 204
    assert (await shop("GET", f"{TOPIC}/messageTTL")).status == 204


async def test_the_expiration_time_of_subscriptions_is_set_on_a_topic_by_the_query(shop: Admin) -> None:
    path = f"{TOPIC}/subscriptionExpirationTime"
    await shop("POST", f"{NAMESPACE}/subscriptionExpirationTime", 7)
    assert (await shop("GET", path)).status == 204
    assert (await shop("GET", f"{path}?applied=true")).text == "7"
    assert (await shop("POST", f"{path}?subscriptionExpirationTime=5")).status == 204
    assert [(await shop("GET", f"{path}{query}")).text for query in ("", "?applied=true")] == ["5", "5"]
    assert (await shop("DELETE", path)).status == 204
    assert (await shop("GET", f"{path}?applied=true")).text == "7"


async def test_the_compaction_threshold_is_put_on_a_namespace_and_posted_to_a_topic(shop: Admin) -> None:
    assert (await shop("PUT", f"{NAMESPACE}/compactionThreshold", 100)).status == 204
    assert (await shop("POST", f"{TOPIC}/compactionThreshold", 200)).status == 204
    assert (await shop("GET", f"{NAMESPACE}/compactionThreshold")).text == "100"
    assert (await shop("GET", f"{TOPIC}/compactionThreshold")).text == "200"
    assert (await shop("POST", f"{NAMESPACE}/compactionThreshold", 1)).status == 405
    assert (await shop("PUT", f"{TOPIC}/compactionThreshold", 1)).status == 405


async def test_applied_reads_topic_then_namespace_then_configuration(shop: Admin) -> None:
    applied = f"{TOPIC}/messageTTL?applied=true"
    assert (await shop("GET", applied)).text == "0"
    await shop("POST", f"{NAMESPACE}/messageTTL", 7)
    assert (await shop("GET", applied)).text == "7"
    await shop("POST", f"{TOPIC}/messageTTL?messageTTL=9")
    assert (await shop("GET", applied)).text == "9"
    assert (await shop("GET", f"{TOPIC}/retention?applied=true")).json == {
        "retentionTimeInMinutes": 0,
        "retentionSizeInMB": 0,
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("POST", f"{NAMESPACE}/retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 5}, 400, ONE_ZERO),
        ("POST", f"{NAMESPACE}/retention", {"retentionTimeInMinutes": 3}, 400, ONE_ZERO),
        ("POST", f"{TOPIC}/retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 5}, 400, ONE_ZERO),
        (
            "POST",
            f"{TOPIC}/retention",
            {"retentionTimeInMinutes": 3, "retentionSizeInMB": -5},
            400,
            "Invalid retention policy: size limit must be >= -1",
        ),
        ("POST", f"{TOPIC}/retention", [1], 400, "retention must be a JSON object"),
        (
            "POST",
            f"{NAMESPACE}/messageTTL",
            -1,
            412,
            "Invalid value for message TTL, message TTL must >= 0",
        ),
        ("POST", f"{TOPIC}/messageTTL?messageTTL=-1", None, 412, "Invalid value for message TTL"),
        (
            "POST",
            f"{TOPIC}/subscriptionExpirationTime?subscriptionExpirationTime=-1",
            None,
            412,
            "Invalid value for subscription expiration time",
        ),
        ("PUT", f"{NAMESPACE}/compactionThreshold", -1, 412, "compactionThreshold must be 0 or more"),
        ("POST", f"{TOPIC}/compactionThreshold", -1, 412, "Invalid value for compactionThreshold"),
        ("POST", "namespaces/acme/nope/retention", RETENTION, 404, "Namespace policies does not exist"),
        ("DELETE", "namespaces/acme/nope/retention", None, 404, "Namespace policies does not exist"),
        ("GET", "namespaces/acme/nope/retention", None, 404, "Namespace does not exist"),
        ("GET", "namespaces/acme/nope/messageTTL", None, 404, "Namespace does not exist"),
        ("POST", "namespaces/acme/nope/messageTTL", 5, 404, "Namespace does not exist"),
        ("PUT", "namespaces/acme/nope/compactionThreshold", 5, 404, "Namespace does not exist"),
        ("GET", "persistent/acme/shop/no/retention", None, 404, "Topic persistent://acme/shop/no not found"),
        (
            "POST",
            "persistent/acme/shop/no/retention",
            RETENTION,
            404,
            "Topic persistent://acme/shop/no not found",
        ),
        (
            "GET",
            "persistent/acme/shop/parted-partition-0/retention",
            None,
            412,
            "Not allowed to set/get topic policy for a partition",
        ),
        (
            "POST",
            "persistent/acme/shop/parted-partition-0/messageTTL?messageTTL=1",
            None,
            412,
            "Not allowed to set/get topic policy for a partition",
        ),
    ],
)
async def test_refusals(shop: Admin, method: str, path: str, body: Any, status: int, reason: str) -> None:
    reply = await shop(method, path, body)
    assert (reply.status, reply.reason) == (status, reason)


async def test_a_refused_policy_changes_nothing(shop: Admin) -> None:
    await shop("POST", f"{NAMESPACE}/retention", RETENTION)
    await shop("POST", f"{NAMESPACE}/retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 5})
    assert (await shop("GET", f"{NAMESPACE}/retention")).json == RETENTION


async def test_a_loaded_topic_has_a_new_policy_at_once(shop: Admin) -> None:
    topic = await shop.broker.topics.get(PLAIN)
    await shop("POST", f"{NAMESPACE}/retention", RETENTION)
    assert topic.policies.retention == RetentionPolicy(5, 50)
    await shop("POST", f"{TOPIC}/messageTTL?messageTTL=3")
    assert topic.policies.ttl_seconds == 3


async def test_a_new_ttl_applies_to_topics_that_are_not_loaded(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    await shop.publish(str(PLAIN), [b"old"], publish_time=1000)
    await shop("PUT", f"{TOPIC}/unload")
    await shop("POST", f"{NAMESPACE}/messageTTL", 60)
    async with asyncio.timeout(10):
        while (await shop("GET", "/metrics")).text.find(f'pulsar_msg_backlog{{cluster="standalone",{LABELS}}} 0') < 0:
            pass


async def status_of_compaction(shop: Admin, wanted: str) -> None:
    async with asyncio.timeout(10):
        while (await shop("GET", f"{TOPIC}/compaction")).json["status"] != wanted:
            pass


async def test_a_topic_is_compacted_when_it_exceeds_its_threshold(shop: Admin) -> None:
    await shop("POST", f"{TOPIC}/compactionThreshold", 1000)
    await shop.publish(str(PLAIN), [b"x"], partition_key="k")
    assert (await shop("GET", f"{TOPIC}/compaction")).json["status"] == "NOT_RUN"
    await shop.publish(str(PLAIN), [b"x" * 1000], partition_key="k")
    await status_of_compaction(shop, "SUCCESS")


async def test_a_new_threshold_counts_existing_messages(shop: Admin) -> None:
    await shop.publish(str(PLAIN), [b"x" * 1000], partition_key="k")
    await shop("PUT", f"{NAMESPACE}/compactionThreshold", 1000)
    await status_of_compaction(shop, "SUCCESS")


async def test_deleting_a_topic_deletes_its_policies(shop: Admin) -> None:
    await shop("POST", f"{TOPIC}/retention", RETENTION)
    await shop("DELETE", TOPIC)
    await shop("PUT", TOPIC)
    assert (await shop("GET", f"{TOPIC}/retention")).status == 204


class TestWithoutTopicPolicies:
    @pytest.fixture
    def config(self) -> BrokerConfig:
        return BrokerConfig(server=PORT_ZERO, policies=PolicyConfig(topic_policies=False))

    async def test_disabled_topic_policies_are_refused_with_405(self, shop: Admin) -> None:
        reply = await shop("POST", f"{TOPIC}/retention", RETENTION)
        assert reply.status == 405
        assert reply.reason.startswith("Topic level policies is disabled")


@pytest.mark.parametrize("domain", ["persistent", "non-persistent"])
async def test_all_policies_of_a_topic_come_with_one_request(shop: Admin, domain: str) -> None:
    topic = f"{domain}/acme/shop/whole"
    await shop("PUT", topic)
    assert (await shop("GET", f"{topic}/policies")).json == {}
    quota = {"limitSize": 5, "policy": "producer_exception"}
    await shop("POST", f"{topic}/retention", RETENTION)
    await shop("POST", f"{topic}/messageTTL?messageTTL=9")
    await shop("POST", f"{topic}/backlogQuota?backlogQuotaType=message_age", quota)
    await shop("POST", f"{topic}/replication", ["standalone"])
    await shop("POST", f"{topic}/maxConsumers?isGlobal=true", 3)
    shown = {"limit": 5, "limitSize": 5, "limitTime": 0, "policy": "producer_exception"}
    found = (await shop("GET", f"{topic}/policies")).json
    assert found == {
        "retention": RETENTION,
        "messageTTL": 9,
        "replication": ["standalone"],
        "backlogQuotaMap": {"message_age": shown},
    }
    for name, value in found.items():
        assert (await shop("GET", f"{topic}/{name}")).json == value
    assert (await shop("GET", f"{topic}/policies?isGlobal=true")).json == {"maxConsumers": 3}


async def test_the_policies_of_a_missing_topic_are_not_found(shop: Admin) -> None:
    assert (await shop("GET", "persistent/acme/shop/missing/policies")).status == 404
