"""The record of the broker's own cluster, and the clusters that namespaces and topics replicate to."""

from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from tests.broker.admin.conftest import PORT_ZERO, Admin, start

ADDRESSES = {"serviceUrl": "http://front:8080", "brokerServiceUrl": "pulsar://front:6650"}
NAMESPACE = "namespaces/acme/shop/replication"
TOPIC = "persistent/acme/shop/plain/replication"


async def test_the_record_of_our_cluster_is_replaced_and_shown(admin: Admin) -> None:
    assert (await admin("POST", "clusters/standalone", ADDRESSES)).status == 200
    shown = (await admin("GET", "clusters/standalone")).json
    assert shown["serviceUrl"] == "http://front:8080" and shown["brokerServiceUrl"] == "pulsar://front:6650"
    assert (await admin("POST", "clusters/standalone", {"tlsAllowInsecureConnection": True})).status == 200
    shown = (await admin("GET", "clusters/standalone")).json
    assert shown["serviceUrl"] == admin.broker.http_url and shown["tlsAllowInsecureConnection"] is True


async def test_cluster_records_survive_a_restart(tmp_path: Path) -> None:
    config = BrokerConfig(server=PORT_ZERO)
    server = await start(tmp_path, config)
    admin = Admin(server)
    await admin("POST", "clusters/standalone", ADDRESSES)
    await admin("PUT", "persistent/public/default/t")
    await admin("POST", "persistent/public/default/t/replication", ["standalone"])
    await server.stop()
    server = await start(tmp_path, config)
    admin = Admin(server)
    assert (await admin("GET", "clusters/standalone")).json["serviceUrl"] == "http://front:8080"
    assert (await admin("GET", "persistent/public/default/t/replication")).json == ["standalone"]
    await server.stop()


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("nope", ADDRESSES, 404),
        ("standalone", {"serviceUrl": ["x"]}, 400),
        ("standalone", {"serviceUrl": "pulsar://x:1"}, 400),
        ("standalone", {"brokerClientTlsEnabled": "perhaps"}, 400),
        ("standalone", {"peerClusterNames": "other"}, 400),
    ],
)
async def test_an_invalid_cluster_record_is_refused(admin: Admin, name: str, body: Any, status: int) -> None:
    before = await admin("GET", "clusters/standalone")
    assert (await admin("POST", f"clusters/{name}", body)).status == status
    assert await admin("GET", "clusters/standalone") == before


async def test_another_cluster_is_registered_shown_and_deleted(admin: Admin) -> None:
    assert (await admin("PUT", "clusters/r1", ADDRESSES)).status == 200
    assert (await admin("PUT", "clusters/r1", ADDRESSES)).status == 409
    assert (await admin("GET", "clusters")).json == ["r1", "standalone"]
    assert (await admin("GET", "clusters/r1")).json["serviceUrl"] == "http://front:8080"
    assert (await admin("PUT", "tenants/acme", {"allowedClusters": ["r1"]})).status == 204
    assert (await admin("DELETE", "clusters/r1")).reason == "Cluster not empty"
    await admin("DELETE", "tenants/acme")
    assert (await admin("DELETE", "clusters/r1")).status == 204
    assert (await admin("GET", "clusters/r1")).reason == "Cluster does not exist"


async def test_our_own_cluster_is_not_deleted(admin: Admin) -> None:
    reply = await admin("DELETE", "clusters/standalone")
    assert (reply.status, reply.reason) == (412, "cannot delete cluster standalone: this broker belongs to it")


async def test_a_cluster_without_data_is_refused(admin: Admin) -> None:
    assert (await admin("PUT", "clusters/r1")).reason == "cluster data is required"
    assert (await admin("PUT", "clusters/a$b", {})).reason == "Cluster name is not valid"


async def test_a_registered_cluster_is_a_target_of_replication(shop: Admin) -> None:
    await shop("PUT", "clusters/r1", ADDRESSES)
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1"]})
    for path, status in ((NAMESPACE, 200), (TOPIC, 204)):
        assert (await shop("POST", path, ["standalone", "r1"])).status == status
        assert (await shop("GET", path)).json == ["standalone", "r1"]
    assert (await shop("PUT", "namespaces/acme/far", {"replication_clusters": ["standalone", "r1"]})).status == 204


async def test_a_cluster_that_is_not_allowed_or_unknown_is_no_target(shop: Admin) -> None:
    await shop("PUT", "clusters/r1", ADDRESSES)
    for path in (NAMESPACE, TOPIC):
        reply = await shop("POST", path, ["standalone", "r1"])
        reason = "Cluster [r1] is not in the list of allowed clusters list for tenant [acme]"
        assert (reply.status, reply.reason) == (403, reason)
        reply = await shop("POST", path, ["standalone", "nowhere"])
        assert (reply.status, reply.reason) == (403, "Invalid cluster id: nowhere")


async def test_the_allowed_clusters_of_a_namespace_replace_those_of_its_tenant(shop: Admin) -> None:
    for name in ("r1", "r2"):
        await shop("PUT", f"clusters/{name}", ADDRESSES)
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1", "r2"]})
    await shop("POST", "namespaces/acme/shop/allowedClusters", ["standalone", "r1"])
    assert (await shop("POST", NAMESPACE, ["standalone", "r1"])).status == 200
    reply = await shop("POST", NAMESPACE, ["standalone", "r2"])
    reason = "Cluster [r2] is not in the list of allowed clusters list for namespace [acme/shop]"
    assert (reply.status, reply.reason) == (403, reason)


async def test_peers_do_not_replicate_to_each_other(shop: Admin) -> None:
    await shop("PUT", "clusters/r1", {**ADDRESSES, "peerClusterNames": ["standalone"]})
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1"]})
    reply = await shop("POST", NAMESPACE, ["standalone", "r1"])
    reason = "r1's peer-clusters [standalone] can't be part of replication-clusters [standalone, r1]"
    assert (reply.status, reply.reason) == (409, reason)


STAYS = (
    '299 - "the list lacks cluster standalone, '
    "which this broker belongs to: the namespace's topics stay in it and can"
    ' be used, but nothing is replicated"'
)


async def test_a_namespace_may_list_only_other_clusters_as_in_pulsar_407_and_its_topics_stay(shop: Admin) -> None:
    """Pulsar deletes the topics, and refuses new ones with 412."""
    await shop("PUT", "clusters/r1", ADDRESSES)
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1"]})
    await shop.publish("persistent://acme/shop/plain", [b"before"])
    reply = await shop("POST", NAMESPACE, ["r1"])
    assert (reply.status, reply.warning) == (200, STAYS)
    assert (await shop("GET", NAMESPACE)).json == ["r1"]
    await shop.publish("persistent://acme/shop/plain", [b"after"])
    assert (await shop("PUT", "persistent/acme/shop/later")).status == 204
    assert (await shop("GET", "persistent/acme/shop/plain/stats")).json["replication"] == {}
    created = await shop("PUT", "namespaces/acme/far", {"replication_clusters": ["r1"]})
    assert (created.status, created.warning) == (204, STAYS)
    reply = await shop("POST", NAMESPACE, ["standalone", "r1"])
    assert (reply.status, reply.warning) == (200, "")


async def test_a_global_policy_of_a_topic_stays_within_the_clusters_of_its_namespace(shop: Admin) -> None:
    for name in ("r1", "r2"):
        await shop("PUT", f"clusters/{name}", ADDRESSES)
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1", "r2"]})
    reply = await shop("POST", f"{TOPIC}?isGlobal=true", ["standalone", "r1"])
    assert reply.status == 412 and reply.reason.startswith("Please do not use the global topic level policy")
    await shop("POST", NAMESPACE, ["standalone", "r1"])
    assert (await shop("POST", f"{TOPIC}?isGlobal=true", ["standalone", "r1"])).status == 204
    reply = await shop("POST", f"{TOPIC}?isGlobal=true", ["standalone", "r2"])
    assert reply.status == 412 and "will only be copied to the clusters included" in reply.reason


async def test_the_clusters_of_a_namespace_apply_to_its_topics(shop: Admin) -> None:
    await shop("PUT", "clusters/r1", ADDRESSES)
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1"]})
    await shop("POST", NAMESPACE, ["standalone", "r1"])
    assert (await shop("GET", TOPIC)).status == 204
    assert (await shop("GET", f"{TOPIC}?applied=true")).json == ["standalone", "r1"]


async def test_a_cluster_that_a_topic_names_is_not_deleted(shop: Admin) -> None:
    await shop("PUT", "clusters/r1", ADDRESSES)
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1"]})
    await shop("POST", TOPIC, ["standalone", "r1"])
    await shop("POST", "tenants/acme", {"allowedClusters": ["standalone"]})
    assert (await shop("DELETE", "clusters/r1")).reason == "Cluster not empty"


@pytest.mark.parametrize("peers", [[""], ["nope"], ["r1"], []])
async def test_a_cluster_record_names_any_peers_as_in_pulsar_407(admin: Admin, peers: list[str]) -> None:
    """The Go pulsarctl's plain `clusters create` sends `[""]`."""
    assert (await admin("PUT", "clusters/r1", {**ADDRESSES, "peerClusterNames": peers})).status == 200
    assert (await admin("GET", "clusters/r1")).json["peerClusterNames"] == peers
    assert (await admin("POST", "clusters/r1", {"peerClusterNames": [*peers, "r2", "r2"]})).status == 200
    assert (await admin("GET", "clusters/r1/peers")).json == [*peers, "r2"]


async def test_peers_are_known_clusters_other_than_the_cluster_itself(admin: Admin) -> None:
    await admin("PUT", "clusters/r1", ADDRESSES)
    assert (await admin("GET", "clusters/r1/peers")).status == 204
    assert (await admin("POST", "clusters/r1/peers", ["r1"])).reason == "r1 itself can't be part of peer-list"
    assert (await admin("POST", "clusters/r1/peers", ["nope"])).reason == "Peer cluster nope does not exist"
    assert (await admin("POST", "clusters/r1/peers", ["standalone"])).status == 204
    assert (await admin("GET", "clusters/r1/peers")).json == ["standalone"]
    assert (await admin("POST", "clusters/r1/peers", raw=b"null")).status == 204
    assert (await admin("GET", "clusters/r1/peers")).status == 204


async def test_the_migration_of_a_cluster_is_stored_with_an_address_for_clients(admin: Admin) -> None:
    await admin("PUT", "clusters/r1", ADDRESSES)
    assert (await admin("GET", "clusters/r1/migrate")).status == 404
    assert (await admin("POST", "clusters/r1/migrate?migrated=true", ADDRESSES)).status == 200
    shown = {"migrated": True, "migratedClusterUrl": {**ADDRESSES, "empty": False}}
    assert (await admin("GET", "clusters/r1/migrate")).json == shown
    assert (await admin("POST", "clusters/standalone/migrate?migrated=true", ADDRESSES)).status == 200
    assert (await admin("GET", "clusters/standalone/migrate")).json == shown
    refused = await admin("POST", "clusters/r1/migrate?migrated=true", {"serviceUrl": "http://r1:8080"})
    assert refused.status == 400 and refused.reason.startswith("Cluster url must not be empty")


async def test_a_broker_is_in_one_failure_domain(admin: Admin) -> None:
    domains = "clusters/standalone/failureDomains"
    assert (await admin("GET", domains)).json == {}
    assert (await admin("POST", f"{domains}/d", {"brokers": ["b:1"]})).status == 204
    assert (await admin("POST", f"{domains}/e", {"brokers": ["b:1"]})).reason == "[b:1] already exists in d"
    assert (await admin("GET", f"{domains}/d")).json == {"brokers": ["b:1"]}
    assert (await admin("DELETE", f"{domains}/d")).status == 204
    assert (await admin("GET", f"{domains}/d")).reason == "Domain d for cluster standalone does not exist"
    missing = await admin("DELETE", f"{domains}/d")
    assert (missing.status, missing.reason) == (404, "Domain-name d or cluster standalone does not exist")
    assert (await admin("POST", "clusters/nope/failureDomains/d", {})).reason == "Cluster nope does not exist."


FAILOVER = {"policy_type": "min_available", "parameters": {"min_limit": "1", "usage_threshold": "80"}}
ISOLATION = {"namespaces": ["a/.*"], "primary": ["local.*"], "secondary": [], "auto_failover_policy": FAILOVER}


async def test_an_isolation_policy_is_stored_and_says_which_broker_it_means(admin: Admin) -> None:
    policies = "clusters/standalone/namespaceIsolationPolicies"
    broker = admin.broker.http_url.removeprefix("http://")
    missing = await admin("GET", policies)
    assert missing.reason == "NamespaceIsolationPolicies for cluster standalone does not exist"
    assert (await admin("POST", f"{policies}/p", ISOLATION)).status == 204
    assert (await admin("GET", policies)).json == {"p": ISOLATION}
    assert (await admin("GET", f"{policies}/p")).json == ISOLATION
    ours = {"brokerName": broker, "policyName": "p", "namespaceRegex": ["a/.*"], "primary": True}
    assert (await admin("GET", f"{policies}/brokers")).json == [ours]
    other = {"brokerName": "x:1", "namespaceRegex": [], "primary": False}
    assert (await admin("GET", f"{policies}/brokers/x:1")).json == other
    assert (await admin("DELETE", f"{policies}/p")).status == 204
    assert (await admin("DELETE", f"{policies}/p")).status == 204


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"namespaces": ["a"], "primary": ["b"]},
        {**ISOLATION, "auto_failover_policy": {"policy_type": "other"}},
        {**ISOLATION, "auto_failover_policy": {**FAILOVER, "parameters": {"min_limit": "x", "usage_threshold": "1"}}},
    ],
)
async def test_an_incomplete_isolation_policy_is_refused(admin: Admin, body: Any) -> None:
    reply = await admin("POST", "clusters/standalone/namespaceIsolationPolicies/p", body)
    assert reply.status == 400 and reply.reason


async def test_the_parameters_of_an_isolation_policy_have_the_limit_of_properties(admin: Admin) -> None:
    parameters = {"min_limit": "1", "usage_threshold": "80"} | {f"k{number}": str(number) for number in range(20_000)}
    policy = {**ISOLATION, "auto_failover_policy": {**FAILOVER, "parameters": parameters}}
    reply = await admin("POST", "clusters/standalone/namespaceIsolationPolicies/p", policy)
    assert reply.status == 400 and "maxPropertiesSizeInBytes" in reply.reason


async def test_our_own_cluster_is_accepted_where_clusters_are_listed(shop: Admin) -> None:
    assert (await shop("POST", NAMESPACE, ["standalone", "standalone"])).status == 200
    assert (await shop("GET", NAMESPACE)).json == ["standalone"]
    assert (await shop("GET", TOPIC)).status == 204
    assert (await shop("GET", f"{TOPIC}?applied=true")).json == ["standalone"]
    assert (await shop("POST", TOPIC, ["standalone"])).status == 204
    assert (await shop("GET", TOPIC)).json == ["standalone"]
    assert (await shop("DELETE", TOPIC)).status == 204
    assert (await shop("GET", TOPIC)).status == 204


NO_LOCAL = "Can not remove local cluster from the local topic-level replication clusters policy"


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        (NAMESPACE, [], 412, "ClusterIds should not be null or empty"),
        (NAMESPACE, None, 412, "ClusterIds should not be null or empty"),
        (NAMESPACE, ["global"], 412, "Cannot specify global in the list of replication clusters"),
        (NAMESPACE, ["standalone", "nope"], 403, "Invalid cluster id: nope"),
        (NAMESPACE, "standalone", 400, "the request body must be a list of cluster names"),
        ("namespaces/acme/nope/replication", ["standalone"], 404, "Namespace does not exist"),
        (TOPIC, [], 412, "ClusterIds should not be null or empty"),
        (TOPIC, ["nope"], 412, NO_LOCAL),
        (TOPIC, ["standalone", "nope"], 403, "Invalid cluster id: nope"),
        (TOPIC, [1], 400, "the request body must be a list of cluster names"),
    ],
)
async def test_invalid_cluster_lists_are_refused(shop: Admin, path: str, body: Any, status: int, reason: str) -> None:
    reply = await shop("POST", path, body)
    assert (reply.status, reply.reason) == (status, reason)
