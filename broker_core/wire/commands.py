"""One constructor per command that the broker sends; each returns a complete frame.

encode.py writes runs of SEND_RECEIPT and MESSAGE, client_commands.py the commands of a client. Optional arguments that
are None are omitted. docs/reference/protocol.md says what clients expect. Errors are ServerError numbers, so that
callers do not import the generated module.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from broker_core.wire.frame import FIELD_BY_TYPE, Command
from broker_core.wire.pulsar_api_pb2 import (
    BaseCommand,
    CommandLookupTopicResponse,
    CommandPartitionedTopicMetadataResponse,
    CommandTopicMigrated,
    FeatureFlags,
    MessageIdData,
)

SIZES = struct.Struct(">II")
BROKER_REQUEST_ID = (1 << 64) - 1
"""The request ID of a CLOSE_* command from the broker (docs/reference/protocol.md "Commands that clients accept")."""


def frame(command: BaseCommand, entry: bytes = b"") -> bytes:
    """The frame of a command, with the headers and the payload that follow it in SEND and MESSAGE."""
    encoded = command.SerializeToString()
    return SIZES.pack(4 + len(encoded) + len(entry), len(encoded)) + encoded + entry


def frame_of(command: Command, **changes: Any) -> bytes:
    """The frame of a command that has arrived, with other values in some of its fields."""
    kind = BaseCommand.Type.ValueType(command.type)
    base = BaseCommand(type=kind)
    body = getattr(base, FIELD_BY_TYPE[kind])
    body.CopyFrom(command.message)
    for name, value in changes.items():
        setattr(body, name, value)
    return frame(base)


def message_id(
    ledger_id: int,
    entry_id: int,
    partition: int = -1,
    batch_index: int = -1,
    *,
    ack_set: Sequence[int] = (),
    batch_size: int | None = None,
) -> MessageIdData:
    """-1 in an ID (as in "nothing yet" and "earliest") is sent as the largest u64; other -1s are omitted."""
    message = MessageIdData(ledgerId=ledger_id & BROKER_REQUEST_ID, entryId=entry_id & BROKER_REQUEST_ID)
    if partition >= 0:
        message.partition = partition
    if batch_index >= 0:
        message.batch_index = batch_index
    message.ack_set.extend(ack_set)
    if batch_size is not None:
        message.batch_size = batch_size
    return message


def connected(
    server_version: str, protocol_version: int, max_message_size: int, feature_flags: Mapping[str, bool]
) -> bytes:
    """`max_message_size` in bytes; `feature_flags`: the fields of FeatureFlags that are true."""
    command = BaseCommand(type=BaseCommand.CONNECTED)
    command.connected.server_version = server_version
    command.connected.protocol_version = protocol_version
    command.connected.max_message_size = max_message_size
    command.connected.feature_flags.CopyFrom(FeatureFlags(**feature_flags))
    return frame(command)


def auth_challenge(protocol_version: int, auth_method_name: str, auth_data: bytes) -> bytes:
    command = BaseCommand(type=BaseCommand.AUTH_CHALLENGE)
    command.authChallenge.protocol_version = protocol_version
    command.authChallenge.challenge.auth_method_name = auth_method_name
    command.authChallenge.challenge.auth_data = auth_data
    return frame(command)


def success(request_id: int) -> bytes:
    command = BaseCommand(type=BaseCommand.SUCCESS)
    command.success.request_id = request_id
    return frame(command)


def error(request_id: int, server_error: int, text: str) -> bytes:
    """`server_error` is a ServerError number; `text` is shown to the user."""
    command = BaseCommand(type=BaseCommand.ERROR)
    command.error.request_id = request_id
    command.error.error = server_error  # type: ignore[assignment] # enum fields take plain numbers
    command.error.message = text
    return frame(command)


def send_error(producer_id: int, sequence_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.SEND_ERROR)
    command.send_error.producer_id = producer_id
    command.send_error.sequence_id = sequence_id
    command.send_error.error = server_error  # type: ignore[assignment] # enum fields take plain numbers
    command.send_error.message = text
    return frame(command)


def send_receipt(
    producer_id: int,
    sequence_id: int,
    ledger_id: int,
    entry_id: int,
    *,
    highest_sequence_id: int = 0,
    partition: int = -1,
) -> bytes:
    """A single receipt, also with the ID -1:-1 of a duplicate; `ReceiptEncoder` writes those of runs."""
    command = BaseCommand(type=BaseCommand.SEND_RECEIPT)
    command.send_receipt.producer_id = producer_id
    command.send_receipt.sequence_id = sequence_id
    command.send_receipt.message_id.CopyFrom(message_id(ledger_id, entry_id, partition))
    if highest_sequence_id:
        command.send_receipt.highest_sequence_id = highest_sequence_id
    return frame(command)


def producer_success(
    request_id: int,
    producer_name: str,
    *,
    last_sequence_id: int = -1,
    schema_version: bytes = b"",
    topic_epoch: int | None = None,
    producer_ready: bool = True,
) -> bytes:
    command = BaseCommand(type=BaseCommand.PRODUCER_SUCCESS)
    body = command.producer_success
    body.request_id = request_id
    body.producer_name = producer_name
    body.last_sequence_id = last_sequence_id
    body.schema_version = schema_version
    if topic_epoch is not None:
        body.topic_epoch = topic_epoch
    body.producer_ready = producer_ready
    return frame(command)


def lookup_connect(
    request_id: int, service_url: str, service_url_tls: str = "", *, proxy_through_service_url: bool = False
) -> bytes:
    """The broker at these URLs serves the topic; one that is empty does not exist. The client chooses."""
    command = BaseCommand(type=BaseCommand.LOOKUP_RESPONSE)
    body = command.lookupTopicResponse
    body.request_id = request_id
    body.response = CommandLookupTopicResponse.Connect
    if service_url:
        body.brokerServiceUrl = service_url
    if service_url_tls:
        body.brokerServiceUrlTls = service_url_tls
    body.authoritative = True
    body.proxy_through_service_url = proxy_through_service_url
    return frame(command)


def lookup_failed(request_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.LOOKUP_RESPONSE)
    body = command.lookupTopicResponse
    body.request_id = request_id
    body.response = CommandLookupTopicResponse.Failed
    body.error = server_error  # type: ignore[assignment] # enum fields take plain numbers
    body.message = text
    return frame(command)


def partitioned_metadata(request_id: int, partitions: int) -> bytes:
    """`partitions` is 0 if the topic is not partitioned."""
    command = BaseCommand(type=BaseCommand.PARTITIONED_METADATA_RESPONSE)
    body = command.partitionMetadataResponse
    body.request_id = request_id
    body.response = CommandPartitionedTopicMetadataResponse.Success
    body.partitions = partitions
    return frame(command)


def partitioned_metadata_failed(request_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=BaseCommand.PARTITIONED_METADATA_RESPONSE)
    body = command.partitionMetadataResponse
    body.request_id = request_id
    body.response = CommandPartitionedTopicMetadataResponse.Failed
    body.error = server_error  # type: ignore[assignment] # enum fields take plain numbers
    body.message = text
    return frame(command)


def ack_response(
    consumer_id: int,
    request_id: int,
    transaction: tuple[int, int] | None = None,
    server_error: int | None = None,
    text: str | None = None,
) -> bytes:
    """`transaction`: the higher and the lower half of its ID."""
    command = BaseCommand(type=BaseCommand.ACK_RESPONSE)
    body = command.ackResponse
    body.consumer_id = consumer_id
    body.request_id = request_id
    if transaction is not None:
        body.txnid_most_bits, body.txnid_least_bits = transaction
    if server_error is not None:
        body.error = server_error  # type: ignore[assignment] # enum fields take plain numbers
    if text is not None:
        body.message = text
    return frame(command)


def last_message_id(
    request_id: int, last: MessageIdData, consumer_mark_delete_position: MessageIdData | None = None
) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE)
    body = command.getLastMessageIdResponse
    body.request_id = request_id
    body.last_message_id.CopyFrom(last)
    if consumer_mark_delete_position is not None:
        body.consumer_mark_delete_position.CopyFrom(consumer_mark_delete_position)
    return frame(command)


def topics_of_namespace(
    request_id: int,
    topics: Iterable[str],
    *,
    topics_hash: str | None = None,
    filtered: bool = False,
    changed: bool = True,
) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_TOPICS_OF_NAMESPACE_RESPONSE)
    body = command.getTopicsOfNamespaceResponse
    body.request_id = request_id
    body.topics.extend(topics)
    body.filtered = filtered
    if topics_hash is not None:
        body.topics_hash = topics_hash
    body.changed = changed
    return frame(command)


def watch_topic_list_success(request_id: int, watcher_id: int, topics: Iterable[str], *, topics_hash: str) -> bytes:
    command = BaseCommand(type=BaseCommand.WATCH_TOPIC_LIST_SUCCESS)
    body = command.watchTopicListSuccess
    body.request_id = request_id
    body.watcher_id = watcher_id
    body.topic.extend(topics)
    body.topics_hash = topics_hash
    return frame(command)


def watch_topic_update(watcher_id: int, new: Iterable[str], deleted: Iterable[str], *, topics_hash: str) -> bytes:
    """`topics_hash` is that of all matching topics after the change."""
    command = BaseCommand(type=BaseCommand.WATCH_TOPIC_UPDATE)
    body = command.watchTopicUpdate
    body.watcher_id = watcher_id
    body.new_topics.extend(new)
    body.deleted_topics.extend(deleted)
    body.topics_hash = topics_hash
    return frame(command)


def consumer_stats(request_id: int, **figures: Any) -> bytes:
    """`figures`: the fields of CommandConsumerStatsResponse."""
    command = BaseCommand(type=BaseCommand.CONSUMER_STATS_RESPONSE)
    command.consumerStatsResponse.request_id = request_id
    for name, value in figures.items():
        setattr(command.consumerStatsResponse, name, value)
    return frame(command)


def active_consumer_change(consumer_id: int, is_active: bool) -> bytes:
    command = BaseCommand(type=BaseCommand.ACTIVE_CONSUMER_CHANGE)
    command.active_consumer_change.consumer_id = consumer_id
    command.active_consumer_change.is_active = is_active
    return frame(command)


def reached_end_of_topic(consumer_id: int) -> bytes:
    """Send it only to Java clients: others disconnect (docs/reference/protocol.md "Commands that clients accept")."""
    command = BaseCommand(type=BaseCommand.REACHED_END_OF_TOPIC)
    command.reachedEndOfTopic.consumer_id = consumer_id
    return frame(command)


def close_producer(producer_id: int, request_id: int = BROKER_REQUEST_ID, *, served_at: str = "") -> bytes:
    """`served_at`: the broker to connect to without a lookup."""
    command = BaseCommand(type=BaseCommand.CLOSE_PRODUCER)
    command.close_producer.producer_id = producer_id
    command.close_producer.request_id = request_id
    if served_at:
        command.close_producer.assignedBrokerServiceUrl = served_at
    return frame(command)


def close_consumer(consumer_id: int, request_id: int = BROKER_REQUEST_ID, *, served_at: str = "") -> bytes:
    """A broker sends it without a request ID; a client sets one and gets a SUCCESS. `served_at` as for producers."""
    command = BaseCommand(type=BaseCommand.CLOSE_CONSUMER)
    command.close_consumer.consumer_id = consumer_id
    command.close_consumer.request_id = request_id
    if served_at:
        command.close_consumer.assignedBrokerServiceUrl = served_at
    return frame(command)


def topic_migrated(resource_id: int, service_url: str, service_url_tls: str, *, is_consumer: bool) -> bytes:
    """The producer or consumer belongs to another cluster now; a CLOSE_* follows. Either URL may be empty."""
    command = BaseCommand(type=BaseCommand.TOPIC_MIGRATED)
    migrated = command.topicMigrated
    migrated.resource_id = resource_id
    migrated.resource_type = CommandTopicMigrated.Consumer if is_consumer else CommandTopicMigrated.Producer
    if service_url:
        migrated.brokerServiceUrl = service_url
    if service_url_tls:
        migrated.brokerServiceUrlTls = service_url_tls
    return frame(command)


def ping() -> bytes:
    command = BaseCommand(type=BaseCommand.PING)
    command.ping.SetInParent()
    return frame(command)


def pong() -> bytes:
    command = BaseCommand(type=BaseCommand.PONG)
    command.pong.SetInParent()
    return frame(command)
