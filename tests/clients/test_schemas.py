"""Schemas with the official Python client: each type, evolution, and old readers that decode by version."""

import json
from collections.abc import Iterator
from typing import Any

import _pulsar
import pulsar
import pytest
from google.protobuf.struct_pb2 import ListValue, Struct
from pulsar.schema import (
    AvroSchema,
    BytesSchema,
    Integer,
    JsonSchema,
    ProtobufNativeSchema,
    Record,
    Schema,
    String,
    StringSchema,
)

from broker_core.metadata.schema.registry import SchemaVersion
from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.clients.conftest import TIMEOUT_MS

pytestmark = pytest.mark.feature("schema_types", "schema_versions", "schema_compatibility")

EARLIEST = pulsar.InitialPosition.Earliest


class First(Record):  # type: ignore[misc]  # the client ships no types
    _avro_namespace = "shop"
    name = String()


class Second(Record):  # type: ignore[misc]  # the client ships no types
    """`First` with an additional optional field."""

    _avro_namespace = "shop"
    name = String()
    count = Integer(default=7, required=True, required_default=True)


class Other(Record):  # type: ignore[misc]  # the client ships no types
    _avro_namespace = "shop"
    name = Integer(required=True)


class PlainSchema(Schema):  # type: ignore[misc]  # the client ships no types
    """A type without a class in the client; it sends bytes."""

    def __init__(self, schema_type: _pulsar.SchemaType, definition: str = "") -> None:
        super().__init__(bytes, schema_type, None, schema_type.name)
        self._schema_info = _pulsar.SchemaInfo(schema_type, schema_type.name, definition)

    def encode(self, obj: bytes) -> bytes:
        return obj

    def decode(self, data: bytes) -> bytes:
        return data


def received(consumer: pulsar.Consumer, count: int = 1) -> list[Any]:
    messages = [consumer.receive(timeout_millis=TIMEOUT_MS) for _ in range(count)]
    for message in messages:
        consumer.acknowledge(message)
    return [message.value() for message in messages]


def as_second(schema: Any) -> Any:
    """A schema of `Second` with the name of `First`, like a class that was changed."""
    definition = {**Second.schema(), "name": "First"}
    if schema is AvroSchema:
        return AvroSchema(None, schema_definition=definition)
    made = JsonSchema(Second)
    made._schema_info = _pulsar.SchemaInfo(_pulsar.SchemaType.JSON, "JSON", json.dumps(definition))
    return made


@pytest.fixture
def versions(pulsar_broker: EmbeddedBroker, topic: str) -> Iterator[Any]:
    def of_topic() -> list[SchemaVersion]:
        return list(pulsar_broker.broker.schemas.versions(parse_topic(topic)))

    yield of_topic


@pytest.mark.parametrize("kind", [AvroSchema, JsonSchema])
def test_records_are_sent_and_received(client: pulsar.Client, topic: str, kind: Any) -> None:
    consumer = client.subscribe(topic, "s", schema=kind(First))
    client.create_producer(topic, schema=kind(First)).send(First(name="a"))
    assert [one.name for one in received(consumer)] == ["a"]


def test_strings_are_sent_and_received(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", schema=StringSchema())
    client.create_producer(topic, schema=StringSchema()).send("grüße")
    assert received(consumer) == ["grüße"]


def test_bytes_need_no_schema(client: pulsar.Client, topic: str, versions: Any) -> None:
    consumer = client.subscribe(topic, "s", schema=BytesSchema())
    client.create_producer(topic, schema=BytesSchema()).send(b"a")
    assert received(consumer) == [b"a"]
    assert versions() == []


def test_protobuf_messages_are_sent_and_received(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s", schema=ProtobufNativeSchema(Struct))
    sent = Struct()
    sent["a"] = 1
    client.create_producer(topic, schema=ProtobufNativeSchema(Struct)).send(sent)
    assert received(consumer) == [sent]


def test_another_root_message_is_refused(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, schema=ProtobufNativeSchema(Struct))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=ProtobufNativeSchema(ListValue))


@pytest.mark.parametrize("name", ["INT8", "INT32", "DOUBLE"])
def test_an_unannounced_type_is_received_as_bytes(client: pulsar.Client, topic: str, versions: Any, name: str) -> None:
    number = PlainSchema(getattr(_pulsar.SchemaType, name))
    consumer = client.subscribe(topic, "s", schema=number)
    client.create_producer(topic, schema=number).send(b"\1")
    assert received(consumer) == [b"\1"]
    assert versions() == []


@pytest.mark.parametrize("kind", [AvroSchema, JsonSchema])
def test_a_schema_evolves_and_both_consumers_decode(
    client: pulsar.Client, topic: str, versions: Any, kind: Any
) -> None:
    old = client.subscribe(topic, "old", schema=kind(First))
    client.create_producer(topic, schema=kind(First)).send(First(name="a"))
    newer = as_second(kind)
    new = client.subscribe(topic, "new", pulsar.ConsumerType.Shared, schema=newer, initial_position=EARLIEST)
    producer = client.create_producer(topic, schema=newer)
    producer.send({"name": "b", "count": 1} if kind is AvroSchema else Second(name="b", count=1))
    assert [one.version for one in versions()] == [0, 1]
    if kind is AvroSchema:
        assert [one.name for one in received(old, 2)] == ["a", "b"]
        assert received(new, 2) == [{"name": "a", "count": 7}, {"name": "b", "count": 1}]
    else:
        assert [(one.name, one.count) for one in received(new, 2)] == [("a", 7), ("b", 1)]


def test_a_message_carries_its_producers_schema_version(client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "s")
    client.create_producer(topic, schema=AvroSchema(First)).send(First(name="a"))
    client.create_producer(topic, schema=as_second(AvroSchema)).send({"name": "b", "count": 1})
    found = [consumer.receive(timeout_millis=TIMEOUT_MS).schema_version() for _ in range(2)]
    assert found == ["\0" * 8, "\0" * 7 + "\1"]


def test_an_unreadable_schema_is_refused(client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic, schema=AvroSchema(First))
    producer.send(First(name="a"))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.create_producer(topic, schema=AvroSchema(Other))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(topic, "s", schema=AvroSchema(Other))
    with pytest.raises(pulsar.IncompatibleSchema):
        client.subscribe(topic, "s", schema=StringSchema())


def test_the_partitions_of_a_topic_have_one_schema(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, versions: Any
) -> None:
    pulsar_broker.call(pulsar_broker.broker.partitioned.create(parse_topic(topic), 3))
    consumer = client.subscribe(topic, "s", schema=AvroSchema(First))
    producer = client.create_producer(topic, schema=AvroSchema(First))
    for index in range(6):
        producer.send(First(name=str(index)))
    assert sorted(one.name for one in received(consumer, 6)) == [str(index) for index in range(6)]
    assert [one.version for one in versions()] == [0]


def test_a_reader_decodes_by_version(client: pulsar.Client, topic: str) -> None:
    client.create_producer(topic, schema=as_second(AvroSchema)).send({"name": "b", "count": 1})
    reader = client.create_reader(topic, pulsar.MessageId.earliest, schema=AvroSchema(First))
    assert reader.read_next(timeout_millis=TIMEOUT_MS).value().name == "b"


def test_a_schema_survives_the_unloading_of_its_topic(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    producer = client.create_producer(topic, schema=AvroSchema(First))
    consumer = client.subscribe(topic, "s", schema=AvroSchema(First))
    pulsar_broker.call(pulsar_broker.broker.topics.unload(parse_topic(topic)))
    producer.send(First(name="a"))
    assert [one.name for one in received(consumer)] == ["a"]
