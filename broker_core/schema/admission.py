"""What a topic says to the schema that a producer or a consumer brings, or to one that brings none.

The rules are those of Pulsar 4.0: a producer's schema becomes a new version when it is compatible and the namespace
lets producers change schemas; a consumer's only where nobody has used the topic yet, else it must be able to read
what the topic has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import IncompatibleSchema
from broker_core.schema.compatibility import Strategy
from broker_core.schema.registry import SchemaRegistry
from broker_core.schema.schema_data import SchemaData
from broker_core.schema.schema_type import SchemaType

if TYPE_CHECKING:
    from broker_core.topic import Topic


async def admit_producer(registry: SchemaRegistry, topic: Topic, schema: SchemaData | None) -> int | None:
    """The version under which the producer publishes; None when it brings no schema and may do so.

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


async def admit_consumer(registry: SchemaRegistry, topic: Topic, schema: SchemaData) -> None:
    """Raises `InvalidSchema` or `IncompatibleSchema`. A consumer that takes whatever schema there is never fails."""
    if schema.type is SchemaType.AUTO_CONSUME:
        return
    if registry.latest(topic.name) is not None:
        await registry.check_readable(topic.name, schema, _strategy(topic))
    elif not _is_unused(topic):
        if _strategy(topic) is not Strategy.ALWAYS_COMPATIBLE:
            raise IncompatibleSchema(
                f"Failed to add schema to an active topic with empty(BYTES) schema: new schema type {schema.type.name}"
            )
    else:
        await _add(registry, topic, schema)


async def _add(registry: SchemaRegistry, topic: Topic, schema: SchemaData) -> int:
    if topic.policies.allow_schema_update:
        return await registry.put(topic.name, schema, _strategy(topic))
    found = await registry.find_same(topic.name, schema)
    if found is None:
        raise IncompatibleSchema("Schema not found and schema auto updating is disabled.")
    return found.version


def _strategy(topic: Topic) -> Strategy:
    return Strategy(topic.policies.schema_compatibility_strategy)


def _is_unused(topic: Topic) -> bool:
    """Consumers without a schema of their own (AUTO_CONSUME) do not count."""
    consumers = (consumer for one in topic.subscriptions.values() for consumer in one.consumers)
    return not topic.producers and not topic.ledger.size and all(one.auto_consume for one in consumers)
