"""The two most frequent commands, SEND_RECEIPT and MESSAGE, written without protobuf objects.

Both are constant bytes except for the entry ID, the identity of the SEND, and the entry itself, so they are joined from
cached pieces. An entry ID is written as its lowest seven bits, from a table, and the rest, which stays the same for 128
entries.
"""

import struct
from collections.abc import Sequence
from itertools import groupby
from operator import sub

from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from broker_core.wire.send import SendRun
from broker_core.wire.varint import CONTINUED, LAST, consecutive_varints, encode_growing, encode_varint

HEADERS_MAX = 4096
"""Maximum number of frame headers to cache per consumer, one per entry size; then the cache starts over."""

HEADER = struct.Struct(">IIBBBB")
"""Frame size, command size, `08` command type, tag of the command, its size (always below 128 here)."""

VIEWED_BYTES = 512
"""Entries of that size are not copied before they are joined with their headers; for smaller ones a view costs more."""

VIEWED_ALONE_BYTES = 8 << 10
"""The same for a single entry, which has to pay for the view of its data, too."""

NOWHERE = b"\x08" + encode_varint(-1) + b"\x10" + encode_varint(-1)
"""The message id -1:-1, in unsigned fields."""

RECEIPT_TYPE, RECEIPT_TAG = BaseCommand.SEND_RECEIPT, BaseCommand.SEND_RECEIPT << 3 | 2
MESSAGE_TYPE, MESSAGE_TAG = BaseCommand.MESSAGE, BaseCommand.MESSAGE << 3 | 2


class ReceiptEncoder:
    """Writes the SEND_RECEIPTs of runs: one per SEND, in order (docs/reference/protocol.md "Receipts")."""

    __slots__ = ("_ledger", "_ledger_id", "_partition_field")

    def __init__(self, partition: int) -> None:
        """`partition` -1 (topic not partitioned) is the field's default and is omitted."""
        self._partition_field = _partition_field(partition)
        self._ledger_id = -1
        self._ledger = b""  # the field of `_ledger_id`, and the tag of the entry ID

    def receipts(self, run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
        """The frames for a run stored at `first_entry_id` and the IDs after it, for one write."""
        if ledger_id != self._ledger_id:
            self._ledger_id, self._ledger = ledger_id, b"\x08" + encode_varint(ledger_id) + b"\x10"
        ledger, partition_field = self._ledger, self._partition_field
        if len(run.keys) == 1:
            return _one_receipt(run.keys[0], ledger + encode_growing(first_entry_id) + partition_field)
        parts: list[bytes] = []
        for first, last, lowest, upper in consecutive_varints(first_entry_id, len(run.keys)):
            keys = run.keys[first:last]
            rest = upper + partition_field
            if len(set(map(len, keys))) == 1:
                _add_receipts(parts, keys, ledger, lowest, rest)
            else:
                row = 0
                for _, group in groupby(keys, len):
                    same = list(group)
                    _add_receipts(parts, same, ledger, lowest[row:], rest)
                    row += len(same)
        return b"".join(parts)

    def duplicates(self, run: SendRun) -> bytes:
        """The frames for a run that is stored: each has the ID -1:-1 (docs/reference/protocol.md "Receipts")."""
        message_id = NOWHERE + self._partition_field
        return b"".join([_one_receipt(key, message_id) for key in run.keys])


def _one_receipt(key: bytes, message_id: bytes) -> bytes:
    """The cheap path for a producer that waits for each receipt, and for many producers that alternate."""
    size = len(key) + 2 + len(message_id)
    header = HEADER.pack(size + 8, size + 4, 0x08, RECEIPT_TYPE, RECEIPT_TAG, size)
    return b"%b%b\x1a%c%b" % (header, key, len(message_id), message_id)


def _add_receipts(parts: list[bytes], keys: list[bytes], ledger: bytes, lowest: list[bytes], rest: bytes) -> None:
    """Adds receipts whose keys have one size; each is header, key, `1a` size ledger, entry ID, and rest."""
    id_size = len(ledger) + 1 + len(rest)
    size = len(keys[0]) + 2 + id_size
    header = HEADER.pack(size + 8, size + 4, 0x08, RECEIPT_TYPE, RECEIPT_TAG, size)
    between = b"\x1a" + bytes((id_size,)) + ledger
    parts += (header, (rest + header).join(map(between.join, zip(keys, lowest, strict=False))), rest)


class MessageEncoder:
    """Writes MESSAGEs for one consumer (docs/reference/protocol.md "Messages"), and caches their headers."""

    __slots__ = (
        "_consumer",
        "_consumer_id",
        "_epoch",
        "_epoch_field",
        "_headers",
        "_partition",
        "_partition_field",
        "_shape",
    )

    def __init__(self, consumer_id: int, partition: int) -> None:
        """`partition` -1 (topic not partitioned) is the field's default and is omitted."""
        self._consumer_id = consumer_id
        self._partition = partition
        self._consumer = b"\x08" + encode_varint(consumer_id)
        self._partition_field = _partition_field(partition)
        self._headers = _Headers(self._consumer, 0, 0, 0)
        self._shape: tuple[int, int, int] | None = None
        self._epoch: int | None = None
        self._epoch_field = b""

    def use_epoch(self, epoch: int) -> None:
        """From now on messages carry that consumer epoch (PIP-84)."""
        self._epoch = epoch
        self._epoch_field = b"\x28" + encode_varint(epoch)

    def encode(
        self,
        ledger_id: int,
        first_entry_id: int,
        data: bytes,
        starts: Sequence[int],
        ends: Sequence[int],
        redelivery_counts: Sequence[int] | None = None,
    ) -> bytes:
        """Frames for consecutive entries `data[starts[i]:ends[i]]`, for one write.

        `redelivery_counts` can be omitted if all are 0.
        """
        if redelivery_counts is not None and any(redelivery_counts):
            return self._encode_redelivered(ledger_id, first_entry_id, data, starts, ends, redelivery_counts)
        if len(starts) == 1:
            return self._encode_single(ledger_id, first_entry_id, data, starts[0], ends[0])
        parts: list[bytes | memoryview] = []
        source = memoryview(data) if starts and ends[-1] - starts[0] >= VIEWED_BYTES * len(starts) else data
        for first, last, lowest, upper in consecutive_varints(first_entry_id, len(starts)):
            rest = upper + self._partition_field
            self._use_shape(ledger_id, len(rest), len(self._epoch_field))
            some_starts, some_ends = starts[first:last], ends[first:last]
            block: list[bytes | memoryview] = [rest + self._epoch_field] * (4 * len(lowest))
            block[0::4] = map(self._headers.__getitem__, map(sub, some_ends, some_starts))
            block[1::4] = lowest
            block[3::4] = [source[start:end] for start, end in zip(some_starts, some_ends, strict=True)]
            parts += block
        return b"".join(parts)

    def _encode_single(self, ledger_id: int, entry_id: int, data: bytes, start: int, end: int) -> bytes:
        """The cheap path for a consumer that keeps up: its messages come one by one."""
        entry = data[start:end] if end - start < VIEWED_ALONE_BYTES else memoryview(data)[start:end]
        upper = entry_id >> 7
        low = CONTINUED[entry_id & 0x7F] if upper else LAST[entry_id]
        rest = (encode_varint(upper) if upper else b"") + self._partition_field
        self._use_shape(ledger_id, len(rest), len(self._epoch_field))
        return b"".join((self._headers[len(entry)], low, rest, self._epoch_field, entry))

    def _encode_redelivered(
        self,
        ledger_id: int,
        first_entry_id: int,
        data: bytes,
        starts: Sequence[int],
        ends: Sequence[int],
        redelivery_counts: Sequence[int],
    ) -> bytes:
        parts: list[bytes] = []
        for first, last, lowest, upper in consecutive_varints(first_entry_id, len(starts)):
            rest = upper + self._partition_field
            for row, low in zip(range(first, last), lowest, strict=True):
                count = redelivery_counts[row]
                redelivery = (b"\x18" + encode_varint(count) if count > 0 else b"") + self._epoch_field
                self._use_shape(ledger_id, len(rest), len(redelivery))
                header = self._headers[ends[row] - starts[row]]
                parts += (header, low, rest, redelivery, data[starts[row] : ends[row]])
        return b"".join(parts)

    def encode_one(
        self,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        *,
        redelivery_count: int = 0,
        ack_set: Sequence[int] = (),
    ) -> bytes:
        """One frame with the rare fields.

        `ack_set`: 64-bit words, lowest index first, bit 1 = to be delivered; empty = the whole batch.
        """
        command = BaseCommand(type=BaseCommand.MESSAGE)
        message = command.message
        message.consumer_id = self._consumer_id
        message.message_id.ledgerId = ledger_id
        message.message_id.entryId = entry_id
        if self._partition >= 0:
            message.message_id.partition = self._partition
        if redelivery_count > 0:
            message.redelivery_count = redelivery_count
        message.ack_set.extend(ack_set)
        if self._epoch is not None:
            message.consumer_epoch = self._epoch
        return frame(command, entry)

    def _use_shape(self, ledger_id: int, rest_size: int, redelivery_size: int) -> None:
        """The cached headers are valid for one ledger and one size of what follows the entry ID's lowest byte."""
        shape = (ledger_id, rest_size, redelivery_size)
        if shape != self._shape or len(self._headers) > HEADERS_MAX:
            self._shape = shape
            self._headers = _Headers(self._consumer, *shape)


class _Headers(dict[int, bytes]):
    """Everything before the entry ID's lowest byte, by the size of the entry."""

    __slots__ = ("_fields", "_size")

    def __init__(self, consumer: bytes, ledger_id: int, rest_size: int, redelivery_size: int) -> None:
        ledger = b"\x08" + encode_varint(ledger_id) + b"\x10"
        id_size = len(ledger) + 1 + rest_size
        self._size = len(consumer) + 2 + id_size + redelivery_size
        self._fields = consumer + b"\x12" + bytes((id_size,)) + ledger

    def __missing__(self, entry_size: int) -> bytes:
        size = self._size
        fixed = HEADER.pack(size + 8 + entry_size, size + 4, 0x08, MESSAGE_TYPE, MESSAGE_TAG, size)
        header = self[entry_size] = fixed + self._fields
        return header


def _partition_field(partition: int) -> bytes:
    return b"\x18" + encode_varint(partition) if partition >= 0 else b""
