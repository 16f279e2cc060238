"""`POST /topics/...`: publishes messages that come as JSON (Pulsar docs, "REST produce", PIP 64).

The broker answers when the messages are on disk. A message is refused for the reasons for which a producer's would be:
access, size, delay, encryption, schema, and quotas. Names and sequence IDs are stored for consumers and never
compared, because there is no producer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.admin.call import Call
from broker_core.admin.produced_values import encode
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import ANY, INT64, PROPERTIES, STRING, array, obj
from broker_core.admin.targets import check_exists
from broker_core.errors import InvalidRequest, NotAllowed, ProducerFenced, TopicNotFound
from broker_core.metadata.policies.json_values import LONG_MAX, Fields, mapping, string, whole_number
from broker_core.metadata.schema.admission import admit_producer
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.names import TopicName
from broker_core.publishing.policy_checks import check_delay
from broker_core.security.operations import on_topic
from broker_core.storage.records.position import Position
from broker_core.topic.one_entry import OneEntry, publish_one
from broker_core.wire.pulsar_api_pb2 import KeyValue, MessageMetadata
from broker_core.wire.schema_commands import version_bytes

if TYPE_CHECKING:
    from broker_core.topic.topic import Topic

TEXT = SchemaData(SchemaType.STRING, b"", {"__charset": "UTF-8"})
PRODUCER_NAME = "rest"


class Message(NamedTuple):
    """A message of a request, with its value not yet encoded. `deliver_at`: wall time in ms, 0 for at once."""

    value: Any
    key: str
    event_time: int
    sequence_id: int
    properties: Mapping[str, str]
    deliver_at: int


async def produce(call: Call) -> dict[str, Any]:
    """Publish the messages; on a partitioned topic, choose the partition by key, or else use one after the other."""
    name = call.topic()
    check_exists(call.broker, name)
    count = call.broker.partitioned.count(name)
    return await _published(call, [name.partition_name(index) for index in range(count)] or [name])


async def produce_to_partition(call: Call) -> dict[str, Any]:
    name, index = call.topic(), call.number("partition")
    check_exists(call.broker, name)
    if not 0 <= index < call.broker.partitioned.count(name):
        raise TopicNotFound(f"Topic {name} has no partition {index}")
    return await _published(call, [name.partition_name(index)])


async def _published(call: Call, names: list[TopicName]) -> dict[str, Any]:
    body = call.json_object()
    messages, schema = _messages(call, body), _schema(call, body)
    producer = string(body.get("producerName") or PRODUCER_NAME, "producerName")
    used = [_place(message, index, len(names)) for index, message in enumerate(messages)]
    topics = {place: await _topic(call, names[place]) for place in {*used} or {0}}
    first = next(iter(topics.values()))
    version = await admit_producer(call.broker.schemas, first.schema_subject, schema)
    entries = [_entry(call, message, producer, schema, version) for message in messages]
    for topic in topics.values():
        _check_open_to_all(topic)  # it may have changed while the schema was checked
    for place, entry in zip(used, entries, strict=True):
        _check_entry(call, topics[place], entry)
    written = [publish_one(topics[place], entry) for place, entry in zip(used, entries, strict=True)]
    positions = await asyncio.gather(*written)
    for place, entry in zip(used, entries, strict=True):
        topics[place].published.add(1, len(entry.data))
    shown = [_result(topics[place].name, at, version) for place, at in zip(used, positions, strict=True)]
    return {"messagePublishResults": shown, "schemaVersion": version or 0}


def _result(topic: TopicName, position: Position, version: int | None) -> dict[str, Any]:
    message_id = f"{position.ledger_id}:{position.entry_id}:{topic.partition}"
    return {"messageId": message_id, "errorCode": 0, "schemaVersion": version or 0}


def _place(message: Message, index: int, partitions: int) -> int:
    """The partition: by the hash of the key that clients use by default, Java's of a string."""
    if not message.key:
        return index % partitions
    hashed = 0
    for unit in memoryview(message.key.encode("utf-16-le")).cast("H"):
        hashed = (31 * hashed + unit) & 0xFFFF_FFFF
    return (hashed & 0x7FFF_FFFF) % partitions


async def _topic(call: Call, name: TopicName) -> Topic:
    """Raises the error for which no producer could publish now."""
    topic = await call.broker.topics.for_client(name, create=name.is_partition)
    _check_open_to_all(topic)
    await topic.quotas.check_producer()
    return topic


def _check_open_to_all(topic: Topic) -> None:
    topic.check_publishable()
    if topic.policies.encryption_required:
        raise NotAllowed(f"Encryption is required in {topic.name}: use a client that encrypts")
    if topic.admission.is_exclusive:
        raise ProducerFenced(f"Topic {topic.name} has an exclusive producer")


def _check_entry(call: Call, topic: Topic, entry: OneEntry) -> None:
    most = topic.policies.max_message_size or call.broker.config.connection.max_message_size
    if len(entry.data) > most:
        raise NotAllowed(f"Exceed maximum message size: {len(entry.data)} bytes, allowed are {most}")
    for delivery_ms in entry.delivery_times:
        check_delay(topic.policies, delivery_ms, entry.publish_times[0])


def _messages(call: Call, body: Mapping[str, Any]) -> list[Message]:
    sent = body.get("messages")
    if not isinstance(sent, list):
        raise InvalidRequest("messages must be a list of messages")
    return [_message(call, mapping(item, "a message")) for item in sent]


def _message(call: Call, sent: Mapping[str, Any]) -> Message:
    fields = Fields(sent)
    now, after = call.broker.clock.wall_ms(), fields.read("deliverAfterMs", whole_number, 0)
    if after > LONG_MAX - now:
        raise InvalidRequest(f"deliverAfterMs is {after}, but at most {LONG_MAX - now} is possible")
    return Message(
        sent.get("payload"),
        fields.read("key", string, ""),
        max(0, fields.read("eventTime", whole_number, 0)),
        max(0, fields.read("sequenceId", whole_number, 0)),
        read_properties(call, sent.get("properties")),
        max(0, fields.read("deliverAt", whole_number, 0)) or (now + after if after > 0 else 0),
    )


def _schema(call: Call, body: Mapping[str, Any]) -> SchemaData:
    """The schema in `valueSchema`, which is JSON in a string; text without one."""
    if body.get("keySchema") and _parsed(body["keySchema"], "keySchema").get("type") != SchemaType.STRING.name:
        raise InvalidRequest("keySchema must have the type STRING: a key is text")
    if not body.get("valueSchema"):
        return TEXT
    sent = _parsed(body["valueSchema"], "valueSchema")
    kind = string(sent.get("type"), "the type of valueSchema")
    if kind not in SchemaType.__members__:
        raise InvalidRequest(f"No such schema type: {kind[:60]}")
    definition = string(sent.get("schema") or "", "the schema of valueSchema")
    return SchemaData(SchemaType[kind], definition.encode(), read_properties(call, sent.get("properties")))


def _parsed(text: Any, name: str) -> Mapping[str, Any]:
    try:
        value = json.loads(string(text, name))
    except (ValueError, RecursionError):
        raise InvalidRequest(f"{name} must be a JSON object in a string") from None
    return mapping(value, name)


def _entry(call: Call, message: Message, producer: str, schema: SchemaData, version: int | None) -> OneEntry:
    now = call.broker.clock.wall_ms()
    metadata = MessageMetadata(producer_name=producer, sequence_id=message.sequence_id, publish_time=now)
    metadata.properties.extend(KeyValue(key=key, value=value) for key, value in message.properties.items())
    if message.key:
        metadata.partition_key = message.key
    if message.event_time:
        metadata.event_time = message.event_time
    if message.deliver_at:
        metadata.deliver_at_time = message.deliver_at
    if version is not None:
        metadata.schema_version = version_bytes(version)
    if message.value is None:
        metadata.null_value = True
    payload = b"" if message.value is None else encode(schema.type, message.value)
    metadata.uncompressed_size = len(payload)
    return OneEntry.of(metadata, payload)


_TOPIC = "/topics/{domain}/{tenant}/{namespace}/{topic}"
_MESSAGE = obj(
    key=STRING,
    payload=ANY,
    eventTime=INT64,
    sequenceId=INT64,
    properties=PROPERTIES,
    deliverAt=INT64,
    deliverAfterMs=INT64,
)
_MESSAGES = obj(producerName=STRING, keySchema=STRING, valueSchema=STRING, messages=array(_MESSAGE))

ROUTES = (
    Route("POST", _TOPIC, produce, on_topic("PRODUCE"), body=_MESSAGES),
    Route("POST", f"{_TOPIC}/partitions/{{partition}}", produce_to_partition, on_topic("PRODUCE"), body=_MESSAGES),
)
