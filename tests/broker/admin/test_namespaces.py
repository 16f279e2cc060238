from typing import Any

import pytest

from broker_core.names import parse_topic
from tests.broker.admin.conftest import Admin

# The answer of Pulsar 4.0.7 for a new namespace.
FRESH = {
    "auth_policies": {"namespace_auth": {}, "destination_auth": {}, "subscription_auth_roles": {}},
    "replication_clusters": ["standalone"],
    "allowed_clusters": [],
    "bundles": {
        "boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"],
        "numBundles": 4,
    },
    "backlog_quota_map": {},
    "clusterDispatchRate": {},
    "topicDispatchRate": {},
    "subscriptionDispatchRate": {},
    "replicatorDispatchRate": {},
    "clusterSubscribeRate": {},
    "publishMaxMessageRate": {},
    "latency_stats_sample_rate": {},
    "deleted": False,
    "encryption_required": False,
    "subscription_auth_mode": "None",
    "offload_threshold": -1,
    "offload_threshold_in_seconds": -1,
    "schema_compatibility_strategy": "UNDEFINED",
    "is_allow_auto_update_schema": True,
    "schema_validation_enforced": False,
    "subscription_types_enabled": [],
    "properties": {},
    "migrated": False,
}


async def test_a_new_namespace_looks_as_in_pulsar(admin: Admin) -> None:
    assert (await admin("GET", "namespaces/public/default")).json == FRESH


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "namespaces/nope", None, 404, "Tenant not found"),
        ("GET", "namespaces/acme/nope", None, 404, "Namespace does not exist"),
        ("GET", "namespaces/acme/nope/topics", None, 404, "Namespace does not exist"),
        ("GET", "namespaces/acme/nope/bundles", None, 404, "Namespace does not exist"),
        ("PUT", "namespaces/acme/shop", None, 409, "Namespace already exists"),
        ("PUT", "namespaces/nope/shop", None, 404, "Tenant does not exist"),
        ("PUT", "namespaces/acme/n%20x", None, 412, "Namespace name is not valid"),
        ("PUT", "namespaces/a%2Fb/n", None, 412, "Tenant name is not valid"),
        ("PUT", "namespaces/acme/n", {"message_ttl_in_seconds": -1}, 412, "Invalid value for message TTL"),
        (
            "PUT",
            "namespaces/acme/n",
            {"replication_clusters": ["x"]},
            403,
            "Cluster [x] is not in the list of allowed clusters list for tenant [acme]",
        ),
        (
            "PUT",
            "namespaces/acme/n",
            {"bundles": {"boundaries": ["0x00000000", "0x8"], "numBundles": 1}},
            400,
            "Input bundles do not cover the whole hash range. first:0x00000000, last:0x00000008",
        ),
        (
            "PUT",
            "namespaces/acme/n",
            {"retention_policies": {"retentionTimeInMinutes": -2, "retentionSizeInMB": 1}},
            400,
            "Invalid retention policy: time limit must be >= -1",
        ),
        ("DELETE", "namespaces/acme/nope", None, 404, "Namespace acme/nope does not exist."),
        ("DELETE", "namespaces/acme/shop", None, 409, "Cannot delete non empty namespace"),
        (
            "DELETE",
            "namespaces/acme/shop?force=true",
            None,
            405,
            "Broker doesn't allow forced deletion of namespaces",
        ),
    ],
)
async def test_refusals(shop: Admin, method: str, path: str, body: Any, status: int, reason: str) -> None:
    reply = await shop(method, path, body)
    assert (reply.status, reply.reason) == (status, reason)


async def test_a_namespace_created_with_policies_has_them_at_once(admin: Admin) -> None:
    body = {
        "message_ttl_in_seconds": 5,
        "retention_policies": {"retentionTimeInMinutes": 1, "retentionSizeInMB": 2},
        "bundles": {"numBundles": 3},
        "max_producers_per_topic": 1,
        "unheard_of": True,
    }
    assert (await admin("PUT", "namespaces/public/n", body)).status == 204
    shown = (await admin("GET", "namespaces/public/n")).json
    assert shown["message_ttl_in_seconds"] == 5
    assert shown["retention_policies"] == {"retentionTimeInMinutes": 1, "retentionSizeInMB": 2}
    assert shown["bundles"]["boundaries"] == ["0x00000000", "0x55555555", "0xaaaaaaaa", "0xffffffff"]
    assert shown["max_producers_per_topic"] == 1
    assert "unheard_of" not in shown


async def test_an_empty_namespace_is_deleted(admin: Admin) -> None:
    await admin("PUT", "namespaces/public/n")
    assert (await admin("DELETE", "namespaces/public/n")).status == 204
    assert (await admin("GET", "namespaces/public")).json == ["public/default", "public/functions"]


async def test_topics_of_a_namespace_are_listed_with_each_partition(shop: Admin) -> None:
    listed = (await shop("GET", "namespaces/acme/shop/topics")).json
    assert listed == [
        "persistent://acme/shop/parted-partition-0",
        "persistent://acme/shop/parted-partition-1",
        "persistent://acme/shop/parted-partition-2",
        "persistent://acme/shop/plain",
    ]
    assert (await shop("GET", "namespaces/acme/shop/topics?mode=ALL")).json == listed
    assert (await shop("GET", "namespaces/acme/shop/topics?mode=NON_PERSISTENT")).json == []


async def test_an_unknown_mode_of_the_topic_list_is_refused(shop: Admin) -> None:
    assert (await shop("GET", "namespaces/acme/shop/topics?mode=SOME")).status == 400


async def test_system_topics_are_listed_only_on_request(admin: Admin) -> None:
    await admin("GET", "brokers/health")
    assert (await admin("GET", "namespaces/pulsar/system/topics")).json == []
    shown = (await admin("GET", "persistent/pulsar/system?includeSystemTopic=true")).json
    assert shown == ["persistent://pulsar/system/__healthcheck"]


async def test_properties_are_merged_and_cleared(admin: Admin) -> None:
    path = "namespaces/public/default/properties"
    assert (await admin("GET", path)).json == {}
    await admin("PUT", path, {"a": "1", "ü %": "😀"})
    await admin("PUT", path, {"a": "2"})
    assert (await admin("GET", path)).json == {"a": "2", "ü %": "😀"}
    assert (await admin("DELETE", path)).status == 204
    assert (await admin("GET", path)).json == {}


async def test_unloading_a_namespace_unloads_its_topics(shop: Admin) -> None:
    await shop("GET", "persistent/acme/shop/plain/stats")
    assert "persistent://acme/shop/plain" in shop.broker.topics.loaded
    assert (await shop("PUT", "namespaces/acme/shop/unload")).status == 204
    assert "persistent://acme/shop/plain" not in shop.broker.topics.loaded


async def test_a_namespace_with_a_non_persistent_topic_is_not_empty(shop: Admin) -> None:
    assert (await shop("PUT", "namespaces/acme/empty")).status == 204
    topic = parse_topic("non-persistent://acme/empty/passing")
    await shop.broker.topics.get(topic, create=True)
    refused = await shop("DELETE", "namespaces/acme/empty")
    assert (refused.status, refused.reason) == (409, "Cannot delete non empty namespace")


async def test_system_topics_are_deleted_with_their_namespace(shop: Admin) -> None:
    assert (await shop("PUT", "namespaces/acme/empty")).status == 204
    topic = parse_topic("persistent://acme/empty/__change_events")
    await shop.broker.topics.get(topic, create=True)
    assert (await shop("DELETE", "namespaces/acme/empty")).status == 204
    assert not shop.broker.topics.exists(topic)
