"""One constructor per command that our raw entry reader and our replicators send; each returns a complete frame.

PING, PONG and CLOSE_CONSUMER are the same in both directions: see commands.py.
"""

from collections.abc import Iterable

from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import (
    ABORT,
    COMMIT,
    STICKY,
    BaseCommand,
    CommandAck,
    CommandSubscribe,
    MessageIdData,
    Schema,
    Subscription,
)
from broker_core.wire.transaction_id import TransactionId

PROTOCOL_VERSION = 21


def connect(
    client_version: str,
    *,
    protocol_version: int = PROTOCOL_VERSION,
    auth_method_name: str | None = None,
    auth_data: bytes | None = None,
    supports_broker_entry_metadata: bool = False,
    proxy_to_broker_url: str | None = None,
    original_principal: str | None = None,
    supports_auth_refresh: bool = False,
    supports_source_positions: bool = False,
) -> bytes:
    """`supports_source_positions`: this is a replicator that names the source position of each copy."""
    command = BaseCommand(type=BaseCommand.CONNECT)
    body = command.connect
    body.client_version = client_version
    body.protocol_version = protocol_version
    if auth_method_name is not None:
        body.auth_method_name = auth_method_name
    if auth_data is not None:
        body.auth_data = auth_data
    if proxy_to_broker_url is not None:
        body.proxy_to_broker_url = proxy_to_broker_url
    if original_principal is not None:
        body.original_principal = original_principal
    if supports_broker_entry_metadata:
        body.feature_flags.supports_broker_entry_metadata = True
    if supports_auth_refresh:
        body.feature_flags.supports_auth_refresh = True
    if supports_source_positions:
        body.feature_flags.supports_repl_dedup_by_lid_and_eid = True
    return frame(command)


def auth_response(client_version: str, auth_method_name: str, auth_data: bytes) -> bytes:
    command = BaseCommand(type=BaseCommand.AUTH_RESPONSE)
    command.authResponse.client_version = client_version
    command.authResponse.protocol_version = PROTOCOL_VERSION
    command.authResponse.response.auth_method_name = auth_method_name
    command.authResponse.response.auth_data = auth_data
    return frame(command)


def lookup(request_id: int, topic: str, *, authoritative: bool = False, listener: str | None = None) -> bytes:
    """`topic` is a full name; `authoritative` is the value from the redirect."""
    command = BaseCommand(type=BaseCommand.LOOKUP)
    command.lookupTopic.request_id = request_id
    command.lookupTopic.topic = topic
    command.lookupTopic.authoritative = authoritative
    if listener is not None:
        command.lookupTopic.advertised_listener_name = listener
    return frame(command)


def partitioned_metadata(request_id: int, topic: str, *, auto_creation: bool = True) -> bytes:
    command = BaseCommand(type=BaseCommand.PARTITIONED_METADATA)
    command.partitionMetadata.request_id = request_id
    command.partitionMetadata.topic = topic
    command.partitionMetadata.metadata_auto_creation_enabled = auto_creation
    return frame(command)


def topics_of_namespace(request_id: int, namespace: str) -> bytes:
    """Requests the persistent topics; `namespace` is tenant/namespace."""
    command = BaseCommand(type=BaseCommand.GET_TOPICS_OF_NAMESPACE)
    command.getTopicsOfNamespace.request_id = request_id
    command.getTopicsOfNamespace.namespace = namespace
    return frame(command)


def subscribe(
    request_id: int,
    topic: str,
    subscription: str,
    consumer_id: int,
    *,
    consumer_name: str | None = None,
    durable: bool = True,
    sub_type: int = CommandSubscribe.Exclusive,
    start_message_id: MessageIdData | None = None,
    initial_position: int = CommandSubscribe.Latest,
    read_compacted: bool = False,
    force_topic_creation: bool = True,
    start_rollback_seconds: int = 0,
    entry_buckets: Iterable[tuple[int, int]] = (),
) -> bytes:
    """A reader subscribes with `durable` false and either the ID after which it starts or how far back in time.

    `sub_type` and `initial_position` are numbers of CommandSubscribe's enums. `entry_buckets` are the ranges of those
    of a segment that Key_Shared consumers share.
    """
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    body = command.subscribe
    body.request_id = request_id
    body.topic = topic
    body.subscription = subscription
    body.consumer_id = consumer_id
    body.subType = sub_type  # type: ignore[assignment] # enum fields take plain numbers
    body.durable = durable
    body.initialPosition = initial_position  # type: ignore[assignment] # enum fields take plain numbers
    body.read_compacted = read_compacted
    body.force_topic_creation = force_topic_creation
    body.start_message_rollback_duration_sec = start_rollback_seconds
    if consumer_name is not None:
        body.consumer_name = consumer_name
    for start, end in entry_buckets:
        body.keySharedMeta.keySharedMode, body.keySharedMeta.entryBucketDispatch = STICKY, True
        body.keySharedMeta.hashRanges.add(start=start, end=end)
    if start_message_id is not None:
        body.start_message_id.CopyFrom(start_message_id)
    return frame(command)


def flow(consumer_id: int, permits: int) -> bytes:
    command = BaseCommand(type=BaseCommand.FLOW)
    command.flow.consumer_id = consumer_id
    command.flow.messagePermits = permits
    return frame(command)


def acknowledge(
    consumer_id: int,
    message_ids: Iterable[MessageIdData],
    *,
    cumulative: bool = False,
    request_id: int | None = None,
    transaction: tuple[int, int] | None = None,
) -> bytes:
    """Return ACK. With a `request_id`, the broker answers when the acknowledgment is durable.

    `transaction`: the higher and the lower half of its ID.
    """
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id = consumer_id
    command.ack.ack_type = CommandAck.Cumulative if cumulative else CommandAck.Individual
    command.ack.message_id.extend(message_ids)
    if transaction is not None:
        command.ack.txnid_most_bits, command.ack.txnid_least_bits = transaction
    if request_id is not None:
        command.ack.request_id = request_id
    return frame(command)


def seek(
    consumer_id: int,
    request_id: int,
    *,
    position: MessageIdData | None = None,
    publish_time_ms: int | None = None,
) -> bytes:
    """Seeks to a message ID, or to the first message published at or after a time."""
    command = BaseCommand(type=BaseCommand.SEEK)
    command.seek.consumer_id = consumer_id
    command.seek.request_id = request_id
    if position is not None:
        command.seek.message_id.CopyFrom(position)
    if publish_time_ms is not None:
        command.seek.message_publish_time = publish_time_ms
    return frame(command)


def get_last_message_id(consumer_id: int, request_id: int) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_LAST_MESSAGE_ID)
    command.getLastMessageId.consumer_id = consumer_id
    command.getLastMessageId.request_id = request_id
    return frame(command)


def unsubscribe(consumer_id: int, request_id: int) -> bytes:
    command = BaseCommand(type=BaseCommand.UNSUBSCRIBE)
    command.unsubscribe.consumer_id = consumer_id
    command.unsubscribe.request_id = request_id
    return frame(command)


def producer(
    request_id: int, topic: str, producer_id: int, name: str, *, encrypted: bool = False, schema: Schema | None = None
) -> bytes:
    """Shared access, under a name that the client chose."""
    command = BaseCommand(type=BaseCommand.PRODUCER)
    body = command.producer
    body.request_id = request_id
    body.topic = topic
    body.producer_id = producer_id
    body.producer_name = name
    body.user_provided_producer_name = True
    body.encrypted = encrypted
    if schema is not None:
        body.schema.CopyFrom(schema)
    return frame(command)


def send(
    producer_id: int,
    sequence_id: int,
    entry: bytes,
    *,
    messages: int = 1,
    is_chunk: bool = False,
    is_marker: bool = False,
    transaction: TransactionId | None = None,
) -> bytes:
    """`entry`: headers and payload as stored. `messages`: how many are in it.

    The metadata of an entry that belongs to a transaction names it, too.
    """
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.producer_id = producer_id
    command.send.sequence_id = sequence_id
    if messages != 1:
        command.send.num_messages = messages
    if is_chunk:
        command.send.is_chunk = True
    if is_marker:
        command.send.marker = True
    if transaction is not None:
        command.send.txnid_most_bits, command.send.txnid_least_bits = transaction
    return frame(command, entry)


def get_schema(request_id: int, topic: str) -> bytes:
    """Asks for the latest schema of a topic."""
    command = BaseCommand(type=BaseCommand.GET_SCHEMA)
    command.getSchema.request_id = request_id
    command.getSchema.topic = topic
    return frame(command)


def get_or_create_schema(request_id: int, topic: str, schema: Schema) -> bytes:
    command = BaseCommand(type=BaseCommand.GET_OR_CREATE_SCHEMA)
    command.getOrCreateSchema.request_id = request_id
    command.getOrCreateSchema.topic = topic
    command.getOrCreateSchema.schema.CopyFrom(schema)
    return frame(command)


def connect_to_coordinator(request_id: int, coordinator: int) -> bytes:
    """TC_CLIENT_CONNECT_REQUEST. The broker loads the transaction coordinator of that number."""
    command = BaseCommand(type=BaseCommand.TC_CLIENT_CONNECT_REQUEST)
    command.tcClientConnectRequest.request_id = request_id
    command.tcClientConnectRequest.tc_id = coordinator
    return frame(command)


def new_transaction(request_id: int, coordinator: int, ttl_ms: int) -> bytes:
    command = BaseCommand(type=BaseCommand.NEW_TXN)
    command.newTxn.request_id = request_id
    command.newTxn.tc_id = coordinator
    command.newTxn.txn_ttl_millis = ttl_ms
    return frame(command)


def add_partition(request_id: int, transaction: TransactionId, topic: str) -> bytes:
    """ADD_PARTITION_TO_TXN, before the first SEND to a topic or a partition."""
    command = BaseCommand(type=BaseCommand.ADD_PARTITION_TO_TXN)
    body = command.addPartitionToTxn
    body.request_id = request_id
    body.txnid_most_bits, body.txnid_least_bits = transaction
    body.partitions.append(topic)
    return frame(command)


def add_subscription(request_id: int, transaction: TransactionId, topic: str, subscription: str) -> bytes:
    """ADD_SUBSCRIPTION_TO_TXN, before the first ACK."""
    command = BaseCommand(type=BaseCommand.ADD_SUBSCRIPTION_TO_TXN)
    body = command.addSubscriptionToTxn
    body.request_id = request_id
    body.txnid_most_bits, body.txnid_least_bits = transaction
    body.subscription.append(Subscription(topic=topic, subscription=subscription))
    return frame(command)


def end_transaction(request_id: int, transaction: TransactionId, *, commit: bool) -> bytes:
    command = BaseCommand(type=BaseCommand.END_TXN)
    body = command.endTxn
    body.request_id = request_id
    body.txnid_most_bits, body.txnid_least_bits = transaction
    body.txn_action = COMMIT if commit else ABORT
    return frame(command)
