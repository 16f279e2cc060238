"""Peek, examine, and get a message by ID over REST."""

import asyncio
import http.client
from email.message import Message

import pytest

from broker_core.names import parse_topic
from broker_core.topic.one_entry import OneEntry
from broker_core.wire.compression import compress
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata, CompressionType, KeyValue, MessageMetadata
from broker_core.wire.send import SendRun
from tests.broker.admin.conftest import Admin
from tests.support.broker_metadata import add_broker_metadata
from tests.support.managed_ledgers import managed_ledger

TOPIC = "persistent/acme/shop/plain"
FULL = "persistent://acme/shop/plain"


async def fetch(admin: Admin, path: str) -> tuple[Message, bytes]:
    """Headers and body of an existing message."""

    def request() -> tuple[Message, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", admin.server.web_port, timeout=10)
        try:
            connection.request("GET", f"/admin/v2/{TOPIC}/{path}")
            response = connection.getresponse()
            assert response.status == 200
            return response.headers, response.read()
        finally:
            connection.close()

    return await asyncio.to_thread(request)


async def body(admin: Admin, path: str) -> bytes:
    return (await fetch(admin, path))[1]


async def abort_message(admin: Admin) -> None:
    """Publishes a message in a transaction as the Go client does, which names it only in the command, and aborts it."""
    coordinator = admin.broker.transactions
    assert coordinator is not None
    entry = build_entry(MessageMetadata(producer_name="go", sequence_id=0, publish_time=1), b"never")
    run = SendRun(1, entry, [0], [len(entry)], [b""], [1], [1])
    run.transaction = await coordinator.begin(0, 60_000, "")
    (await admin.broker.topics.get(parse_topic(FULL))).publish_in_transaction(run, lambda first, error: None)
    await coordinator.abort(run.transaction)


async def subscribed(admin: Admin) -> None:
    assert (await admin("PUT", f"{TOPIC}/subscription/s", {"ledgerId": -1, "entryId": -1})).status == 204


async def test_peeked_messages_stay_in_the_backlog(shop: Admin) -> None:
    await subscribed(shop)
    await shop.publish(FULL, [b"one", b"two", b"three"])
    peeked = [await body(shop, f"subscription/s/position/{number}") for number in (1, 2, 3, 1)]
    assert peeked == [b"one", b"two", b"three", b"one"]
    missing = await shop("GET", f"{TOPIC}/subscription/s/position/4")
    assert (missing.status, missing.reason) == (404, "Message not found")


async def test_an_aborted_message_says_so_also_if_its_metadata_names_no_transaction(shop: Admin) -> None:
    await subscribed(shop)
    await abort_message(shop)
    headers, payload = await fetch(shop, "subscription/s/position/1")
    assert (headers["X-Pulsar-txn-aborted"], payload) == ("true", b"never")


async def test_peeking_creates_a_missing_subscription(shop: Admin) -> None:
    await shop.publish(FULL, [b"one", b"two"])
    assert await body(shop, "subscription/made-up/position/2") == b"two"
    assert (await shop("GET", f"{TOPIC}/subscriptions")).json == ["made-up"]


async def test_acknowledged_messages_are_not_peeked_at(shop: Admin) -> None:
    await subscribed(shop)
    positions = await shop.publish(FULL, [b"one", b"two", b"three"])
    topic = await shop.broker.topics.get(parse_topic(FULL))
    topic.subscriptions["s"].cursor.acknowledge(positions[1].ledger_id, [positions[1].entry_id])
    assert await body(shop, "subscription/s/position/2") == b"three"


async def test_metadata_of_a_message_is_in_headers(shop: Admin) -> None:
    await subscribed(shop)
    properties = [KeyValue(key="A", value="ü"), KeyValue(key="b", value="2")]
    [position] = await shop.publish(
        FULL,
        [b"x"],
        properties=properties,
        partition_key="k\r\nX-Other: 1",
        ordering_key=b"ok",
        publish_time=1_700_000_000_000,
        event_time=1_700_000_000_123,
        sequence_id=7,
    )
    headers, _ = await fetch(shop, "subscription/s/position/1")
    found = {name: value for name, value in headers.items() if name.startswith("X-")}
    assert found == {
        "X-Pulsar-Message-ID": str(position),
        "X-Pulsar-Is-Encrypted": "false",
        "X-Pulsar-txn-uncommitted": "false",
        "X-Pulsar-PROPERTY": '{"A":"\\u00fc","b":"2"}',
        "X-Pulsar-producer-name": "test",
        "X-Pulsar-sequence-id": "7",
        "X-Pulsar-partition-key": "k  X-Other: 1",
        "X-Pulsar-publish-time": "2023-11-14T22:13:20.000Z",
        "X-Pulsar-event-time": "2023-11-14T22:13:20.123Z",
        "X-Pulsar-Base64-ordering-key": "b2s=",
    }


async def test_what_a_broker_and_a_chunk_add_to_a_message_is_in_headers(shop: Admin) -> None:
    metadata = MessageMetadata(
        producer_name="p", sequence_id=1, publish_time=1, num_chunks_from_msg=3, chunk_id=2, marker_type=10
    )
    entry = add_broker_metadata(build_entry(metadata, b"x"), BrokerEntryMetadata(broker_timestamp=1000, index=41))
    written: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    topic = await shop.broker.topics.get(parse_topic(FULL))
    topic.publish(OneEntry(entry, [0], [len(entry)], [1], [1]), lambda first, _error: written.set_result(first))
    await written
    headers, _ = await fetch(shop, "examinemessage")
    assert headers["X-Pulsar-Broker-Entry-METADATA-timestamp"] == "1970-01-01T00:00:01.000Z"
    assert headers["X-Pulsar-Broker-Entry-METADATA-index"] == "41"
    assert (headers["X-Pulsar-PROPERTY-TOTAL-CHUNKS"], headers["X-Pulsar-PROPERTY-CHUNK-ID"]) == ("3", "2")
    assert headers["X-Pulsar-marker-type"] == "10"


async def test_a_payload_is_decompressed_and_a_batch_stays_whole(shop: Admin) -> None:
    payload = b"z" * 100
    stored = compress(CompressionType.LZ4, payload)
    fields = {"compression": CompressionType.LZ4, "uncompressed_size": 100, "num_messages_in_batch": 3}
    [position] = await shop.publish(FULL, [stored], **fields)
    headers, found = await fetch(shop, f"ledger/{position.ledger_id}/entry/{position.entry_id}")
    assert found == payload
    assert headers["X-Pulsar-compression"] == "LZ4"
    assert headers["X-Pulsar-num-batch-message"] == "3"
    assert headers["X-Pulsar-batch-size"] == str(len(stored))


async def test_messages_are_examined_from_either_end(shop: Admin) -> None:
    await shop.publish(FULL, [b"one", b"two", b"three"])
    topic = await shop.broker.topics.get(parse_topic(FULL))
    await managed_ledger(topic).roll()
    await shop.publish(FULL, [b"four"])
    assert await body(shop, "examinemessage") == b"four"
    assert await body(shop, "examinemessage?messagePosition=2") == b"three"
    assert await body(shop, "examinemessage?initialPosition=earliest&messagePosition=2") == b"two"
    assert await body(shop, "examinemessage?initialPosition=earliest&messagePosition=99") == b"four"


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        (f"{TOPIC}/examinemessage?messagePosition=%C2%B2", 412, "messagePosition must be a number"),
        (f"{TOPIC}/examinemessage", 412, "Could not examine messages due to the total message is zero"),
        (f"{TOPIC}/ledger/999/entry/0", 404, "Message id not found"),
        (
            "persistent/acme/shop/parted/subscription/s/position/1",
            405,
            "Peek messages on a partitioned topic is not allowed",
        ),
        (
            "persistent/acme/shop/parted/ledger/1/entry/0",
            405,
            "GetMessageById is not allowed on partitioned-topic",
        ),
        (
            "persistent/acme/shop/parted/examinemessage",
            405,
            "Examine messages on a partitioned topic is not allowed, "
            "please try examine message on specific topic partition",
        ),
        (
            "non-persistent/acme/shop/n/examinemessage",
            405,
            "Examine messages on a non-persistent topic is not allowed",
        ),
    ],
)
async def test_messages_that_cannot_be_shown_are_refused_with_a_reason(
    shop: Admin, path: str, status: int, reason: str
) -> None:
    refused = await shop("GET", path)
    assert (refused.status, refused.reason) == (status, reason)
