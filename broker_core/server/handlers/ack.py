"""ACK and REDELIVER_UNACKNOWLEDGED_MESSAGES."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from broker_core.client_log import ClientLog
from broker_core.errors import BrokerError, ConsumerNotFound, PersistenceFailed
from broker_core.rates.time_slices import sliced
from broker_core.server.handlers.seek import position_of
from broker_core.server.session import Attachment, Session
from broker_core.storage.errors import StorageError
from broker_core.storage.records.open_batches import bits_of
from broker_core.storage.records.position import Position
from broker_core.topic.acks_in_transactions import check_count
from broker_core.topic.subscription_type import INDIVIDUAL_ACK_TYPES
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.ack_ids import plain_ids
from broker_core.wire.transaction_id import TransactionId

log = ClientLog(__name__)

BATCH_MAX = 1 << 24  # messages: more do not fit into an entry, and the bit set of a size costs its memory


def on_ack(session: Session, command: pb.CommandAck) -> object:
    """ACK: applied at once, or held for a transaction. With a request ID, answered once it is on disk."""
    attached = session.consumers.get(command.consumer_id)
    if attached is None:
        return _refuse_ack(command, ConsumerNotFound(f"Consumer {command.consumer_id} not found"))
    try:
        attached.subscription.check_acknowledgeable()
        transaction = TransactionId.of(command)
        if transaction is not None:
            return _counted(session, command, partial(_ack_in_transaction, attached, command, transaction))
    except BrokerError as error:
        return _refuse_ack(command, error)
    if command.HasField("validation_error"):
        reason = pb.CommandAck.ValidationError.Name(command.validation_error)
        _warn(attached, "consumer %s acknowledged a message that it could not read: %s", reason)
    if command.ack_type == pb.CommandAck.Cumulative:
        _ack_cumulative(attached, command)
    else:
        _ack_individual(attached, command)
    if not command.HasField("request_id"):
        return None
    return _counted(session, command, partial(_acknowledged, attached, command))


def _counted(session: Session, command: pb.CommandAck, act: Callable[[], Awaitable[bytes | None]]) -> object:
    """Counts its messages like those of SENDs that wait for the disk: above the limit, the socket is not read."""
    messages = max(len(command.message_id), 1)

    async def answer() -> bytes | None:
        try:
            return await act()
        finally:
            session.outbound.publish_finished(messages)

    session.outbound.publish_started(messages)
    return answer()


def _refuse_ack(command: pb.CommandAck, error: BrokerError) -> bytes | None:
    if not command.HasField("request_id"):
        return None
    return commands.ack_response(
        command.consumer_id, command.request_id, TransactionId.of(command), error.server_error, error.reason
    )


async def _ack_in_transaction(attached: Attachment, command: pb.CommandAck, transaction: TransactionId) -> bytes | None:
    """Holds the messages until the transaction ends; answers once that is on disk."""
    acks, consumer = attached.subscription.in_transactions, attached.consumer
    try:
        check_count(len(command.message_id))
        named = sliced(command.message_id)
        ids = [(position_of(message_id), bits_of(message_id.ack_set)) async for message_id in named]
        if command.ack_type != pb.CommandAck.Cumulative:
            await acks.hold(consumer, transaction, ids)
        elif len(ids) == 1:
            await acks.hold_up_to(consumer, transaction, *ids[0])
    except BrokerError as error:
        return _refuse_ack(command, error)
    except StorageError as error:
        return _refuse_ack(command, PersistenceFailed(str(error)))
    return _ack_answer(command)


def _ack_answer(command: pb.CommandAck) -> bytes | None:
    if not command.HasField("request_id"):
        return None
    return commands.ack_response(command.consumer_id, command.request_id, TransactionId.of(command))


async def _acknowledged(attached: Attachment, command: pb.CommandAck) -> bytes | None:
    try:
        await attached.subscription.cursor.flush()
    except StorageError as error:
        return _refuse_ack(command, PersistenceFailed(str(error)))
    return _ack_answer(command)


def _ack_individual(attached: Attachment, command: pb.CommandAck) -> None:
    plain = plain_ids(command)
    if plain is not None:
        attached.subscription.acknowledge(attached.consumer, *plain)
    else:
        _ack_each(attached, command)


def _ack_each(attached: Attachment, command: pb.CommandAck) -> None:
    by_ledger: dict[int, list[int]] = {}
    for message_id in command.message_id:
        if message_id.ack_set:
            _ack_indexes(attached, message_id)
        else:
            by_ledger.setdefault(message_id.ledgerId, []).append(message_id.entryId)
    for ledger_id, entry_ids in by_ledger.items():
        attached.subscription.acknowledge(attached.consumer, ledger_id, entry_ids)


def _ack_indexes(attached: Attachment, message_id: pb.MessageIdData) -> None:
    size = message_id.batch_size if 0 < message_id.batch_size <= BATCH_MAX else 0
    position, open_bits = position_of(message_id), bits_of(message_id.ack_set)
    attached.subscription.acknowledge_indexes(attached.consumer, position, open_bits, size)


def _ack_cumulative(attached: Attachment, command: pb.CommandAck) -> None:
    """Like Pulsar, logs a warning and ignores several IDs, and types with individual acks."""
    consumer, subscription = attached.consumer, attached.subscription
    if len(command.message_id) != 1:
        _warn(attached, "consumer %s acknowledged cumulatively up to %d messages", len(command.message_id))
        return
    message_id = command.message_id[0]
    position = position_of(message_id)
    if not message_id.ack_set:
        subscription.acknowledge_cumulative(consumer, position)
    elif subscription.acknowledge_cumulative(consumer, Position(position.ledger_id, position.entry_id - 1)):
        _ack_indexes(attached, message_id)


def _warn(attached: Attachment, sentence: str, value: object) -> None:
    consumer = attached.consumer
    log.warning(consumer.client.host, attached.subscription.topic_name, sentence, consumer.name, value)


def on_redeliver(session: Session, command: pb.CommandRedeliverUnacknowledgedMessages) -> None:
    attached = session.consumers.get(command.consumer_id)
    if attached is None:
        return
    consumer, subscription = attached.consumer, attached.subscription
    if command.HasField("consumer_epoch") and subscription.delivery.sub_type not in INDIVIDUAL_ACK_TYPES:
        consumer.use_epoch(command.consumer_epoch)
    ids = [(message_id.ledgerId, message_id.entryId) for message_id in command.message_ids]
    subscription.redeliver(consumer, ids or None)
