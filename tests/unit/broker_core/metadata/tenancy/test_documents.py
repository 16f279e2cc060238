"""What a start reads: documents as they were stored, of an older release, and with values that are not valid."""

import json
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import MOST_PARTITIONS
from broker_core.metadata.policies.policy_set import PolicySet
from broker_core.metadata.policies.values import DispatchRate, PublishRate, RetentionPolicy
from broker_core.metadata.tenancy.documents import Tenant
from broker_core.metadata.tenancy.tenancy import Tenancy
from broker_core.names import NamespaceName
from tests.unit.broker_core.metadata.tenancy.memory_documents import DEFAULT, TOPIC, MemoryDocuments


async def test_deleted_defaults_stay_deleted_after_a_restart(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    await tenancy.delete_namespace(NamespaceName("public", "functions"), lambda: True)
    reopened = await Tenancy.open(documents, BrokerConfig())
    assert [str(name) for name in reopened.namespaces("public")] == ["public/default"]


async def test_everything_survives_a_restart(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    await tenancy.create_tenant("acme", Tenant(("ops",), ("standalone",)))
    shop = NamespaceName("acme", "shop")
    await tenancy.create_namespace(shop, {"bundles": {"numBundles": 2}, "max_producers_per_topic": 1})
    await tenancy.set_namespace_policies(shop, retention=RetentionPolicy(1, 2), ttl_seconds=3)
    await tenancy.topic_policies.set(TOPIC, compaction_threshold=4)
    await tenancy.partitioned.create(TOPIC, 5, {"owner": "ünï"})

    reopened = await Tenancy.open(documents, BrokerConfig())

    assert reopened.tenant("acme") == Tenant(("ops",), ("standalone",))
    assert reopened.namespace(shop) == tenancy.namespace(shop)
    assert reopened.namespace(shop).to_body()["max_producers_per_topic"] == 1
    assert reopened.topic_policies.of(TOPIC) == PolicySet(compaction_threshold=4)
    assert reopened.partitioned.count(TOPIC) == 5
    assert reopened.partitioned.find(TOPIC) == tenancy.partitioned.find(TOPIC)


def _written_by_an_older_release(documents: MemoryDocuments) -> None:
    """It also stored policies as they were sent, and so overwrote later changes."""
    document = {
        "replication_clusters": ["standalone"],
        "bundles": {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1},
        "message_ttl_in_seconds": 7,
        "publishMaxMessageRate": {},
        "topicDispatchRate": {"standalone": {"dispatchThrottlingRateInMsg": 5}},
        "clusterDispatchRate": {"standalone": {"dispatchThrottlingRateInMsg": 6}},
        "encryption_required": False,
        "schema_compatibility_strategy": "UNDEFINED",
        "resource_group_name": "group",
    }
    documents.texts["tenant", "public"] = json.dumps({"adminRoles": [], "allowedClusters": ["standalone"]})
    documents.texts["namespace", "public/default"] = json.dumps(document)


async def test_a_namespace_of_an_older_version_has_what_its_document_says(documents: MemoryDocuments) -> None:
    _written_by_an_older_release(documents)
    found = (await Tenancy.open(documents, BrokerConfig())).namespace(DEFAULT)
    assert found.policies == PolicySet(ttl_seconds=7, dispatch_rate=DispatchRate(5), encryption_required=False)
    assert found.to_body()["resource_group_name"] == "group"


async def test_a_namespace_of_an_older_version_keeps_new_values(documents: MemoryDocuments) -> None:
    _written_by_an_older_release(documents)
    tenancy = await Tenancy.open(documents, BrokerConfig())
    await tenancy.set_namespace_policies(DEFAULT, publish_rate=PublishRate(1), encryption_required=True)
    await tenancy.set_namespace_policies(DEFAULT, dispatch_rate=None)
    again = await Tenancy.open(documents, BrokerConfig())
    assert again.namespace(DEFAULT) == tenancy.namespace(DEFAULT)
    assert again.namespace(DEFAULT).policies == PolicySet(
        ttl_seconds=7, publish_rate=PublishRate(1), encryption_required=True
    )


BAD_VALUES = {
    "publishMaxMessageRate": {"standalone": {"publishThrottlingRateInMsg": int("9" * 400)}},
    "topicDispatchRate": [1],
    "delayed_delivery_policies": {"tickTime": float("nan")},
    "auth_policies": [1],
    "properties": {"color": "half \ud800"},
    "bundles": {"numBundles": 1 << 31},
    "replication_clusters": 5,
    "subscription_types_enabled": [[]],
}


@pytest.mark.parametrize("field", BAD_VALUES)
async def test_an_invalid_stored_value_is_ignored_and_logged(
    documents: MemoryDocuments, caplog: pytest.LogCaptureFixture, field: str
) -> None:
    await Tenancy.open(documents, BrokerConfig())
    stored = {"message_ttl_in_seconds": 7, field: BAD_VALUES[field]}
    documents.texts["namespace", "public/default"] = json.dumps(stored)

    tenancy = await Tenancy.open(documents, BrokerConfig())

    assert tenancy.effective.of(TOPIC).ttl_seconds == 7
    assert tenancy.namespace(DEFAULT).policies == PolicySet(ttl_seconds=7)
    assert f"stored namespace public/default: {field} is ignored, set it again" in caplog.text


@pytest.mark.parametrize("partitions", [MOST_PARTITIONS + 1, 0, "x", None])
async def test_a_partitioned_topic_with_an_invalid_stored_count_is_ignored(
    documents: MemoryDocuments, caplog: pytest.LogCaptureFixture, partitions: Any
) -> None:
    await Tenancy.open(documents, BrokerConfig())
    documents.texts["partitioned-topic", str(TOPIC)] = json.dumps({"partitions": partitions, "properties": {}})
    assert (await Tenancy.open(documents, BrokerConfig())).partitioned.count(TOPIC) == 0
    assert f"stored partitioned-topic {TOPIC}: it is ignored" in caplog.text
