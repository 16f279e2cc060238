"""Messages as they are, without consuming them: peek, examine, get by id.

The body is the payload of one entry, decompressed (a batch as a whole); what the message carries besides is in
headers, spelled as Pulsar's tools expect them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator

from broker_core.admin.call import Answer, Call
from broker_core.admin.non_persistent import persistent_only
from broker_core.admin.routes import Route
from broker_core.admin.targets import one_topic
from broker_core.clock import iso
from broker_core.errors import InvalidRequest, PreconditionFailed, TopicNotFound
from broker_core.storage.position import Position
from broker_core.topic import peek
from broker_core.wire.compression import decompress
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import CompressionType, MessageMetadata

Header = tuple[str, str]

BYTES_TYPE = "application/octet-stream"


async def peek_message(call: Call) -> Answer:
    """A subscription that is not there is made, at the earliest message: tools peek at names they made up."""
    topic = await one_topic(call, "Peek messages on a partitioned topic is not allowed")
    number = call.number("number")
    if number < 1:
        raise InvalidRequest("the position of a message to peek at counts from 1")
    name = call.subscription()
    subscription = topic.subscriptions.get(name) or await topic.subscription(
        name, durable=True, start=None, earliest=True, properties={}
    )
    return _answer(await peek.nth_unacknowledged(topic.ledger, subscription.cursor, number))


async def examine_message(call: Call) -> Answer:
    topic = await one_topic(
        call,
        "Examine messages on a partitioned topic is not allowed, "
        "please try examine message on specific topic partition",
    )
    text = call.query.get("messagePosition", "1")
    if not text.isdecimal():
        raise PreconditionFailed("messagePosition must be a number")
    found = await peek.nth_entry(topic, int(text), from_end=call.query.get("initialPosition") != "earliest")
    if found is None:
        raise PreconditionFailed("Could not examine messages due to the total message is zero")
    return _answer(found)


async def get_message(call: Call) -> Answer:
    topic = await one_topic(call, "GetMessageById is not allowed on partitioned-topic")
    position = Position(call.number("ledger"), call.number("entry"))
    return _answer(await peek.entry_at(topic, position), "Message id not found")


def _answer(found: peek.Found | None, missing: str = "Message not found") -> Answer:
    if found is None:
        raise TopicNotFound(missing)
    position, data = found
    entry = parse_entry(data, verify=False)
    metadata, payload = entry.metadata, entry.payload
    headers = tuple(_headers(position, metadata, len(payload)))
    if metadata.compression and not metadata.encryption_keys:
        payload = decompress(metadata.compression, payload, metadata.uncompressed_size)
    return Answer(200, payload, BYTES_TYPE, headers)


def _headers(position: Position, metadata: MessageMetadata, stored_size: int) -> Iterator[Header]:
    yield "X-Pulsar-Message-ID", str(position)
    yield "X-Pulsar-Is-Encrypted", "true" if metadata.encryption_keys else "false"
    yield "X-Pulsar-txn-uncommitted", "false"
    yield "X-Pulsar-PROPERTY", json.dumps({pair.key: pair.value for pair in metadata.properties}, separators=(",", ":"))
    yield from _of_fields(metadata)
    if metadata.HasField("num_messages_in_batch"):  # else clients would look for a batch in the body
        yield "X-Pulsar-num-batch-message", str(metadata.num_messages_in_batch)
        yield "X-Pulsar-batch-size", str(stored_size)
    if metadata.compression:
        yield "X-Pulsar-compression", CompressionType.Name(metadata.compression)
    for key in metadata.encryption_keys:
        yield "X-Pulsar-Base64-encryption-keys", _base64(key.value)
    for cluster in metadata.replicate_to:
        yield "X-Pulsar-replicated-to", cluster


# Field of the metadata -> its header; those that are set are shown.
TEXTS = {
    "producer_name": "producer-name",
    "sequence_id": "sequence-id",
    "highest_sequence_id": "highest-sequence-id",
    "partition_key": "partition-key",
    "replicated_from": "replicated-from",
    "uncompressed_size": "uncompressed-size",
    "encryption_algo": "encryption-algo",
    "uuid": "uuid",
    "num_chunks_from_msg": "num-chunks-from-msg",
    "total_chunk_msg_size": "total-chunk-msg-size",
    "chunk_id": "chunk-id",
}
TRUTHS = {
    "partition_key_b64_encoded": "partition-key-b64-encoded",
    "null_partition_key": "null-partition-key",
    "null_value": "null-value",
}
TIMES = {"publish_time": "publish-time", "event_time": "event-time", "deliver_at_time": "deliver-at-time"}
BYTES = {
    "ordering_key": "Base64-ordering-key",
    "schema_version": "Base64-schema-version",
    "encryption_param": "Base64-encryption-param",
}


def _of_fields(metadata: MessageMetadata) -> Iterator[Header]:
    for names, as_text in ((TEXTS, _text), (TRUTHS, _truth), (TIMES, iso), (BYTES, _base64)):
        for field, name in names.items():
            if metadata.HasField(field):  # type: ignore[arg-type]  # a name of a field, from the tables above
                yield f"X-Pulsar-{name}", as_text(getattr(metadata, field))


def _truth(value: object) -> str:
    return str(value).lower()


def _text(value: object) -> str:
    """Nothing in a key may look like the end of a header."""
    return "".join(letter if letter.isprintable() else " " for letter in str(value))


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route(
        "GET",
        f"{_TOPIC}/subscription/{{subscription}}/position/{{number}}",
        persistent_only(peek_message, "Peek messages"),
    ),
    Route("GET", f"{_TOPIC}/examinemessage", persistent_only(examine_message, "Examine messages")),
    Route("GET", f"{_TOPIC}/ledger/{{ledger}}/entry/{{entry}}", persistent_only(get_message, "GetMessageById")),
)
