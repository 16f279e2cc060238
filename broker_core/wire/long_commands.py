"""Commands with very many message IDs, in parts: a client may put hundreds of thousands into one command.

Reading an ID makes an object, so all of them at once would hold up every other client.
"""

from collections.abc import Iterator

from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandAck, CommandRedeliverUnacknowledgedMessages

IDS_PER_PART = 2_000
ID_SIZE_MIN = 6  # bytes: tag, length, and two fields
LONG = IDS_PER_PART * ID_SIZE_MIN
"""Bytes. A shorter command is not long."""

DIVISIBLE = frozenset((BaseCommand.ACK, BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES))

Divisible = CommandAck | CommandRedeliverUnacknowledgedMessages


def is_long(command: Divisible) -> bool:
    """Whether the command has more IDs than a part may have, and can be carried out in parts."""
    if isinstance(command, CommandAck):
        is_whole = command.ack_type != CommandAck.Individual or command.txnid_least_bits or command.txnid_most_bits
        return len(command.message_id) > IDS_PER_PART and not is_whole
    return len(command.message_ids) > IDS_PER_PART


def parts(command: Divisible) -> Iterator[Divisible]:
    """A long command as several with at most `IDS_PER_PART` IDs each; the last has the request and the other fields.

    The command itself becomes the last part, so it must not be used before.
    """
    ids = command.message_id if isinstance(command, CommandAck) else command.message_ids
    last_part = len(ids) - 1 - (len(ids) - 1) % IDS_PER_PART
    for first in range(0, last_part, IDS_PER_PART):
        group = ids[first : first + IDS_PER_PART]
        if isinstance(command, CommandAck):
            yield CommandAck(consumer_id=command.consumer_id, ack_type=command.ack_type, message_id=group)
        else:
            epoch = command.consumer_epoch if command.HasField("consumer_epoch") else None
            yield CommandRedeliverUnacknowledgedMessages(
                consumer_id=command.consumer_id, message_ids=group, consumer_epoch=epoch
            )
    del ids[:last_part]
    yield command
