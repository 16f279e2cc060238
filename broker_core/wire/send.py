"""SEND commands from the decoder: plain ones in runs, others one by one.

A SEND is *plain* if only its producer, sequence IDs, and message count matter to the code that stores it: its checksum
is present and right, and it has no transaction, no chunk, no marker, a publish time, and no delivery time. Plain SENDs
of one producer that arrive in one chunk travel as one `SendRun`: columns instead of objects, so that every layer is
called once per run and the bytes are not copied.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from broker_core.wire.bounds import Flaw
from broker_core.wire.pulsar_api_pb2 import CommandSend, MessageMetadata
from broker_core.wire.transaction_id import TransactionId
from broker_core.wire.varint import VARINT, consecutive_varints, decode_varint, encode_varint, to_int32

RECEIPT_KEY = re.compile(rb"\x08(%b)\x10(%b)(?:\x20(%b))?" % (VARINT, VARINT, VARINT))
PLAIN_BODY = re.compile(rb"\x08(%b)\x10(%b)(?:\x18(%b))?(?:\x30(%b))?" % (VARINT, VARINT, VARINT, VARINT))
"""The body of a SEND as the known clients write it outside transactions and chunks."""

LONG_VARINT_SIZE = 9
"""The bytes of the varint of a number below 2^63: sequence IDs are signed wherever they are returned."""

SEND_COMMAND = b"\x08\x06\x32"
"""A BaseCommand of type SEND, up to the size of its CommandSend."""


class Chunk(NamedTuple):
    """A part of a message: part `number`, from 0, of `total`; `checksum` is that of its entry, as stored there."""

    uuid: str
    number: int
    total: int
    checksum: bytes

    @property
    def ends_message(self) -> bool:
        return self.number == self.total - 1


class SendRun:
    """Plain SENDs of one producer, consecutive within one chunk; row i of every column is message i.

    data           the chunk (or the frame assembled from several chunks)
    starts, ends   entry i is `data[starts[i]:ends[i]]`: from the magic 0x0e01 to the end of the payload
    keys           what the receipt repeats: b"\\x08" producer_id b"\\x10" sequence_id, as received, and
                   b"\\x20" highest_sequence_id if the SEND has one
    counts         messages in the entry (`num_messages`, 1 if absent)
    publish_times  ms since the epoch, from the entry's metadata
    delivery_times empty, or ms since the epoch per entry, 0 for none; always empty for plain SENDs
    chunk          the chunk fields of an entry that is part of a message; it comes as a run of one
    transaction    the transaction of the messages; each comes as a run of one
    """

    __slots__ = (
        "chunk",
        "counts",
        "data",
        "delivery_times",
        "ends",
        "keys",
        "producer_id",
        "publish_times",
        "starts",
        "transaction",
    )

    def __init__(
        self,
        producer_id: int,
        data: bytes,
        starts: list[int],
        ends: list[int],
        keys: list[bytes],
        counts: list[int],
        publish_times: list[int],
        delivery_times: Sequence[int] = (),
    ) -> None:
        self.producer_id = producer_id
        self.data = data
        self.starts = starts
        self.ends = ends
        self.keys = keys
        self.counts = counts
        self.publish_times = publish_times
        self.delivery_times = delivery_times
        self.chunk: Chunk | None = None
        self.transaction: TransactionId | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"SendRun(producer_id={self.producer_id}, messages={self.messages}, entries={len(self)})"

    @property
    def messages(self) -> int:
        """The number of messages in all entries."""
        return sum(self.counts)

    @property
    def size(self) -> int:
        """The number of bytes in all entries."""
        return sum(self.ends) - sum(self.starts)

    @property
    def sequence_ids(self) -> list[int]:
        return [_ids(key)[0] for key in self.keys]

    @property
    def highest_sequence_ids(self) -> list[int]:
        """The last sequence ID of each entry: `highest_sequence_id`, or `sequence_id` if that is absent or 0."""
        return [_ids(key)[1] for key in self.keys]

    @property
    def last_sequence_id(self) -> int:
        return _ids(self.keys[-1])[1]

    @property
    def ends_message(self) -> bool:
        """False for a chunk that is not the last of its message."""
        return self.chunk is None or self.chunk.ends_message

    @property
    def sequence_span(self) -> tuple[int, int] | None:
        """The lowest and the highest sequence ID if each entry's IDs are above those of the entry before it, else None.

        Consecutive IDs without batches are recognized without reading each of them.
        """
        keys = self.keys
        lowest, highest = _ids(keys[0])
        if len(keys) == 1:
            return lowest, highest
        if lowest == highest and self._is_consecutive(lowest):
            return lowest, lowest + len(keys) - 1
        spans = [_ids(key) for key in keys]
        rises = all(low > before for (_, before), (low, _) in pairwise(spans))
        return (lowest, spans[-1][1]) if rises else None

    def _is_consecutive(self, first: int) -> bool:
        """Whether no entry is a batch and the sequence IDs count up from `first`."""
        keys = self.keys
        prefix = keys[0][: len(keys[0]) - len(encode_varint(first))]
        for start, stop, lowest, upper in consecutive_varints(first, len(keys)):
            if keys[start:stop] != [prefix + low + upper for low in lowest]:
                return False
        return True

    def entry(self, index: int) -> bytes:
        return self.data[self.starts[index] : self.ends[index]]

    def slice(self, first: int, last: int) -> "SendRun":
        """The run of the messages `first <= i < last`, on the same bytes."""
        if last - first == len(self.starts):
            return self
        return SendRun(
            self.producer_id,
            self.data,
            self.starts[first:last],
            self.ends[first:last],
            self.keys[first:last],
            self.counts[first:last],
            self.publish_times[first:last],
            self.delivery_times[first:last],
        )


class SingleSend(NamedTuple):
    """A SEND that needs its own decision.

    `headers_and_payload` is everything after the command, as received. `checksum_ok` is also true without a checksum
    (very old clients). `metadata` is None if it cannot be parsed. `flaw`: why the SEND must be refused.
    """

    send: CommandSend
    headers_and_payload: bytes
    checksum_ok: bool
    metadata: MessageMetadata | None
    flaw: Flaw | None = None


def _ids(key: bytes) -> tuple[int, int]:
    """Sequence ID and highest sequence ID of a receipt key."""
    match = RECEIPT_KEY.fullmatch(key)
    assert match is not None, "keys are made by the decoder"
    sequence_id = decode_varint(match[2])
    highest = decode_varint(match[3]) if match[3] is not None else 0
    return sequence_id, highest or sequence_id


def receipt_key(producer_id: int, sequence_id: int, highest_sequence_id: int = 0) -> bytes:
    """The key of a SEND that `PlainSendReader` did not read."""
    key = b"\x08" + encode_varint(producer_id) + b"\x10" + encode_varint(sequence_id)
    return key + b"\x20" + encode_varint(highest_sequence_id) if highest_sequence_id else key


class SendFields(NamedTuple):
    """The fields of a plain SEND's command; `sequence_id` as a varint."""

    producer_id: int
    sequence_id: bytes
    messages: int
    key: bytes


def plain_fields(data: bytes, start: int, end: int, messages_max: int) -> SendFields | None:
    """Reads a SEND command as the known clients write it; returns None if it is another command or not plain.

    An entry that claims more than `messages_max` messages is not plain. The size byte is compared with the actual size,
    so that no field can be hidden.
    """
    if not data.startswith(SEND_COMMAND, start) or end - start < 4 or data[start + 3] != end - start - 4:
        return None
    match = PLAIN_BODY.fullmatch(data, start + 4, end)
    if match is None:
        return None
    producer_id, sequence_id, count, highest = match.groups()
    return _checked_fields(producer_id, sequence_id, count, highest, messages_max)


def plain_fields_of(send: CommandSend) -> SendFields | None:
    """Return the same from a parsed command, however it was encoded; None if it is not plain."""
    if send.txnid_least_bits or send.txnid_most_bits or send.is_chunk or send.marker or send.HasField("message_id"):
        return None
    highest = encode_varint(send.highest_sequence_id) if send.highest_sequence_id else None
    return _checked_fields(
        encode_varint(send.producer_id),
        encode_varint(send.sequence_id),
        encode_varint(send.num_messages),
        highest,
        send.num_messages,  # already checked when the command was parsed
    )


def _checked_fields(
    producer_id: bytes, sequence_id: bytes, count: bytes | None, highest: bytes | None, messages_max: int
) -> SendFields | None:
    messages = 1 if count is None else to_int32(decode_varint(count))
    if not 1 <= messages <= messages_max or len(sequence_id) > LONG_VARINT_SIZE:
        return None
    key = b"\x08" + producer_id + b"\x10" + sequence_id
    if highest is not None:
        last = decode_varint(highest)
        if 0 < last < decode_varint(sequence_id) or len(highest) > LONG_VARINT_SIZE:
            return None
        key += b"\x20" + highest
    return SendFields(decode_varint(producer_id), sequence_id, messages, key)
