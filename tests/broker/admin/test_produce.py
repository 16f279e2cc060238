"""Publishing over REST."""

import struct
from typing import Any

import pytest

from broker_core.admin.produced_values import encode
from broker_core.errors import InvalidRequest
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.names import parse_topic
from broker_core.wire.message import Entry, parse_entry
from tests.broker.admin.conftest import Admin, Reply

PLAIN = "/topics/persistent/acme/shop/plain"
PARTED = "/topics/persistent/acme/shop/parted"
FULL = "persistent://acme/shop/plain"
TWO: dict[str, Any] = {
    "producerName": "p",
    "messages": [
        {"key": "k", "payload": "one", "eventTime": 5, "sequenceId": 3, "properties": {"a": "b"}},
        {"payload": "two"},
    ],
}


DELAY_OF_A_SECOND = {"active": True, "tickTime": 1000, "maxDeliveryDelayInMillis": 1000}


async def entries(admin: Admin) -> list[Entry]:
    log = (await admin.broker.topics.get(parse_topic(FULL))).ledger
    if not log.entries:
        return []
    block = await log.read(log.first_position, 100, 1 << 20)
    return [parse_entry(block.entry(index)) for index in range(len(block))]


def partitions(reply: Reply) -> list[str]:
    return [one["messageId"].split(":")[2] for one in reply.json["messagePublishResults"]]


async def test_messages_are_stored_as_a_client_would_send_them(shop: Admin) -> None:
    reply = await shop("POST", PLAIN, TWO)
    assert reply.status == 200 and partitions(reply) == ["-1", "-1"]
    assert all(one["errorCode"] == 0 for one in reply.json["messagePublishResults"])
    first, second = await entries(shop)
    assert (first.payload, second.payload) == (b"one", b"two")
    found = first.metadata
    assert (found.producer_name, found.partition_key, found.event_time, found.sequence_id) == ("p", "k", 5, 3)
    assert {pair.key: pair.value for pair in found.properties} == {"a": "b"}


async def test_messages_with_a_key_go_to_its_partition_and_others_to_each_in_turn(shop: Admin) -> None:
    keyed = {"messages": [{"key": "same", "payload": "x"}] * 3}
    assert len(set(partitions(await shop("POST", PARTED, keyed)))) == 1
    plain = {"messages": [{"payload": "x"}] * 3}
    assert partitions(await shop("POST", PARTED, plain)) == ["0", "1", "2"]


async def test_a_partition_can_be_named(shop: Admin) -> None:
    assert partitions(await shop("POST", f"{PARTED}/partitions/1", TWO)) == ["1", "1"]
    missing = await shop("POST", f"{PARTED}/partitions/7", TWO)
    assert (missing.status, missing.reason) == (404, "Topic persistent://acme/shop/parted has no partition 7")


async def test_the_schema_of_the_request_becomes_that_of_the_topic(shop: Admin) -> None:
    body = {"valueSchema": '{"type": "INT32", "schema": ""}', "messages": [{"payload": 5}]}
    assert (await shop("POST", PLAIN, body)).status == 200
    assert (await shop("GET", "schemas/acme/shop/plain/schema")).json["type"] == "INT32"
    [found] = await entries(shop)
    assert (found.payload, found.metadata.schema_version) == (b"\0\0\0\5", bytes(8))
    refused = await shop("POST", PLAIN, TWO)
    assert refused.status == 409 and refused.reason
    assert len(await entries(shop)) == 1


async def test_no_message_is_stored_if_one_is_invalid(shop: Admin) -> None:
    body = {"valueSchema": '{"type": "INT8", "schema": ""}', "messages": [{"payload": 5}, {"payload": 500}]}
    reply = await shop("POST", PLAIN, body)
    assert (reply.status, reply.reason) == (400, "500 does not fit into INT8")
    assert await entries(shop) == []


async def test_a_delayed_message_is_delayed(shop: Admin) -> None:
    await shop("POST", PLAIN, {"messages": [{"payload": "x", "deliverAfterMs": 60_000}]})
    [found] = await entries(shop)
    assert 59_000 < found.metadata.deliver_at_time - found.metadata.publish_time <= 60_000


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/topics/persistent/acme/shop/nope", TWO, 404),
        ("/topics/persistent/acme/nope/t", TWO, 404),
        (PLAIN, {}, 400),
        (PLAIN, {"messages": [5]}, 400),
        (PLAIN, {"valueSchema": "x", "messages": []}, 400),
        (PLAIN, {"valueSchema": '{"type": "NOPE"}', "messages": []}, 400),
        (PLAIN, {"keySchema": '{"type": "INT32"}', "messages": []}, 400),
        (PLAIN, {"messages": [{"payload": "x" * 6_000_000}]}, 413),
    ],
)
async def test_invalid_requests_are_refused(shop: Admin, path: str, body: Any, status: int) -> None:
    reply = await shop("POST", path, body)
    assert reply.status == status and reply.reason


async def test_a_topic_that_needs_encryption_takes_nothing(shop: Admin) -> None:
    await shop("POST", "namespaces/acme/shop/encryptionRequired", True)
    reply = await shop("POST", PLAIN, TWO)
    assert (reply.status, reply.reason) == (405, f"Encryption is required in {FULL}: use a client that encrypts")


async def test_a_terminated_topic_takes_nothing(shop: Admin) -> None:
    await shop("POST", "persistent/acme/shop/plain/terminate")
    reply = await shop("POST", PLAIN, TWO)
    assert (reply.status, reply.reason) == (409, f"Topic {FULL} was already terminated")


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (SchemaType.STRING, "ü", "ü".encode()),
        (SchemaType.STRING, 5, b"5"),
        (SchemaType.BOOLEAN, True, b"\1"),
        (SchemaType.INT16, -2, b"\xff\xfe"),
        (SchemaType.INT64, "7", struct.pack(">q", 7)),
        (SchemaType.DOUBLE, 1.5, struct.pack(">d", 1.5)),
        (SchemaType.JSON, {"a": [1]}, b'{"a":[1]}'),
        (SchemaType.JSON, '{"a": 1}', b'{"a":1}'),
    ],
)
def test_a_value_is_encoded_by_its_schema(kind: SchemaType, value: Any, data: bytes) -> None:
    assert encode(kind, value) == data


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (SchemaType.INT8, 128),
        (SchemaType.INT32, "x"),
        (SchemaType.FLOAT, 1e300),
        (SchemaType.JSON, "{"),
        (SchemaType.AVRO, "x"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(kind: SchemaType, value: Any) -> None:
    with pytest.raises(InvalidRequest):
        encode(kind, value)


async def test_a_delay_beyond_the_policy_or_the_end_of_time_is_refused(shop: Admin) -> None:
    await shop("POST", "/admin/v2/persistent/acme/shop/plain/delayedDelivery", DELAY_OF_A_SECOND)
    long = await shop("POST", PLAIN, {"messages": [{"payload": "x", "deliverAfterMs": 3_600_000}]})
    assert (long.status, long.reason) == (405, "Exceeds max allowed delivery delay of 1000 milliseconds")
    endless = await shop("POST", PLAIN, {"messages": [{"payload": "x", "deliverAfterMs": (1 << 63) - 1}]})
    assert endless.status == 400 and "deliverAfterMs" in endless.reason
    assert not await entries(shop)
