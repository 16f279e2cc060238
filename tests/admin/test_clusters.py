"""The record of the broker's own cluster, and the clusters that namespaces and topics replicate to."""

from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from tests.admin.conftest import PORT_ZERO, Admin, start

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
        ("standalone", {"peerClusterNames": ["other"]}, 405),
    ],
)
async def test_an_invalid_cluster_record_is_refused(admin: Admin, name: str, body: Any, status: int) -> None:
    before = await admin("GET", "clusters/standalone")
    assert (await admin("POST", f"clusters/{name}", body)).status == status
    assert await admin("GET", "clusters/standalone") == before


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
