"""The message IDs of an ACK as columns: a consumer that catches up acknowledges a thousand in one command.

Reading the ack set of a message ID takes longer than reading the rest of it, and hardly any ID has one. A command whose
IDs have only a ledger and an entry is exactly as long as these fields require, so its length proves that there are no
ack sets.
"""

from operator import attrgetter

from broker_core.wire.pulsar_api_pb2 import CommandAck
from broker_core.wire.varint import varint_size

FEW = 8
"""Up to this number of IDs, reading each of them is faster."""

_ledger_id = attrgetter("ledgerId")
_entry_id = attrgetter("entryId")


def plain_ids(ack: CommandAck) -> tuple[int, list[int]] | None:
    """Ledger ID and entry IDs, if all are in one ledger and have no ack set; None if they must be read one by one."""
    if len(ack.message_id) <= FEW:
        return None
    ids = list(ack.message_id)
    ledger_id, entry_ids = ids[0].ledgerId, list(map(_entry_id, ids))
    entry_size = varint_size(max(entry_ids))
    if varint_size(min(entry_ids)) != entry_size or len(set(map(_ledger_id, ids))) > 1:
        return None
    id_size = 2 + 1 + varint_size(ledger_id) + 1 + entry_size
    # Any other field of the command or of an ID makes it longer.
    plain = ack.ByteSize() == _size_without_ids(ack) + id_size * len(ids)
    return (ledger_id, entry_ids) if plain else None


def _size_without_ids(ack: CommandAck) -> int:
    """The size of the fields that almost every ACK has."""
    request = 1 + varint_size(ack.request_id) if ack.HasField("request_id") else 0
    return 1 + varint_size(ack.consumer_id) + 2 + request
