from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from tests.broker.admin.conftest import PORT_ZERO, Admin

ALLOWED = {"allowedClusters": ["standalone"]}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "tenants/nope", None, 404, "Tenant does not exist"),
        ("PUT", "tenants/acme", None, 412, "Clusters cannot be null"),
        ("PUT", "tenants/acme", {"allowedClusters": None}, 412, "Clusters cannot be null"),
        ("PUT", "tenants/acme", {"allowedClusters": []}, 412, "Clusters cannot be empty or blank"),
        ("PUT", "tenants/acme", {"allowedClusters": ["x"]}, 412, "Clusters do not exist: x; use some of standalone"),
        ("PUT", "tenants/acme", {"allowedClusters": "x"}, 400, "allowedClusters must be a list of names"),
        ("PUT", "tenants/public", ALLOWED, 409, "Tenant already exist"),
        ("PUT", "tenants/t%20x", ALLOWED, 412, "Tenant name is not valid"),
        ("POST", "tenants/nope", ALLOWED, 404, "Tenant nope not found"),
        ("POST", "tenants/public", {"allowedClusters": ["x"]}, 412, "Clusters do not exist: x; use some of standalone"),
        ("DELETE", "tenants/nope", None, 404, "Tenant doesn't exist"),
        ("DELETE", "tenants/public", None, 409, "The tenant still has active namespaces"),
        (
            "DELETE",
            "tenants/public?force=true",
            None,
            405,
            "Broker doesn't allow forced deletion of tenants",
        ),
    ],
)
async def test_refusals(admin: Admin, method: str, path: str, body: Any, status: int, reason: str) -> None:
    reply = await admin(method, path, body)
    assert (reply.status, reply.reason) == (status, reason)


async def test_a_tenant_is_created_shown_updated_and_deleted(admin: Admin) -> None:
    created = await admin("PUT", "tenants/acme", {"adminRoles": ["ops"], **ALLOWED})
    assert (created.status, created.text) == (204, "")
    assert (await admin("GET", "tenants")).json == ["acme", "public", "pulsar"]
    assert (await admin("GET", "tenants/acme")).json == {
        "adminRoles": ["ops"],
        "allowedClusters": ["standalone"],
    }
    assert (await admin("POST", "tenants/acme", {"adminRoles": None, **ALLOWED})).status == 204
    assert (await admin("GET", "tenants/acme")).json["adminRoles"] == []
    assert (await admin("DELETE", "tenants/acme")).status == 204
    assert (await admin("GET", "tenants/acme")).status == 404


class TestWhereForceIsAllowed:
    @pytest.fixture
    def config(self) -> BrokerConfig:
        return BrokerConfig(
            server=PORT_ZERO, policies=PolicyConfig(force_delete_tenant=True, force_delete_namespace=True)
        )

    async def test_a_tenant_is_deleted_with_its_namespaces_and_topics(self, shop: Admin) -> None:
        assert (await shop("DELETE", "tenants/acme?force=true")).status == 204
        assert (await shop("GET", "tenants")).json == ["public", "pulsar"]
        assert not shop.broker.storage.metadata.list("partitioned-topic")

    async def test_a_namespace_is_deleted_with_its_topics(self, shop: Admin) -> None:
        assert (await shop("DELETE", "namespaces/acme/shop?force=true")).status == 204
        assert (await shop("GET", "namespaces/acme")).json == []


async def test_a_tenant_keeps_a_cluster_that_its_namespaces_are_in(shop: Admin) -> None:
    await shop("PUT", "clusters/r1", {"serviceUrl": "http://r1:8080"})
    reply = await shop("POST", "tenants/acme", {"allowedClusters": ["r1"]})
    assert reply.status == 409
    assert reply.reason == "cannot take cluster standalone from tenant acme: namespace acme/shop is in it"
    assert (await shop("POST", "tenants/acme", {"allowedClusters": ["standalone", "r1"]})).status == 204
    await shop("PUT", "tenants/empty", {"allowedClusters": ["standalone"]})
    assert (await shop("POST", "tenants/empty", {"allowedClusters": ["r1"]})).status == 204
