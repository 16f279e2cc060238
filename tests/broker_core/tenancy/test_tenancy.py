"""Tenancy with a store in memory that can be made to fail."""

import asyncio
import json
from collections.abc import Coroutine, Iterable
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.topic import DEFAULT_MOST_PARTITIONS, MOST_PARTITIONS, TopicConfig
from broker_core.errors import (
    AlreadyExists,
    BrokerError,
    FewerPartitions,
    Forbidden,
    IncompatiblePolicies,
    InUse,
    InvalidPartitionCount,
    InvalidValue,
    MetadataFailed,
    NamespaceNotFound,
    NotAllowed,
    NotEmpty,
    ReservedName,
    TenantNotFound,
    TopicNotFound,
    WholeTopicOnly,
    WrongTopicKind,
)
from broker_core.names import NamespaceName, TopicName, parse_topic
from broker_core.policies.kept import ALLOWED_CLUSTERS, KEPT
from broker_core.policies.policy_set import PolicySet
from broker_core.policies.topic_policies import POLICIES
from broker_core.policies.values import HOLD, BacklogQuota, DispatchRate, PublishRate, RetentionPolicy
from broker_core.tenancy.documents import CLUSTER, Tenant
from broker_core.tenancy.tenancy import Tenancy

DEFAULT = NamespaceName("public", "default")
TOPIC = parse_topic("persistent://public/default/orders")


class MemoryDocuments:
    """A metadata store without a disk; writes fail when `broken` and wait at `gate`."""

    def __init__(self) -> None:
        self.texts: dict[tuple[str, str], str] = {}
        self.broken = False
        self.gate: asyncio.Event | None = None
        self.reached_gate = asyncio.Event()

    async def put(self, kind: str, key: str, doc: dict[str, Any], /) -> None:
        await self._disk()
        self.texts[kind, key] = json.dumps(doc)

    async def delete(self, kind: str, key: str, /) -> None:
        await self._disk()
        self.texts.pop((kind, key), None)

    def get(self, kind: str, key: str, /) -> dict[str, Any] | None:
        text = self.texts.get((kind, key))
        return None if text is None else json.loads(text)

    def list(self, kind: str, /) -> Iterable[str]:
        return [key for found, key in self.texts if found == kind]

    async def _disk(self) -> None:
        if self.gate is not None:
            self.reached_gate.set()
            await self.gate.wait()
        if self.broken:
            raise MetadataFailed("the disk is gone")


@pytest.fixture
def documents() -> MemoryDocuments:
    return MemoryDocuments()


@pytest.fixture
async def tenancy(documents: MemoryDocuments) -> Tenancy:
    return await Tenancy.open(documents, BrokerConfig())


async def test_a_new_instance_has_pulsars_default_tenants_and_namespaces(tenancy: Tenancy) -> None:
    assert tenancy.clusters() == ["standalone"]
    assert tenancy.tenants() == ["public", "pulsar"]
    assert [str(name) for name in tenancy.namespaces("public")] == ["public/default", "public/functions"]
    assert [str(name) for name in tenancy.namespaces("pulsar")] == ["pulsar/system"]
    assert tenancy.tenant("public") == Tenant((), ("standalone",))


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


@pytest.mark.parametrize("level", [DEFAULT, TOPIC])
async def test_a_retention_and_a_quota_that_are_set_at_once_must_fit_each_other(
    tenancy: Tenancy, level: NamespaceName | TopicName
) -> None:
    def setting(**policies: Any) -> Coroutine[Any, Any, None]:
        if isinstance(level, TopicName):
            return tenancy.topic_policies.set(level, **policies)
        return tenancy.set_namespace_policies(level, **policies)

    retention, quota = RetentionPolicy(10, 10), BacklogQuota(size=20 << 20, policy=HOLD)
    results = await asyncio.gather(setting(retention=retention), setting(size_quota=quota), return_exceptions=True)
    assert [type(result) for result in results] == [type(None), IncompatiblePolicies]
    assert tenancy.effective.of(TOPIC).retention == retention
    assert tenancy.effective.of(TOPIC).size_quota.size < quota.size


async def test_concurrent_rates_of_two_subscriptions_are_both_stored(tenancy: Tenancy) -> None:
    slow, fast = DispatchRate(1), DispatchRate(1000)
    await asyncio.gather(
        tenancy.topic_policies.set_dispatch_rate(TOPIC, "slow", slow),
        tenancy.topic_policies.set_dispatch_rate(TOPIC, "fast", fast),
    )
    assert tenancy.effective.of(TOPIC).dispatch_rates == {"slow": slow, "fast": fast}
    await asyncio.gather(
        tenancy.topic_policies.set_dispatch_rate(TOPIC, "slow", None),
        tenancy.topic_policies.set_dispatch_rate(TOPIC, "fast", None),
    )
    assert tenancy.topic_policies.of(TOPIC).is_empty


@pytest.mark.parametrize(
    ("name", "clusters", "kind", "reason"),
    [
        ("public", ("standalone",), AlreadyExists, "Tenant already exist"),
        ("t x", ("standalone",), BrokerError, "Tenant name is not valid"),
        ("acme", (), InvalidValue, "Clusters cannot be empty or blank"),
        ("acme", (" ",), InvalidValue, "Clusters cannot be empty or blank"),
        ("acme", ("elsewhere",), InvalidValue, "Clusters do not exist"),
    ],
)
async def test_a_tenant_that_cannot_be_created_is_refused(
    tenancy: Tenancy, name: str, clusters: tuple[str, ...], kind: type[BrokerError], reason: str
) -> None:
    with pytest.raises(kind) as refused:
        await tenancy.create_tenant(name, Tenant((), clusters))
    assert refused.value.reason == reason


async def test_unknown_tenants_are_named_as_pulsar_names_them(tenancy: Tenancy) -> None:
    with pytest.raises(TenantNotFound, match=r"^Tenant does not exist$"):
        tenancy.tenant("nope")
    with pytest.raises(TenantNotFound, match=r"^Tenant nope not found$"):
        await tenancy.update_tenant("nope", Tenant((), ("standalone",)))
    with pytest.raises(TenantNotFound, match=r"^Tenant doesn't exist$"):
        await tenancy.delete_tenant("nope")
    with pytest.raises(TenantNotFound, match=r"^Tenant not found$"):
        tenancy.namespaces("nope")


async def test_a_tenant_with_namespaces_is_not_deleted(tenancy: Tenancy) -> None:
    with pytest.raises(NotEmpty, match="The tenant still has active namespaces"):
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
    assert isinstance(second, AlreadyExists)
    assert tenancy.tenant("acme").admin_roles == ("first",)


async def test_a_change_that_is_not_stored_is_not_in_force(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    told: list[NamespaceName] = []

    async def listener(namespace: NamespaceName, _topic: TopicName | None) -> None:
        told.append(namespace)

    tenancy.on_change(listener)
    documents.broken = True

    with pytest.raises(MetadataFailed):
        await tenancy.set_namespace_policies(DEFAULT, ttl_seconds=5)
    with pytest.raises(MetadataFailed):
        await tenancy.delete_namespace(DEFAULT, lambda: True)

    assert tenancy.effective.of(TOPIC).ttl_seconds == 0
    assert tenancy.has_namespace(DEFAULT)
    assert told == []


async def test_a_namespace_being_deleted_accepts_no_new_topics(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    documents.gate = asyncio.Event()
    deletion = asyncio.ensure_future(tenancy.delete_namespace(DEFAULT, lambda: True))
    await documents.reached_gate.wait()

    with pytest.raises(NamespaceNotFound):
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
    assert [type(one) for one in outcomes] == [type(None), InUse if named_first else InvalidValue]


async def test_a_cluster_that_a_namespace_allows_is_in_use(tenancy: Tenancy) -> None:
    await tenancy.tool_records.put(CLUSTER, "east", {})
    await tenancy.set_kept(DEFAULT, ALLOWED_CLUSTERS, ["standalone", "east"])
    with pytest.raises(InUse, match="Cluster not empty"):
        await tenancy.delete_cluster("east")


async def test_a_namespace_with_topics_is_not_deleted(tenancy: Tenancy) -> None:
    with pytest.raises(NotEmpty, match="Cannot delete non empty namespace"):
        await tenancy.delete_namespace(DEFAULT, lambda: False)
    await tenancy.partitioned.create(TOPIC, 1)
    with pytest.raises(NotEmpty, match="Cannot delete non empty namespace"):
        await tenancy.delete_namespace(DEFAULT, lambda: True)


@pytest.mark.parametrize(
    ("name", "document", "kind", "reason"),
    [
        (DEFAULT, {}, AlreadyExists, "Namespace already exists"),
        (NamespaceName("nope", "n"), {}, TenantNotFound, "Tenant does not exist"),
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


async def test_policies_come_from_topic_then_namespace_then_configuration(documents: MemoryDocuments) -> None:
    config = BrokerConfig(policies=PolicyConfig(ttl_seconds=60))
    tenancy = await Tenancy.open(documents, config)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 60
    await tenancy.set_namespace_policies(DEFAULT, ttl_seconds=30)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 30
    await tenancy.topic_policies.set(TOPIC, ttl_seconds=10)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 10
    await tenancy.topic_policies.set(TOPIC, ttl_seconds=None)
    await tenancy.set_namespace_policies(DEFAULT, ttl_seconds=None)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 60


async def test_a_partition_has_the_policies_of_its_partitioned_topic(tenancy: Tenancy) -> None:
    await tenancy.topic_policies.set(TOPIC, ttl_seconds=10)
    assert tenancy.effective.of(TOPIC.partition_name(3)).ttl_seconds == 10
    with pytest.raises(WholeTopicOnly, match="Not allowed to set/get topic policy for a partition"):
        await tenancy.topic_policies.set(TOPIC.partition_name(3), ttl_seconds=5)


async def test_listeners_are_called_when_a_change_is_in_force(tenancy: Tenancy) -> None:
    heard: list[tuple[str, str | None, int]] = []

    async def listener(namespace: NamespaceName, topic: TopicName | None) -> None:
        heard.append((str(namespace), str(topic) if topic else None, tenancy.effective.of(TOPIC).ttl_seconds))

    tenancy.on_change(listener)
    await tenancy.set_namespace_policies(DEFAULT, ttl_seconds=30)
    await tenancy.topic_policies.set(TOPIC, ttl_seconds=10)

    assert heard == [("public/default", None, 30), ("public/default", str(TOPIC), 10)]


async def test_topic_policies_can_be_disabled(documents: MemoryDocuments) -> None:
    tenancy = await Tenancy.open(documents, BrokerConfig(policies=PolicyConfig(topic_policies=False)))
    with pytest.raises(NotAllowed, match="Topic level policies is disabled"):
        await tenancy.topic_policies.set(TOPIC, ttl_seconds=10)


async def test_policies_of_a_deleted_topic_are_deleted(tenancy: Tenancy, documents: MemoryDocuments) -> None:
    await tenancy.topic_policies.set(TOPIC, ttl_seconds=10)
    await tenancy.topic_policies.forget(TOPIC)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 0
    assert list(documents.list("topic-policies")) == []


@pytest.mark.parametrize(
    ("name", "partitions", "kind", "reason"),
    [
        ("orders", 0, InvalidPartitionCount, "Number of partitions should be more than 0"),
        ("orders", -1, InvalidPartitionCount, "Number of partitions should be more than 0"),
        ("orders", 9, InvalidPartitionCount, "Number of partitions should be less than or equal to 8"),
        ("o-partition-x", 2, ReservedName, "Partitioned Topic Name should not contain '-partition-'"),
        ("taken", 2, AlreadyExists, "This topic already exists"),
        ("persistent://public/nope/orders", 2, NamespaceNotFound, "Namespace not found"),
    ],
)
async def test_a_partitioned_topic_that_cannot_be_created_is_refused(
    documents: MemoryDocuments, name: str, partitions: int, kind: type[BrokerError], reason: str
) -> None:
    tenancy = await Tenancy.open(documents, BrokerConfig(topics=TopicConfig(max_partitions=8)))
    await tenancy.partitioned.create(parse_topic("taken"), 1)
    with pytest.raises(kind) as refused:
        await tenancy.partitioned.create(parse_topic(name), partitions)
    assert refused.value.reason == reason


async def test_partitions_grow_but_never_shrink(tenancy: Tenancy) -> None:
    await tenancy.partitioned.create(TOPIC, 3)
    await tenancy.partitioned.update(TOPIC, 3)
    await tenancy.partitioned.update(TOPIC, 5)
    with pytest.raises(FewerPartitions) as refused:
        await tenancy.partitioned.update(TOPIC, 4)
    assert refused.value.reason == "Desired partitions 4 can't be less than the current partitions 5."
    assert tenancy.partitioned.count(TOPIC) == 5


async def test_a_topic_without_partitions_is_distinguished(tenancy: Tenancy) -> None:
    assert tenancy.partitioned.count(TOPIC) == 0
    with pytest.raises(WrongTopicKind) as refused:
        await tenancy.partitioned.update(TOPIC, 4)
    assert refused.value.reason == f"Topic {TOPIC} is not the partitioned topic."
    with pytest.raises(TopicNotFound):
        await tenancy.partitioned.delete(TOPIC)


async def test_partitioned_topics_are_listed_by_namespace_and_domain(tenancy: Tenancy) -> None:
    for name in ("b", "a", "non-persistent://public/default/c"):
        await tenancy.partitioned.create(parse_topic(name), 1)
    listed = tenancy.partitioned.in_namespace(DEFAULT, "persistent")
    assert [topic.local for topic in listed] == ["a", "b"]


def test_stored_but_unsupported_policies_are_not_in_force() -> None:
    assert not KEPT.keys() & {declared.path[0] for declared in POLICIES.values()}


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


async def test_an_unlimited_partition_count_is_limited_anyway(tenancy: Tenancy) -> None:
    with pytest.raises(InvalidPartitionCount) as refused:
        await tenancy.partitioned.create(TOPIC, 100_000_000)
    assert refused.value.reason == (f"Number of partitions should be less than or equal to {DEFAULT_MOST_PARTITIONS}")


async def test_a_topic_that_cannot_apply_a_change_does_not_make_it_fail(
    tenancy: Tenancy, caplog: pytest.LogCaptureFixture
) -> None:
    async def listener(namespace: NamespaceName, topic: TopicName | None) -> None:
        raise ValueError("too much")

    tenancy.on_change(listener)
    await tenancy.set_namespace_policies(DEFAULT, ttl_seconds=30)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 30
    assert "policies of public/default: cannot apply them to every topic" in caplog.text
