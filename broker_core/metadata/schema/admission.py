"""The admission of producers and consumers to a topic by their schema, or without one.

The rules are those of Pulsar 4.0. A producer's schema becomes a new version if it is compatible and the namespace lets
producers change schemas. A consumer's schema does so only on an unused topic; on others it must be able to read the
topic's schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_core.errors import IncompatibleSchema
from broker_core.metadata.schema.registry import SchemaRegistry
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.metadata.schema.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.metadata.policies.topic_policies import TopicPolicies
    from broker_core.names import TopicName


class SchemaSubject(NamedTuple):
    """A topic, as schema checks see it.

    `is_unused`: no producers, no data, and only consumers that take any schema. `check_open` raises `TopicFenced` once
    the topic is unloaded or deleted.
    """

    name: TopicName
    policies: TopicPolicies
    is_unused: Callable[[], bool]
    check_open: Callable[[], None]

    @property
    def strategy(self) -> Strategy:
        return Strategy(self.policies.schema_compatibility_strategy)


async def admit_producer(registry: SchemaRegistry, topic: SchemaSubject, schema: SchemaData | None) -> int | None:
    """The version under which the producer publishes; None if it has no schema and needs none.

    Raises `InvalidSchema` or `IncompatibleSchema`.
    """
    if schema is not None:
        return await _add(registry, topic, schema)
    if topic.policies.schema_validation_enforced and registry.latest(topic.name) is not None:
        raise IncompatibleSchema(
            "Producers cannot connect or send message without a schema to topics with a schema"
            " when SchemaValidationEnforced is enabled"
        )
    return None


async def admit_consumer(registry: SchemaRegistry, topic: SchemaSubject, schema: SchemaData) -> None:
    """Raises `InvalidSchema` or `IncompatibleSchema`. A consumer that takes any schema never fails."""
    if schema.type is SchemaType.AUTO_CONSUME:
        return
    if registry.latest(topic.name) is not None:
        await registry.check_readable(topic.name, schema, topic.strategy)
    elif not topic.is_unused():
        if topic.strategy is not Strategy.ALWAYS_COMPATIBLE:
            raise IncompatibleSchema(
                f"Failed to add schema to an active topic with empty(BYTES) schema: new schema type {schema.type.name}"
            )
    else:
        await _add(registry, topic, schema)


async def _add(registry: SchemaRegistry, topic: SchemaSubject, schema: SchemaData) -> int:
    if topic.policies.allow_schema_update:
        return await registry.put(topic.name, schema, topic.strategy, topic.check_open)
    stored = await registry.find_same(topic.name, schema)
    if stored is None:
        raise IncompatibleSchema("Schema not found and schema auto updating is disabled.")
    return stored.version
