"""SEEK and GET_LAST_MESSAGE_ID: where a subscription stands, and where its topic ends."""

from __future__ import annotations

from broker_core.errors import MetadataFailed
from broker_core.server.session import Session
from broker_core.storage.records.open_batches import bits_of
from broker_core.storage.records.position import Position
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import messages_in_batch


async def on_seek(session: Session, command: pb.CommandSeek) -> bytes:
    """SEEK: consumers are closed first, so that nothing sent before it can follow its SUCCESS."""
    if not command.HasField("message_id") and not command.HasField("message_publish_time"):
        raise MetadataFailed("Message id and message publish time were not present")
    attached = session.consumers.get(command.consumer_id)
    if attached is None:
        raise MetadataFailed(f"Consumer {command.consumer_id} not found")
    subscription = attached.subscription
    if command.HasField("message_id"):
        await subscription.reset(position_of(command.message_id), bits_of(command.message_id.ack_set))
    else:
        await subscription.reset_to_time(command.message_publish_time)
    return commands.success(command.request_id)


async def on_get_last_message_id(session: Session, command: pb.CommandGetLastMessageId) -> bytes:
    """GET_LAST_MESSAGE_ID: the last entry that this consumer can get, and where its subscription stands."""
    attached = session.consumers.get(command.consumer_id)
    if attached is None:
        raise MetadataFailed(f"Consumer {command.consumer_id} not found")
    subscription = attached.subscription
    last, entry = await subscription.last_entry(compacted=attached.consumer.read_compacted)
    batch_index = -1 if entry is None else messages_in_batch(entry) - 1
    mark_delete = subscription.cursor.mark_delete
    return commands.last_message_id(
        command.request_id,
        commands.message_id(*last, subscription.partition, batch_index),
        commands.message_id(*mark_delete, subscription.partition),
    )


def position_of(message_id: pb.MessageIdData) -> Position:
    """The position in a message id; u64 fields carry -1 as 2^64 - 1."""
    return Position(_signed(message_id.ledgerId), _signed(message_id.entryId))


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
