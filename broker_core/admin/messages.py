"""Reads messages without consuming them: peek, examine, get by ID.

The body is the decompressed payload of one entry (a batch as a whole). The metadata is in headers, spelled as Pulsar's
tools expect.

Both come from the producer of the message. So a body, which may decompress from a few bytes, is limited
(`httpMaxMessageMB`) and decompressed in a thread, and no value can end a header.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from broker_core.admin.call import Answer, Call
from broker_core.admin.non_persistent import persistent_only
from broker_core.admin.routes import Route
from broker_core.admin.targets import one_topic
from broker_core.clock import iso
from broker_core.errors import BrokerError, InvalidRequest, InvalidValue, PreconditionFailed, TopicNotFound
from broker_core.metadata.policies.json_values import whole_number
from broker_core.metadata.policies.topic_policies import at_least_zero
from broker_core.names import is_reserved_subscription
from broker_core.security.operations import on_topic
from broker_core.storage.records.position import Position
from broker_core.topic import peek
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BrokerEntryMetadata, CompressionType, MessageMetadata

if TYPE_CHECKING:
    from broker_core.topic_log import TopicLog

Header = tuple[str, str]

BYTES_TYPE = "application/octet-stream"
# HTTP clients refuse more.
HEADERS_MAX = 60_000  # bytes of all headers
KEYS_MAX = 50  # encryption keys or clusters; each takes a header


async def peek_message(call: Call) -> Answer:
    """Creates a missing subscription, at the earliest message: tools peek with names that they made up."""
    topic = await one_topic(call, "Peek messages on a partitioned topic is not allowed")
    number = call.number("number")
    if number < 1:
        raise InvalidRequest("the position of a message to peek at counts from 1")
    name = call.subscription()
    if is_reserved_subscription(name):
        cursor = topic.backlogs.find(name).cursor
    else:
        subscription = topic.subscriptions.get(name) or await topic.subscriptions.open(
            name, durable=True, start=None, earliest=True, properties={}
        )
        cursor = subscription.cursor
    return await _shown(call, topic.ledger, lambda: peek.nth_unacknowledged(topic.ledger, cursor, number))


async def examine_message(call: Call) -> Answer:
    topic = await one_topic(
        call,
        "Examine messages on a partitioned topic is not allowed, "
        "please try examine message on specific topic partition",
    )
    number = _position(call.query.get("messagePosition", "1"))
    from_end = call.query.get("initialPosition") != "earliest"
    missing = PreconditionFailed("Could not examine messages due to the total message is zero")
    return await _shown(call, topic.ledger, lambda: peek.nth_entry(topic.ledger, number, from_end=from_end), missing)


def _position(text: str) -> int:
    try:
        return int(at_least_zero(whole_number)(text, "messagePosition"))
    except BrokerError:
        raise InvalidValue("messagePosition must be a number") from None


async def get_message(call: Call) -> Answer:
    topic = await one_topic(call, "GetMessageById is not allowed on partitioned-topic")
    position = Position(call.number("ledger"), call.number("entry"))
    missing = TopicNotFound("Message id not found")
    return await _shown(call, topic.ledger, lambda: peek.entry_at(topic.ledger, position), missing)


_MISSING = TopicNotFound("Message not found")


async def _shown(
    call: Call, log: TopicLog, read: Callable[[], Awaitable[peek.Peeked | None]], missing: BrokerError = _MISSING
) -> Answer:
    """Answers with the entry that `read` finds. Waits for memory for the largest entry and body before reading."""
    config = call.broker.config
    largest = config.http.max_shown_mb << 20
    await call.memory.take(config.connection.max_message_size + largest)
    entry = await read()
    if entry is None:
        raise missing
    answer = await asyncio.to_thread(_answer, *entry, _visibility(log, entry[0]), largest)
    call.memory.keep(len(answer.body))
    return answer


class Visibility(NamedTuple):
    """What transactions do to an entry: it waits for the end of one, or it was aborted."""

    is_uncommitted: bool
    is_aborted: bool


def _visibility(log: TopicLog, position: Position) -> Visibility:
    transactions = None if log.on_disk is None else log.on_disk.transactions
    is_aborted = transactions is not None and transactions.is_aborted(position)
    return Visibility(position > log.visible_end, is_aborted)


def _answer(position: Position, data: bytes, visibility: Visibility, largest: int) -> Answer:
    """Raises `EntryError`."""
    from broker_core.wire.batch import plain_payload

    metadata, stored, broker_metadata = parse_entry(data, verify=False)
    size = _size_of_texts(metadata)
    if size > HEADERS_MAX or len(metadata.encryption_keys) + len(metadata.replicate_to) > KEYS_MAX:
        raise PreconditionFailed(
            f"cannot show message {position}: its properties and keys ({size} characters) do not fit into HTTP headers;"
            " consume it instead"
        )
    payload = plain_payload(metadata, stored, largest)
    pairs = chain(
        _headers(position, metadata, len(stored)), _of_transaction(metadata, visibility), _of_broker(broker_metadata)
    )
    headers = tuple((name, _text(value)) for name, value in pairs)
    return Answer(200, payload, BYTES_TYPE, headers)


def _size_of_texts(metadata: MessageMetadata) -> int:
    """The characters of the header values that a producer can make arbitrarily long."""
    pairs = sum(len(pair.key) + len(pair.value) for pair in metadata.properties)
    keys = sum(len(key.value) for key in metadata.encryption_keys)
    single = sum(len(getattr(metadata, field)) for field in LONG)
    return pairs + keys + single + sum(map(len, metadata.replicate_to))


def _headers(position: Position, metadata: MessageMetadata, stored_size: int) -> Iterator[Header]:
    yield "X-Pulsar-Message-ID", str(position)
    yield "X-Pulsar-Is-Encrypted", "true" if metadata.encryption_keys else "false"
    properties = {_unicode(pair.key): _unicode(pair.value) for pair in metadata.properties}
    yield "X-Pulsar-PROPERTY", json.dumps(properties, separators=(",", ":"))
    yield from _of_fields(metadata)
    if metadata.HasField("num_messages_in_batch"):  # else clients would look for a batch in the body
        yield "X-Pulsar-num-batch-message", str(metadata.num_messages_in_batch)
        yield "X-Pulsar-batch-size", str(stored_size)
    if metadata.HasField("num_chunks_from_msg"):  # tools look for them among the properties
        yield "X-Pulsar-PROPERTY-TOTAL-CHUNKS", str(metadata.num_chunks_from_msg)
        yield "X-Pulsar-PROPERTY-CHUNK-ID", str(metadata.chunk_id)
    if metadata.compression:
        yield "X-Pulsar-compression", CompressionType.Name(metadata.compression)
    for key in metadata.encryption_keys:
        yield "X-Pulsar-Base64-encryption-keys", _base64(key.value)
    for cluster in metadata.replicate_to:
        yield "X-Pulsar-replicated-to", _unicode(cluster)


def _of_transaction(metadata: MessageMetadata, visibility: Visibility) -> Iterator[Header]:
    yield "X-Pulsar-txn-uncommitted", "true" if visibility.is_uncommitted else "false"
    if visibility.is_aborted or metadata.HasField("txnid_most_bits"):  # the Go client does not set the field
        yield "X-Pulsar-txn-aborted", "true" if visibility.is_aborted else "false"


def _of_broker(metadata: BrokerEntryMetadata | None) -> Iterator[Header]:
    """The headers for what a broker added to the entry; brokers do so only if they are configured to."""
    if metadata is not None and metadata.HasField("broker_timestamp"):
        yield "X-Pulsar-Broker-Entry-METADATA-timestamp", iso(metadata.broker_timestamp)
    if metadata is not None and metadata.HasField("index"):
        yield "X-Pulsar-Broker-Entry-METADATA-index", str(metadata.index)


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
    "marker_type": "marker-type",
    "txnid_least_bits": "txnid-least-bits",
    "txnid_most_bits": "txnid-most-bits",
}
LONG = (
    "producer_name",
    "partition_key",
    "replicated_from",
    "encryption_algo",
    "uuid",
    "ordering_key",
    "encryption_param",
)
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
    for names, as_text in ((TEXTS, _unicode), (TRUTHS, _truth), (TIMES, iso), (BYTES, _base64)):
        for field, name in names.items():
            if metadata.HasField(field):  # type: ignore[arg-type]  # a name of a field, from the tables above
                yield f"X-Pulsar-{name}", as_text(getattr(metadata, field))


def _truth(value: object) -> str:
    return str(value).lower()


def _unicode(value: object) -> str:
    """A field of the metadata as text; protobuf returns bytes if a producer wrote invalid UTF-8."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _text(value: str) -> str:
    """Replaces characters that could end a header."""
    return "".join(letter if letter.isprintable() else " " for letter in value)


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route(
        "GET",
        f"{_TOPIC}/subscription/{{subscription}}/position/{{number}}",
        persistent_only(peek_message, "Peek messages"),
        on_topic("PEEK_MESSAGES"),
    ),
    Route(
        "GET",
        f"{_TOPIC}/examinemessage",
        persistent_only(examine_message, "Examine messages"),
        on_topic("PEEK_MESSAGES"),
        query=("initialPosition", "messagePosition"),
    ),
    Route(
        "GET",
        f"{_TOPIC}/ledger/{{ledger}}/entry/{{entry}}",
        persistent_only(get_message, "GetMessageById"),
        on_topic("PEEK_MESSAGES"),
    ),
)
