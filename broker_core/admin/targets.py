"""The topics that a call acts on: one topic, or every partition of a partitioned one; or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.errors import NotAllowed, PreconditionFailed, TopicNotFound
from broker_core.names import TopicName
from broker_core.rates.time_slices import gathered

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.topic.topic import Topic


def check_exists(broker: Broker, name: TopicName) -> None:
    """Raises `TopicNotFound` unless the topic exists, partitioned or not."""
    broker.tenancy.check_namespace_of(name)
    if not broker.partitioned.count(name) and not broker.topics.exists(name):
        raise not_found(broker, name)


def not_found(broker: Broker, name: TopicName) -> TopicNotFound:
    if name.is_partition and broker.partitioned.count(name.base):
        return TopicNotFound("Topic partitions were not yet created")
    return TopicNotFound(f"Topic {name} not found")


async def one_topic(call: Call, refusal: str = "") -> Topic:
    """The topic in the path, loaded; a partitioned one is not found, or refused with 405 and `refusal`."""
    name = call.topic()
    broker = call.broker
    broker.tenancy.check_namespace_of(name)
    if refusal and broker.partitioned.count(name):
        raise NotAllowed(refusal)
    if not broker.topics.exists(name):
        raise not_found(broker, name)
    return await broker.topics.get(name)


async def every_topic(call: Call) -> list[Topic]:
    """The topic in the path, or the existing partitions of a partitioned one, loaded."""
    name = call.topic()
    check_exists(call.broker, name)
    if not call.broker.partitioned.count(name):
        return [await call.broker.topics.get(name)]
    return await gathered(await call.broker.partitioned.existing(name), call.broker.topics.get)


def partitions_body(call: Call, name: TopicName) -> dict[str, Any]:
    """PartitionedTopicMetadata: the number of partitions, 0 for other topics."""
    metadata = call.broker.tenancy.partitioned.find(name)
    body: dict[str, Any] = {"partitions": metadata.partitions if metadata else 0, "deleted": False}
    if metadata and metadata.properties:
        body["properties"] = dict(metadata.properties)
    return body


def policy_topic(call: Call) -> TopicName:
    """The topic whose policies are meant; policies are those of the whole topic, never of one partition."""
    topic = call.topic()
    if not call.broker.config.policies.topic_policies:
        raise NotAllowed("Topic level policies is disabled, to enable the topic level policy and retry.")
    call.broker.tenancy.check_namespace_of(topic)
    if topic.is_partition:
        raise PreconditionFailed("Not allowed to set/get topic policy for a partition")
    check_exists(call.broker, topic)
    return topic


def is_global(call: Call) -> bool:
    """Whether the request is about the policy for all clusters instead of the policy for this one."""
    return call.flag("isGlobal")
