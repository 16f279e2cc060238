"""Message IDs as an ACK names them: whole entries, and batches of which some messages are left.

docs/reference/protocol.md "Acknowledgments" states the rules.
"""

from collections.abc import Iterator, Sequence

from broker_core.wire.pulsar_api_pb2 import MessageIdData

IDS_MAX = 1000  # in one ACK
WORD_BITS = 64

EntryPlace = tuple[int, int]


def acknowledged_id(place: EntryPlace, size: int = 0, left: int = 0) -> MessageIdData:
    """The ID of a whole entry, or of a batch of `size` messages without those whose bits are set in `left`."""
    message_id = MessageIdData(ledgerId=place[0], entryId=place[1])
    if size:
        message_id.batch_size = size
        message_id.ack_set.extend(_words(left, size))
    return message_id


def in_commands(ids: Sequence[MessageIdData]) -> Iterator[Sequence[MessageIdData]]:
    """The IDs of each ACK."""
    return (ids[start : start + IDS_MAX] for start in range(0, len(ids), IDS_MAX))


def _words(bits: int, size: int) -> Sequence[int]:
    """The bits as signed words, as the protocol has them."""
    words = (size + WORD_BITS - 1) // WORD_BITS
    data = bits.to_bytes(words * WORD_BITS // 8, "little")
    return [int.from_bytes(data[at : at + 8], "little", signed=True) for at in range(0, len(data), 8)]
