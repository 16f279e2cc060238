"""Schemas in the protocol: PRODUCER, SUBSCRIBE, GET_SCHEMA, and GET_OR_CREATE_SCHEMA."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from broker_core.names import NamespaceName, parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import close_producer, frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, Schema
from broker_core.wire.schema_commands import version_bytes
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.send_frames import send

NO_SCHEMA = Schema.Type.Value("None")
DEFAULT = NamespaceName("public", "default")
INVALID = "Invalid schema definition data for AVRO schema"
ACTIVE = "Failed to add schema to an active topic with empty(BYTES) schema: new schema type STRING"
NOT_ENFORCED = "Producers cannot connect or send message without a schema to topics with a schema"


def avro(*names: str, default: int | None = None) -> str:
    more: dict[str, Any] = {} if default is None else {"default": default}
    return json.dumps(
        {"type": "record", "name": "A", "fields": [{"name": name, "type": "int", **more} for name in names]}
    )


@dataclass
class Talk:
    """Requests of a client about one topic; each returns a version or the text of an error."""

    raw: RawClient
    topic: str
    _ids: Iterator[int] = field(default_factory=lambda: iter(range(1, 1000)))

    def produce(self, schema_type: int | None = None, data: str = "") -> bytes | str:
        command = BaseCommand(type=BaseCommand.PRODUCER)
        command.producer.topic = self.topic
        command.producer.request_id = command.producer.producer_id = next(self._ids)
        _fill(command.producer, schema_type, data)
        answer = self._ask(command)
        return answer.schema_version if isinstance(answer, pb.CommandProducerSuccess) else _refusal(answer)

    def subscribe(self, schema_type: int | None = None, data: str = "") -> str:
        """Empty on success."""
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        command.subscribe.topic = self.topic
        command.subscribe.request_id = command.subscribe.consumer_id = next(self._ids)
        command.subscribe.subscription = "s"
        command.subscribe.subType = pb.CommandSubscribe.Shared
        _fill(command.subscribe, schema_type, data)
        answer = self._ask(command)
        return "" if isinstance(answer, pb.CommandSuccess) else _refusal(answer)

    def get(self, version: bytes | None = None) -> pb.CommandGetSchemaResponse:
        command = BaseCommand(type=BaseCommand.GET_SCHEMA)
        command.getSchema.topic = self.topic
        command.getSchema.request_id = next(self._ids)
        if version is not None:
            command.getSchema.schema_version = version
        found: pb.CommandGetSchemaResponse = self._ask(command)
        return found

    def get_or_create(self, schema_type: int, data: str = "") -> bytes | str:
        command = BaseCommand(type=BaseCommand.GET_OR_CREATE_SCHEMA)
        command.getOrCreateSchema.topic = self.topic
        command.getOrCreateSchema.request_id = next(self._ids)
        _fill(command.getOrCreateSchema, schema_type, data)
        answer = self._ask(command)
        if answer.HasField("error_code"):
            return str(answer.error_message)
        return bytes(answer.schema_version)

    def _ask(self, command: BaseCommand) -> Any:
        self.raw.send(frame(command))
        return self.raw.next().message


def _fill(body: Any, schema_type: int | None, data: str) -> None:
    if schema_type is not None:
        body.schema.name = "s"
        body.schema.type = schema_type
        body.schema.schema_data = data.encode()


def _refusal(answer: Any) -> str:
    assert isinstance(answer, pb.CommandError)
    assert answer.error == pb.IncompatibleSchema
    return answer.message


@pytest.fixture
def talk(pulsar_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> Iterator[Talk]:
    with RawClient(pulsar_broker.service_url) as raw:
        yield Talk(raw, f"persistent://public/default/{request.node.name.replace('[', '-').replace(']', '')}")


@pytest.fixture
def policies(pulsar_broker: EmbeddedBroker) -> Iterator[Any]:
    """Sets policies of the namespace until the end of the test."""
    touched: dict[str, Any] = {}

    def change(**values: Any) -> None:
        touched.update(dict.fromkeys(values))
        pulsar_broker.call(pulsar_broker.broker.tenancy.set_namespace_policies(DEFAULT, **values))

    yield change
    change(**touched)


def v(version: int) -> bytes:
    return version_bytes(version)


def test_a_producer_receives_the_version_of_its_schema(talk: Talk) -> None:
    assert talk.produce(Schema.Avro, avro("a")) == v(0)
    assert talk.produce(Schema.Avro, avro("a")) == v(0)
    assert talk.produce(Schema.Avro, avro("a", "b", default=0)) == v(1)


def test_a_producer_without_a_schema_receives_no_version(talk: Talk) -> None:
    talk.produce(Schema.String)
    assert talk.produce() == b""


def test_a_repeated_producer_request_returns_the_version_again(talk: Talk) -> None:
    talk.produce(Schema.Avro, avro("a"))
    talk.produce(Schema.Avro, avro("a", "b", default=0))
    talk._ids = iter([1])
    assert talk.produce(Schema.Avro, avro("a")) == v(0)


@pytest.mark.parametrize("number", [one for one in Schema.Type.values() if one not in (0, 3, 4, 15, 2, 20, 21, 22)])
def test_every_primitive_type_is_registered_and_returned(talk: Talk, number: int) -> None:
    assert talk.produce(number) == v(0)
    found = talk.get()
    assert (found.schema.type, found.schema.schema_data, found.schema_version) == (number, b"", v(0))


def test_a_schema_that_is_not_compatible_is_refused_with_the_reason(talk: Talk) -> None:
    talk.produce(Schema.Avro, avro("a"))
    assert "A.b was not written and has no default" in str(talk.produce(Schema.Avro, avro("a", "b")))
    assert talk.produce(Schema.Int32) == "Incompatible schema: exists schema type AVRO, new schema type INT32"


@pytest.mark.parametrize(
    ("schema_type", "data", "reason"),
    [
        (Schema.Avro, "oops", INVALID),
        (Schema.Int8, "x", "Invalid schema definition data for primitive schemas"),
        (Schema.AutoConsume, "", "Schema AUTO_CONSUME is a client-side schema type"),
    ],
)
def test_a_malformed_schema_is_refused(talk: Talk, schema_type: int, data: str, reason: str) -> None:
    assert str(talk.produce(schema_type, data)).startswith(reason)
    assert str(talk.get_or_create(schema_type, data)).startswith(reason)


def test_a_schema_of_another_registry_is_kept_as_it_is(talk: Talk) -> None:
    assert talk.produce(Schema.External, "of any form") == v(0)
    assert talk.produce(Schema.External, "of another one") == v(1)
    found = talk.get()
    assert (found.schema.type, found.schema.schema_data) == (Schema.External, b"of another one")
    assert talk.produce(Schema.Int32) == "Incompatible schema: exists schema type EXTERNAL, new schema type INT32"


def test_the_latest_version_and_each_version_by_number_are_found(talk: Talk) -> None:
    talk.produce(Schema.Avro, avro("a"))
    talk.produce(Schema.Avro, avro("a", "b", default=0))
    assert talk.get().schema_version == v(1)
    first = talk.get(v(0))
    assert (first.schema.schema_data.decode(), first.schema.type) == (avro("a"), Schema.Avro)
    assert first.schema.name == talk.topic.removeprefix("persistent://")


def test_a_missing_version_is_not_found(talk: Talk) -> None:
    missing = talk.get()
    assert (missing.error_code, missing.error_message) == (
        pb.TopicNotFound,
        f"Topic not found or no-schema {talk.topic}",
    )
    talk.produce(Schema.String)
    assert talk.get(v(7)).error_code == pb.TopicNotFound


def test_an_empty_version_is_refused(talk: Talk) -> None:
    refused = talk.get(b"")
    assert (refused.error_code, refused.error_message) == (pb.IncompatibleSchema, "Empty schema version")


def test_a_schema_can_be_registered_after_the_producer(talk: Talk) -> None:
    talk.produce(Schema.Avro, avro("a"))
    assert talk.get_or_create(Schema.Avro, avro("a", "b", default=0)) == v(1)
    assert talk.get_or_create(Schema.Avro, avro("a")) == v(0)
    assert "A.c was not written" in str(talk.get_or_create(Schema.Avro, avro("c")))
    assert talk.get_or_create(NO_SCHEMA) == b""


def test_a_schema_cannot_be_registered_for_a_missing_topic(talk: Talk) -> None:
    assert talk.get_or_create(Schema.String) == f"Topic not found {talk.topic}"


# Consumers


def test_a_consumers_schema_is_registered_on_an_unused_topic(talk: Talk) -> None:
    assert talk.subscribe(Schema.String) == ""
    assert talk.get().schema.type == Schema.String


def test_a_consumers_schema_must_read_the_topics_schema(talk: Talk) -> None:
    talk.produce(Schema.Avro, avro("a"))
    assert talk.subscribe(Schema.Avro, avro("a", "b", default=0)) == ""
    assert "A.b was not written" in talk.subscribe(Schema.Avro, avro("b"))
    assert talk.subscribe(Schema.String) == "Incompatible schema: exists schema type AVRO, new schema type STRING"
    assert talk.get().schema_version == v(0)


def test_a_consumer_without_a_schema_or_with_auto_consume_is_accepted(talk: Talk) -> None:
    talk.produce(Schema.Avro, avro("a"))
    assert talk.subscribe() == ""
    assert talk.subscribe(Schema.AutoConsume) == ""


def test_a_consumers_schema_is_not_registered_on_a_topic_with_a_consumer(talk: Talk) -> None:
    talk.subscribe()
    assert talk.subscribe(Schema.String) == ACTIVE


def test_on_a_topic_with_a_producer_only_producers_register_schemas(talk: Talk) -> None:
    talk.produce()
    assert talk.subscribe(Schema.String) == ACTIVE
    assert talk.produce(Schema.String) == v(0)
    assert talk.subscribe(Schema.String) == ""


def test_a_consumer_that_accepts_any_schema_does_not_count_as_use(talk: Talk) -> None:
    talk.subscribe(Schema.AutoConsume)
    assert talk.subscribe(Schema.String) == ""


def test_a_producer_that_sent_nothing_does_not_count_as_use(talk: Talk) -> None:
    talk.produce()
    talk.raw.send(close_producer(1, 99))
    talk.raw.expect(BaseCommand.SUCCESS)
    assert talk.subscribe(Schema.String) == ""


def test_a_consumers_schema_is_not_registered_on_a_topic_with_messages(talk: Talk) -> None:
    talk.produce()
    talk.raw.send(send(1, 0))
    talk.raw.expect(BaseCommand.SEND_RECEIPT)
    talk.raw.send(close_producer(1, 99))
    talk.raw.expect(BaseCommand.SUCCESS)
    assert talk.subscribe(Schema.String) == ACTIVE


# Policies


def test_with_enforced_validation_a_producer_needs_a_schema_if_the_topic_has_one(talk: Talk, policies: Any) -> None:
    policies(schema_validation_enforced=True)
    assert talk.produce() == b""
    talk.produce(Schema.String)
    assert str(talk.produce()).startswith(NOT_ENFORCED)
    assert talk.subscribe() == ""


def test_without_auto_update_producers_can_use_only_known_schemas(talk: Talk, policies: Any) -> None:
    talk.produce(Schema.String)
    policies(allow_schema_update=False)
    assert talk.produce(Schema.String) == v(0)
    refused = "Schema not found and schema auto updating is disabled."
    assert talk.produce(Schema.Int32) == refused
    assert talk.get_or_create(Schema.Int32) == refused


def test_a_strategy_takes_effect_at_once(talk: Talk, policies: Any) -> None:
    talk.produce(Schema.String)
    assert isinstance(talk.produce(Schema.Int32), str)
    policies(schema_compatibility_strategy="ALWAYS_COMPATIBLE")
    assert talk.produce(Schema.Int32) == v(1)
    assert talk.subscribe(Schema.Avro, avro("a")) == ""


def test_a_producer_that_a_deletion_overtakes_leaves_no_schema_behind(
    talk: Talk, pulsar_broker: EmbeddedBroker
) -> None:
    name, schemas = parse_topic(talk.topic), pulsar_broker.broker.schemas
    go = threading.Event()
    schemas._thread.submit(go.wait, 30)  # the definition of another client takes a while
    command = BaseCommand(type=BaseCommand.PRODUCER)
    command.producer.topic, command.producer.request_id, command.producer.producer_id = talk.topic, 1, 1
    _fill(command.producer, Schema.Avro, avro("a"))
    talk.raw.send(frame(command))
    wait_until(lambda: schemas._thread._work_queue.qsize() > 0, 30)
    pulsar_broker.call(pulsar_broker.broker.topics.delete(name))
    go.set()
    assert talk.raw.expect(BaseCommand.ERROR).error == pb.ServiceNotReady
    assert schemas.latest(name) is None
    assert talk.produce(Schema.String) == v(0)
