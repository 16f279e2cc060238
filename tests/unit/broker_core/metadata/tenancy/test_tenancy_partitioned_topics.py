"""Partitioned topics: their names, and how many partitions they may have."""

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.topic import DEFAULT_MOST_PARTITIONS, TopicConfig
from broker_core.errors import (
    BrokerError,
    Conflict,
    NotAcceptable,
    NotFound,
    PreconditionFailed,
    TopicNotFound,
    Unprocessable,
)
from broker_core.metadata.tenancy.tenancy import Tenancy
from broker_core.names import parse_topic
from tests.unit.broker_core.metadata.tenancy.memory_documents import DEFAULT, TOPIC, MemoryDocuments


@pytest.mark.parametrize(
    ("name", "partitions", "kind", "reason"),
    [
        ("orders", 0, NotAcceptable, "Number of partitions should be more than 0"),
        ("orders", -1, NotAcceptable, "Number of partitions should be more than 0"),
        ("orders", 9, NotAcceptable, "Number of partitions should be less than or equal to 8"),
        ("o-partition-x", 2, PreconditionFailed, "Partitioned Topic Name should not contain '-partition-'"),
        ("taken", 2, Conflict, "This topic already exists"),
        ("persistent://public/nope/orders", 2, NotFound, "Namespace not found"),
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
    with pytest.raises(Unprocessable) as refused:
        await tenancy.partitioned.update(TOPIC, 4)
    assert refused.value.reason == "Desired partitions 4 can't be less than the current partitions 5."
    assert tenancy.partitioned.count(TOPIC) == 5


async def test_a_topic_without_partitions_is_distinguished(tenancy: Tenancy) -> None:
    assert tenancy.partitioned.count(TOPIC) == 0
    with pytest.raises(Conflict) as refused:
        await tenancy.partitioned.update(TOPIC, 4)
    assert refused.value.reason == f"Topic {TOPIC} is not the partitioned topic."
    with pytest.raises(TopicNotFound):
        await tenancy.partitioned.delete(TOPIC)


async def test_partitioned_topics_are_listed_by_namespace_and_domain(tenancy: Tenancy) -> None:
    for name in ("b", "a", "non-persistent://public/default/c"):
        await tenancy.partitioned.create(parse_topic(name), 1)
    listed = tenancy.partitioned.in_namespace(DEFAULT, "persistent")
    assert [topic.local for topic in listed] == ["a", "b"]


async def test_an_unlimited_partition_count_is_limited_anyway(tenancy: Tenancy) -> None:
    with pytest.raises(NotAcceptable) as refused:
        await tenancy.partitioned.create(TOPIC, 100_000_000)
    assert refused.value.reason == (f"Number of partitions should be less than or equal to {DEFAULT_MOST_PARTITIONS}")
