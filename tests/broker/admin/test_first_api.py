"""Topics with names of four parts, and their paths in Pulsar's first admin API."""

from pathlib import Path

import pytest

from broker_core.admin.first_api import translate
from broker_core.config.broker import BrokerConfig
from broker_core.testing import EmbeddedBroker
from tests.broker.admin.conftest import PORT_ZERO, Admin, start
from tests.support import official_client

TOPIC = "persistent://property/cluster/ns/topic"


@pytest.mark.parametrize(
    ("path", "second", "cluster"),
    [
        ("/admin/persistent/p/c/n", "/admin/v2/persistent/p/n", "c"),
        ("/admin/persistent/p/c/n/t/stats", "/admin/v2/persistent/p/n/t/stats", "c"),
        ("/admin/non-persistent/p/c/n/t%2Fx/", "/admin/v2/non-persistent/p/n/t%2Fx", "c"),
        ("/admin/namespaces/p/c/n/retention", "/admin/v2/namespaces/p/n/retention", "c"),
        ("/admin/namespaces/c/antiAffinity/g", "/admin/v2/namespaces/c/antiAffinity/g", ""),
        ("/admin/namespaces/p", "/admin/v2/namespaces/p", ""),
        ("/admin/properties/p", "/admin/v2/tenants/p", ""),
        ("/admin/clusters", "/admin/v2/clusters", ""),
        ("/lookup/v2/destination/persistent/p/c/n/t", "/lookup/v2/topic/persistent/p/n/t", "c"),
        ("/admin/v2/persistent/p/n/t", "/admin/v2/persistent/p/n/t", ""),
        ("/lookup/v2/topic/persistent/p/n/t", "/lookup/v2/topic/persistent/p/n/t", ""),
        ("/metrics", "/metrics", ""),
        ("/", "/", ""),
    ],
)
def test_paths_of_the_first_api_are_those_of_the_second_with_a_cluster(path: str, second: str, cluster: str) -> None:
    assert translate(path) == (second, cluster)


@pytest.mark.parametrize("domain", ["persistent", "non-persistent"])
def test_an_official_client_publishes_and_consumes_by_a_name_of_four_parts(domain: str) -> None:
    topic = f"{domain}://property/cluster/ns/a/b"
    with EmbeddedBroker() as broker:
        client = official_client.connect(broker.service_url)
        consumer = client.subscribe(topic, "s")
        client.create_producer(topic).send(b"x")
        message = consumer.receive(5000)
        assert (message.data(), message.topic_name()) == (b"x", topic)
        client.close()


async def test_a_topic_with_a_cluster_is_administered_at_its_own_paths(admin: Admin) -> None:
    assert (await admin("PUT", "/admin/persistent/property/cluster/ns/topic")).status == 204
    assert (await admin("GET", "/admin/persistent/property/cluster/ns")).status == 404
    assert (await admin("GET", "/admin/persistent/property/cluster/ns/topic/stats")).json["msgInCounter"] == 0
    found = (await admin("GET", "/lookup/v2/destination/persistent/property/cluster/ns/topic")).json
    assert found["brokerUrl"] == admin.broker.service_url
    none = await admin("GET", "/admin/persistent/property/cluster/ns/none/stats")
    assert (none.status, none.reason) == (404, "Topic persistent://property/cluster/ns/none not found")
    assert (await admin("DELETE", "/admin/persistent/property/cluster/ns/topic")).status == 204


async def test_a_namespace_with_a_cluster_differs_from_the_one_without(tmp_path: Path) -> None:
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    await admin("PUT", "/admin/properties/acme", {"allowedClusters": ["standalone"]})
    await admin("PUT", "namespaces/acme/standalone")
    assert (await admin("PUT", "/admin/namespaces/acme/standalone/ns")).status == 204
    await admin("PUT", "/admin/persistent/acme/standalone/ns/t")
    await admin("POST", "/admin/namespaces/acme/standalone/ns/messageTTL", 7)
    await server.stop()
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    assert (await admin("GET", "/admin/namespaces/acme")).json == ["acme/standalone", "acme/standalone/ns"]
    assert (await admin("GET", "/admin/namespaces/acme/standalone/ns/messageTTL")).json == 7
    assert (await admin("GET", "namespaces/acme/standalone/messageTTL")).status == 204
    assert (await admin("GET", "persistent/acme/standalone")).json == []
    assert (await admin("GET", "/admin/persistent/acme/standalone/ns")).json == ["persistent://acme/standalone/ns/t"]
    assert (await admin("DELETE", "namespaces/acme/standalone")).status == 204
    await server.stop()


async def test_a_namespace_is_created_only_in_a_cluster_of_its_tenant(admin: Admin) -> None:
    refused = await admin("PUT", "/admin/namespaces/public/nope/ns")
    reason = "Cluster [nope] is not in the list of allowed clusters list for tenant [public]"
    assert (refused.status, refused.reason) == (403, reason)
    assert (await admin("PUT", "/admin/namespaces/public/global/ns")).status == 204
    assert (await admin("PUT", "/admin/persistent/public/global/ns/t")).status == 204


async def test_a_slash_in_the_topic_of_a_path_does_not_name_another_namespace(admin: Admin) -> None:
    assert (await admin("PUT", "persistent/public/default/a%2Fb")).status == 412
