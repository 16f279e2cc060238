"""Tenants, namespaces, and clusters: what is created, refused, and deleted."""

import asyncio
from typing import Any

import pytest

from broker_core.errors import (
    BrokerError,
    Conflict,
    Forbidden,
    InvalidValue,
    NotFound,
    PreconditionFailed,
)
from broker_core.metadata.policies.kept import ALLOWED_CLUSTERS
from broker_core.metadata.tenancy.documents import CLUSTER, Tenant
from broker_core.metadata.tenancy.tenancy import Tenancy
from broker_core.names import NamespaceName
from tests.unit.broker_core.metadata.tenancy.memory_documents import DEFAULT, TOPIC, MemoryDocuments


async def test_a_new_instance_has_pulsars_default_tenants_and_namespaces(tenancy: Tenancy) -> None:
    assert tenancy.clusters() == ["standalone"]
    assert tenancy.tenants() == ["public", "pulsar"]
    assert [str(name) for name in tenancy.namespaces("public")] == ["public/default", "public/functions"]
    assert [str(name) for name in tenancy.namespaces("pulsar")] == ["pulsar/system"]
    assert tenancy.tenant("public") == Tenant((), ("standalone",))


@pytest.mark.parametrize(
    ("name", "clusters", "kind", "reason"),
    [
        ("public", ("standalone",), Conflict, "Tenant already exist"),
        ("t x", ("standalone",), BrokerError, "Tenant name is not valid"),
        ("acme", (), InvalidValue, "Clusters cannot be empty or blank"),
        ("acme", (" ",), InvalidValue, "Clusters cannot be empty or blank"),
        ("acme", ("elsewhere",), InvalidValue, "Clusters do not exist: elsewhere; use some of standalone"),
    ],
)
async def test_a_tenant_that_cannot_be_created_is_refused(
    tenancy: Tenancy, name: str, clusters: tuple[str, ...], kind: type[BrokerError], reason: str
) -> None:
    with pytest.raises(kind) as refused:
        await tenancy.create_tenant(name, Tenant((), clusters))
    assert refused.value.reason == reason


async def test_unknown_tenants_are_named_as_pulsar_names_them(tenancy: Tenancy) -> None:
    with pytest.raises(NotFound, match=r"^Tenant does not exist$"):
        tenancy.tenant("nope")
    with pytest.raises(NotFound, match=r"^Tenant nope not found$"):
        await tenancy.update_tenant("nope", Tenant((), ("standalone",)))
    with pytest.raises(NotFound, match=r"^Tenant doesn't exist$"):
        await tenancy.delete_tenant("nope")
    with pytest.raises(NotFound, match=r"^Tenant not found$"):
        tenancy.namespaces("nope")


async def test_a_tenant_with_namespaces_is_not_deleted(tenancy: Tenancy) -> None:
    with pytest.raises(Conflict, match="The tenant still has active namespaces"):
        await tenancy.delete_tenant("public")


async def test_two_creations_of_the_same_tenant_at_once_leave_one(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    documents.gate = asyncio.Event()
    creations = [
        asyncio.ensure_future(tenancy.create_tenant("acme", Tenant((role,), ("standalone",))))
        for role in ("first", "second")
    ]
    documents.gate.set()
    first, second = await asyncio.gather(*creations, return_exceptions=True)

    assert first is None
    assert isinstance(second, Conflict)
    assert tenancy.tenant("acme").admin_roles == ("first",)


async def test_a_namespace_being_deleted_accepts_no_new_topics(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    documents.gate = asyncio.Event()
    deletion = asyncio.ensure_future(tenancy.delete_namespace(DEFAULT, lambda: True))
    await documents.reached_gate.wait()

    with pytest.raises(NotFound):
        tenancy.check_namespace_of(TOPIC)

    documents.gate.set()
    await deletion


NAMES_EAST = Tenant((), ("standalone", "east"))


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("named_first", [True, False])
async def test_of_two_changes_that_delete_and_name_a_cluster_at_the_same_time_the_later_one_is_refused(
    tenancy: Tenancy, documents: MemoryDocuments, is_new: bool, named_first: bool
) -> None:
    await tenancy.tool_records.put(CLUSTER, "east", {})
    documents.gate = asyncio.Event()
    naming = tenancy.create_tenant("acme", NAMES_EAST) if is_new else tenancy.update_tenant("pulsar", NAMES_EAST)
    changes = [naming, tenancy.delete_cluster("east")] if named_first else [tenancy.delete_cluster("east"), naming]
    tasks = [asyncio.ensure_future(one) for one in changes]
    await documents.reached_gate.wait()
    documents.gate.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in outcomes] == [type(None), PreconditionFailed if named_first else InvalidValue]


async def test_a_cluster_that_a_namespace_allows_is_in_use(tenancy: Tenancy) -> None:
    await tenancy.tool_records.put(CLUSTER, "east", {})
    await tenancy.set_kept(DEFAULT, ALLOWED_CLUSTERS, ["standalone", "east"])
    with pytest.raises(PreconditionFailed, match="Cluster not empty"):
        await tenancy.delete_cluster("east")


async def test_a_namespace_with_topics_is_not_deleted(tenancy: Tenancy) -> None:
    with pytest.raises(Conflict, match="Cannot delete non empty namespace"):
        await tenancy.delete_namespace(DEFAULT, lambda: False)
    await tenancy.partitioned.create(TOPIC, 1)
    with pytest.raises(Conflict, match="Cannot delete non empty namespace"):
        await tenancy.delete_namespace(DEFAULT, lambda: True)


@pytest.mark.parametrize(
    ("name", "document", "kind", "reason"),
    [
        (DEFAULT, {}, Conflict, "Namespace already exists"),
        (NamespaceName("nope", "n"), {}, NotFound, "Tenant does not exist"),
        (
            NamespaceName("public", "n"),
            {"message_ttl_in_seconds": -1},
            InvalidValue,
            "Invalid value for message TTL",
        ),
        (
            NamespaceName("public", "n"),
            {"replication_clusters": ["x"]},
            Forbidden,
            "Cluster [x] is not in the list of allowed clusters list for tenant [public]",
        ),
    ],
)
async def test_a_namespace_that_cannot_be_created_is_refused(
    tenancy: Tenancy, name: NamespaceName, document: dict[str, Any], kind: type[BrokerError], reason: str
) -> None:
    with pytest.raises(kind) as refused:
        await tenancy.create_namespace(name, document)
    assert refused.value.reason == reason


async def test_a_body_of_nulls_and_empty_enums_creates_a_default_namespace(tenancy: Tenancy) -> None:
    name = NamespaceName("public", "zeros")
    await tenancy.create_namespace(
        name,
        {
            "bundles": {"boundaries": None, "numBundles": 0},
            "replication_clusters": None,
            "schema_compatibility_strategy": "",
            "subscription_auth_mode": "",
            "antiAffinityGroup": "",
            "retention_policies": None,
            "properties": None,
        },
    )
    body = tenancy.namespace(name).to_body()
    assert body["replication_clusters"] == ["standalone"]
    assert body["bundles"]["numBundles"] == 4
    assert body["schema_compatibility_strategy"] == "UNDEFINED"
    assert body["subscription_auth_mode"] == "None"
    assert "antiAffinityGroup" not in body
