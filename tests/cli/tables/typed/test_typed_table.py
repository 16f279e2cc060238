"""Typed columns of topics, as official producers write them."""

import json
from decimal import Decimal
from urllib.request import Request, urlopen

import pulsar
import pytest
from pulsar import schema

pytest.importorskip("pyarrow")

import pyarrow as pa

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import DoesNotFit, UsageProblem
from pulsarctl.tables.topic_table import TopicTable
from tests.cli.tables.topics import rows, table

VALUES = "value,raw_value,decode_error"


class Order(schema.Record):  # type: ignore[misc]  # the client ships no types
    id = schema.Integer()


class Later:
    class Order(schema.Record):  # type: ignore[misc]  # the client ships no types
        id = schema.Integer()
        note = schema.String(required_default=True)


def send(client: pulsar.Client, topic: str, kind: schema.Schema, *values: object) -> None:
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, schema=kind)
    for value in values:
        producer.send(value)
    producer.close()


def post(url: str, body: object) -> None:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST")
    urlopen(request, timeout=10).close()


def values(read: TopicTable) -> list[object]:
    return [row["value"] for row in rows(read)]


@pytest.mark.parametrize("kind", [schema.AvroSchema, schema.JsonSchema])
def test_records_of_all_versions_have_one_type(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, kind: type
) -> None:
    send(client, topic, kind(Order), Order(id=1), Order(id=2))
    send(client, topic, kind(Later.Order), Later.Order(id=3, note="n"))
    read = table(pulsar_broker, topic, columns="value")
    assert read.schema == pa.schema([("value", pa.struct([("id", pa.int32()), ("note", pa.string())]))])
    assert values(read) == [{"id": 1, "note": None}, {"id": 2, "note": None}, {"id": 3, "note": "n"}]


def test_text_is_text(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    send(client, topic, schema.StringSchema(), "a", "é")
    assert values(table(pulsar_broker, topic)) == ["a", "é"]


def test_a_topic_without_a_schema_has_bytes(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    send(client, topic, schema.BytesSchema(), b"\xff")
    read = table(pulsar_broker, topic)
    assert values(read) == [b"\xff"]
    assert "decode_error" not in read.columns


def test_bytes_stay_bytes_on_request(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    send(client, topic, schema.StringSchema(), "a")
    assert values(table(pulsar_broker, topic, decode="raw")) == [b"a"]


def test_any_topic_can_be_read_as_text(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    send(client, topic, schema.BytesSchema(), b"text", b"\xff")
    found = rows(table(pulsar_broker, topic, decode="string", columns=VALUES))
    assert found[0] == {"value": "text", "raw_value": None, "decode_error": None}
    assert (found[1]["value"], found[1]["raw_value"]) == (None, b"\xff")
    assert "not UTF-8" in found[1]["decode_error"]


def test_the_bytes_of_a_value_that_the_column_cannot_hold_are_kept(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    price = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    record = {"type": "record", "name": "R", "fields": [{"name": "price", "type": price}]}
    body = {"type": "JSON", "schema": json.dumps(record), "properties": {}}
    path = topic.removeprefix("persistent://")
    post(f"{pulsar_broker.http_url}/admin/v2/schemas/{path}/schema", body)
    send(client, topic, schema.BytesSchema(), b'{"price":1.05}', b'{"price":1.055}', b'{"price":2}')
    fits, kept, last = rows(table(pulsar_broker, topic, columns=VALUES, decode="json"))
    assert (fits["value"], fits["raw_value"]) == ({"price": Decimal("1.05")}, None)
    assert (kept["value"], kept["raw_value"], last["value"]) == (None, b'{"price":1.055}', {"price": Decimal(2)})
    assert "does not fit" in kept["decode_error"]


def test_a_message_that_cannot_be_decoded_fails_on_request(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    send(client, topic, schema.BytesSchema(), b"\xff")
    with pytest.raises(DoesNotFit, match=r"cannot decode a message of .*not UTF-8"):
        rows(table(pulsar_broker, topic, decode="string", undecodable="fail"))


def test_a_kind_of_schema_that_the_topic_does_not_have_is_refused(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    send(client, topic, schema.StringSchema(), "a")
    with pytest.raises(UsageProblem, match="cannot decode as avro"):
        table(pulsar_broker, topic, decode="avro")


def test_topics_with_different_kinds_of_schemas_are_not_one_table(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    send(client, topic, schema.StringSchema(), "a")
    send(client, f"{topic}-records", schema.JsonSchema(Order), Order(id=1))
    with pytest.raises(UsageProblem, match="different kinds of schemas"):
        table(pulsar_broker, f"{topic},{topic}-records")
