"""Which policies are in force for a topic, and who hears of a change."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.errors import MetadataFailed, NotAllowed, PreconditionFailed
from broker_core.metadata.policies.kept import KEPT
from broker_core.metadata.policies.topic_policies import POLICIES
from broker_core.metadata.policies.values import HOLD, BacklogQuota, DispatchRate, RetentionPolicy
from broker_core.metadata.tenancy.tenancy import Tenancy
from broker_core.names import NamespaceName, TopicName
from tests.unit.broker_core.metadata.tenancy.memory_documents import DEFAULT, TOPIC, MemoryDocuments


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
    assert [type(result) for result in results] == [type(None), PreconditionFailed]
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
    with pytest.raises(PreconditionFailed, match="Not allowed to set/get topic policy for a partition"):
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


def test_stored_but_unsupported_policies_are_not_in_force() -> None:
    assert not KEPT.keys() & {declared.path[0] for declared in POLICIES.values()}


async def test_a_topic_that_cannot_apply_a_change_does_not_make_it_fail(
    tenancy: Tenancy, caplog: pytest.LogCaptureFixture
) -> None:
    async def listener(namespace: NamespaceName, topic: TopicName | None) -> None:
        raise ValueError("too much")

    tenancy.on_change(listener)
    await tenancy.set_namespace_policies(DEFAULT, ttl_seconds=30)
    assert tenancy.effective.of(TOPIC).ttl_seconds == 30
    assert "policies of public/default: cannot apply them to every topic" in caplog.text
