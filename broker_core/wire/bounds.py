"""Limits for the fields of a client's command: a table, and the check of a command against it.

Every string, list, and size in every command that the broker takes has a row here; its test compares
the rows with the protocol. The configuration key names the limit. A field that exceeds its limit, and text that is not
UTF-8, makes a `Flaw`: the broker answers the command with that error and does not execute it.

Nothing in a command is longer than the command itself, so a row costs one comparison if the command is shorter than
the limit: the fields of ACK and FLOW are hardly ever measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from broker_core.wire.pulsar_api_pb2 import (
    AuthenticationError,
    BaseCommand,
    ConsumerAssignError,
    IncompatibleSchema,
    InvalidTopicName,
    MetadataError,
    NotAllowedError,
    ProducerBusy,
)

NAME = "maxNameLength"
PROPERTIES = "maxPropertiesSizeInBytes"
CONSUMER_METADATA = "maxConsumerMetadataSize"
MESSAGE_IDS = "maxMessageIdsPerCommand"
HASH_RANGES = "maxHashRangesPerConsumer"
SCHEMA = "schemaMaxSizeInBytes"
COMMAND = "maxCommandSizeInBytes"
BATCH = "maxMessagesPerBatch"
LONG = "Long.MAX_VALUE"  # the limit of a field that is unsigned here and signed in responses; not a setting

ACK_SET_WEIGHT = 4  # in message IDs: the cost of an ID with an ack set
REDELIVERED_PER_ID = 3  # clients request everything unacknowledged at once, up to 50,000 messages
ACK_SET_WORDS_PER_ID = 8  # words of ack sets, of 64 messages each, that cost as much as a message ID

_T = BaseCommand
_FINDING = (_T.LOOKUP, _T.PARTITIONED_METADATA)
_LISTING = (_T.GET_TOPICS_OF_NAMESPACE, _T.WATCH_TOPIC_LIST)
_WITH_SCHEMA = (_T.PRODUCER, _T.SUBSCRIBE, _T.GET_OR_CREATE_SCHEMA)
_SCALABLE = (_T.SCALABLE_TOPIC_LOOKUP, _T.SCALABLE_TOPIC_SUBSCRIBE)
_CLOSING = (_T.CLOSE_PRODUCER, _T.CLOSE_CONSUMER)


class Flaw(NamedTuple):
    """Why a command is refused; `server_error` is a ServerError number."""

    server_error: int
    reason: str


class NotUtf8(Exception):
    """Protobuf returns text that it cannot decode as bytes."""


def text(value: str | bytes) -> int:
    """The characters of a text; proves that it is a `str`."""
    if type(value) is bytes:
        raise NotUtf8
    return len(value)


def pairs(values: Any) -> int:
    """The characters of keys and values."""
    characters = 0
    for pair in values:  # a loop without calls: a command may have tens of thousands
        key, value = pair.key, pair.value
        if type(key) is bytes or type(value) is bytes:
            raise NotUtf8
        characters += len(key) + len(value)
    return characters


def names(values: Any) -> int:
    """The characters of all names."""
    return sum(map(text, values))


def message_ids(values: Any) -> int:
    """The number of message IDs plus the weight of their ack sets; never more than their bytes."""
    sizes = [len(message_id.ack_set) for message_id in values]
    with_sets = len(sizes) - sizes.count(0)
    return len(sizes) + (ACK_SET_WEIGHT - 1) * with_sets + sum(sizes) // ACK_SET_WORDS_PER_ID


def message_id(value: Any) -> int:
    return message_ids([value])


def redelivered_ids(values: Any) -> int:
    """The number of message IDs to redeliver: they cost less, because their ack sets are not read."""
    return len(values) // REDELIVERED_PER_ID


def number(value: int) -> int:
    return value


WHATEVER_THE_SIZE = frozenset({text, names, pairs, number})
"""Measures that also apply to short commands: to text for its encoding, to numbers because they take no space."""


class Bound(NamedTuple):
    """`field` of these commands, a dotted path, is measured and compared with the limit of that key."""

    commands: tuple[int, ...]
    field: str
    measure: Callable[[Any], int]
    limit: str
    server_error: int


BOUNDS = (
    Bound((_T.CONNECT, _T.AUTH_RESPONSE), "client_version", text, NAME, NotAllowedError),
    Bound((_T.AUTH_RESPONSE,), "response.auth_method_name", text, NAME, AuthenticationError),
    Bound((_T.AUTH_RESPONSE,), "response.auth_data", len, PROPERTIES, AuthenticationError),
    Bound((_T.CONNECT,), "auth_method_name", text, NAME, AuthenticationError),
    Bound((_T.CONNECT,), "auth_data", len, PROPERTIES, AuthenticationError),
    Bound((_T.CONNECT,), "original_auth_method", text, NAME, AuthenticationError),
    Bound((_T.CONNECT,), "proxy_to_broker_url", text, NAME, NotAllowedError),
    Bound((_T.CONNECT,), "proxy_version", text, NAME, NotAllowedError),
    Bound(_FINDING, "topic", text, NAME, InvalidTopicName),
    Bound(_FINDING, "original_auth_method", text, NAME, AuthenticationError),
    Bound((_T.CONNECT, *_FINDING), "original_principal", text, NAME, AuthenticationError),
    Bound((_T.CONNECT, *_FINDING), "original_auth_data", text, PROPERTIES, AuthenticationError),
    Bound((_T.LOOKUP,), "advertised_listener_name", text, NAME, NotAllowedError),
    Bound((_T.LOOKUP,), "properties", pairs, PROPERTIES, MetadataError),
    Bound((_T.PRODUCER, _T.SUBSCRIBE), "topic", text, NAME, InvalidTopicName),
    Bound((_T.PRODUCER,), "producer_name", text, NAME, ProducerBusy),
    Bound((_T.PRODUCER,), "initial_subscription_name", text, NAME, ProducerBusy),
    Bound((_T.PRODUCER,), "metadata", pairs, PROPERTIES, MetadataError),
    Bound((_T.SUBSCRIBE,), "subscription", text, NAME, ProducerBusy),
    Bound((_T.SUBSCRIBE,), "consumer_name", text, NAME, ProducerBusy),
    Bound((_T.SUBSCRIBE,), "metadata", pairs, CONSUMER_METADATA, MetadataError),
    Bound((_T.SUBSCRIBE,), "subscription_properties", pairs, PROPERTIES, MetadataError),
    Bound((_T.SUBSCRIBE,), "start_message_id", message_id, MESSAGE_IDS, NotAllowedError),
    Bound((_T.SUBSCRIBE,), "keySharedMeta.hashRanges", len, HASH_RANGES, ConsumerAssignError),
    Bound(_WITH_SCHEMA, "schema.name", text, NAME, IncompatibleSchema),
    Bound(_WITH_SCHEMA, "schema.schema_data", len, SCHEMA, IncompatibleSchema),
    Bound(_WITH_SCHEMA, "schema.properties", pairs, SCHEMA, IncompatibleSchema),
    Bound((_T.GET_SCHEMA, _T.GET_OR_CREATE_SCHEMA), "topic", text, NAME, InvalidTopicName),
    Bound((_T.GET_SCHEMA,), "schema_version", len, NAME, IncompatibleSchema),
    Bound((_T.GET_OR_CREATE_SCHEMA,), "producerName", text, NAME, ProducerBusy),
    Bound((_T.SEND,), "num_messages", number, BATCH, NotAllowedError),
    Bound((_T.SEND,), "sequence_id", number, LONG, NotAllowedError),
    Bound((_T.SEND,), "highest_sequence_id", number, LONG, NotAllowedError),
    Bound((_T.ACK,), "message_id", message_ids, MESSAGE_IDS, NotAllowedError),
    Bound((_T.REDELIVER_UNACKNOWLEDGED_MESSAGES,), "message_ids", redelivered_ids, MESSAGE_IDS, NotAllowedError),
    Bound((_T.SEEK,), "message_id", message_id, MESSAGE_IDS, NotAllowedError),
    Bound(_LISTING, "namespace", text, NAME, InvalidTopicName),
    # COMMAND, not the key for patterns: a longer one is evaluated by the client and not refused (PIP-145).
    Bound(_LISTING, "topics_pattern", text, COMMAND, NotAllowedError),
    Bound(_LISTING, "topics_hash", text, NAME, NotAllowedError),
    Bound((_T.WATCH_SCALABLE_TOPICS,), "namespace", text, NAME, InvalidTopicName),
    Bound((_T.WATCH_SCALABLE_TOPICS,), "property_filters", pairs, PROPERTIES, MetadataError),
    Bound((_T.WATCH_SCALABLE_TOPICS,), "current_hash", text, NAME, NotAllowedError),
    Bound(_SCALABLE, "topic", text, NAME, InvalidTopicName),
    Bound((_T.SCALABLE_TOPIC_SUBSCRIBE,), "subscription", text, NAME, ProducerBusy),
    Bound((_T.SCALABLE_TOPIC_SUBSCRIBE,), "consumer_name", text, NAME, ProducerBusy),
    Bound((_T.GET_TOPICS_OF_NAMESPACE,), "properties", pairs, PROPERTIES, MetadataError),
    Bound((_T.NEW_TXN,), "txn_ttl_millis", number, LONG, NotAllowedError),
    Bound((_T.ADD_PARTITION_TO_TXN,), "partitions", names, PROPERTIES, InvalidTopicName),
    Bound(_CLOSING, "assignedBrokerServiceUrl", text, NAME, NotAllowedError),
    Bound(_CLOSING, "assignedBrokerServiceUrlTls", text, NAME, NotAllowedError),
)

UNREAD = {
    (_T.ACK, "properties"),  # used by transactions and replicated subscriptions
    (_T.ADD_SUBSCRIPTION_TO_TXN, "subscription"),
}
"""Fields that no handler reads; the size of the command bounds them."""


class CommandBounds:
    """The rows with their limits; `limits` by key."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        limits = {LONG: (1 << 63) - 1, **limits}
        self.command_size_max = max(limits[COMMAND], limits[SCHEMA] + limits[PROPERTIES])
        self.batch_messages_max = limits[BATCH]
        self._rows: dict[
            int, list[tuple[Bound, list[str], int, bool]]
        ] = {}  # path, limit, whether to measure at any size
        for bound in BOUNDS:
            row = (bound, bound.field.split("."), limits[bound.limit], bound.measure in WHATEVER_THE_SIZE)
            for command in bound.commands:
                self._rows.setdefault(command, []).append(row)

    def flaw(self, command_type: int, message: Any, size: int) -> Flaw | None:
        """The error of a command of `size` bytes; None if it can be executed."""
        for bound, path, limit, always in self._rows.get(command_type, ()):
            if size <= limit and not always:
                continue
            value = reduce(getattr, path, message)
            try:
                # A number that is too large already costs no look at each ID.
                known = len(value) if bound.measure is message_ids else 0
                measured = known if known > limit else bound.measure(value)
            except NotUtf8:
                return Flaw(NotAllowedError, f"{bound.field} is not valid UTF-8")
            if measured > limit:
                return Flaw(bound.server_error, f"{bound.field} is too large: {measured}; {bound.limit} = {limit}")
        return None
