"""GET_SCHEMA and GET_OR_CREATE_SCHEMA, and the schemas that PRODUCER and SUBSCRIBE carry."""

from __future__ import annotations

from broker_core.errors import IncompatibleSchema, NotFound, TopicNotFound
from broker_core.metadata.schema.admission import admit_consumer, admit_producer
from broker_core.metadata.schema.registry import schema_id
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType, from_wire, to_wire
from broker_core.names import parse_topic
from broker_core.server.session import Session
from broker_core.topic.topic import Topic
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire import schema_commands


def on_get_schema(session: Session, command: pb.CommandGetSchema) -> bytes:
    """GET_SCHEMA: one version, or the latest. The topic need not be loaded, or even exist."""
    schemas, topic = session.broker.schemas, parse_topic(command.topic)
    if command.HasField("schema_version"):
        version = schema_commands.version_number(command.schema_version)
        if version is None:
            raise IncompatibleSchema("Empty schema version")
        stored = schemas.version(topic, version)
    else:
        stored = schemas.latest(topic)
    if stored is None:
        raise NotFound(f"Topic not found or no-schema {command.topic}")
    schema = stored.schema
    return schema_commands.schema_found(
        command.request_id, schema_id(topic), to_wire(schema.type), schema.data, schema.properties, stored.version
    )


async def on_get_or_create_schema(session: Session, command: pb.CommandGetOrCreateSchema) -> bytes:
    """GET_OR_CREATE_SCHEMA: the version of a schema that a producer came to use after it was created."""
    name = parse_topic(command.topic)
    if not session.broker.topics.exists(name):
        raise TopicNotFound(f"Topic not found {command.topic}")
    topic = await session.broker.topics.get(name)
    schema = _schema(command.schema)
    declared = None if schema.type is SchemaType.NONE else schema
    version = await admit_producer(session.broker.schemas, topic.schema_subject, declared)
    return schema_commands.schema_created(command.request_id, version)


async def version_for_producer(session: Session, topic: Topic, command: pb.CommandProducer) -> bytes:
    """The schema version for PRODUCER_SUCCESS. Raises `InvalidSchema` or `IncompatibleSchema`."""
    schema = _schema(command.schema) if command.HasField("schema") else None
    return schema_commands.version_bytes(await admit_producer(session.broker.schemas, topic.schema_subject, schema))


async def check_consumers_schema(session: Session, topic: Topic, command: pb.CommandSubscribe) -> None:
    """Raises `InvalidSchema` or `IncompatibleSchema`."""
    if command.HasField("schema"):
        await admit_consumer(session.broker.schemas, topic.schema_subject, _schema(command.schema))


def takes_any_schema(command: pb.CommandSubscribe) -> bool:
    return command.HasField("schema") and command.schema.type == pb.Schema.AutoConsume


def _schema(schema: pb.Schema) -> SchemaData:
    properties = {pair.key: pair.value for pair in schema.properties}
    return SchemaData(from_wire(schema.type), schema.schema_data, properties)
