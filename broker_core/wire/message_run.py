"""Runs of MESSAGE commands that differ only in their entry ID, as a broker sends the entries of a ledger; no I/O.

The first is parsed. The bytes of the next one's command are then known, so that comparing them takes the place of
parsing them, which costs more than everything else that a reader does with a small entry.
"""

import struct
from typing import NamedTuple

from broker_core.wire.pulsar_api_pb2 import CommandMessage

_SIZE = struct.Struct(">I")
_LOW_BITS = 0x7F


class MessageRun(NamedTuple):
    """Consecutive entries of one ledger for one consumer, from `entry_id` on; entry i is `data[starts[i]:ends[i]]`."""

    consumer_id: int
    ledger_id: int
    entry_id: int
    data: bytes
    starts: list[int]
    ends: list[int]

    def is_followed_by(self, other: "MessageRun") -> bool:
        """Whether `other` continues this run in the same bytes."""
        next_id = self.entry_id + len(self.ends)
        own = (self.consumer_id, self.ledger_id, next_id)
        return self.data is other.data and own == (other.consumer_id, other.ledger_id, other.entry_id)


class ForeseenMessages:
    """What the command after the last MESSAGE is if it delivers the next entry."""

    __slots__ = ("_at", "_expected", "_message", "_next")

    def __init__(self) -> None:
        self._expected = bytearray()  # from the size of the command on; empty: nothing is foreseen
        self._at = 0  # of the entry ID's lowest bits in it
        self._next = 0
        self._message = CommandMessage()

    def learn(self, command: bytes, message: CommandMessage) -> None:
        """From a MESSAGE and its bytes."""
        place = message.message_id
        before = b"\x08" + _varint(place.ledgerId) + b"\x10"
        found = before + _varint(place.entryId)
        self._expected = bytearray()
        if command.count(found) == 1:
            self._expected = bytearray(_SIZE.pack(len(command)) + command)
            self._at = _SIZE.size + command.index(found) + len(before)
            self._next, self._message = place.entryId, message
            self._carry()

    def take(self, command: bytes, message: CommandMessage, data: bytes, start: int, end: int) -> MessageRun:
        """A run of one: that MESSAGE, whose entry is `data[start:end]`. Learns from it."""
        self.learn(command, message)
        place = message.message_id
        return MessageRun(message.consumer_id, place.ledgerId, place.entryId, data, [start], [end])

    def read(self, run: MessageRun, position: int, frame_size_max: int) -> int:
        """Adds the entries of complete frames that were foreseen; returns where the first other one starts."""
        data, starts, ends, expected, low = run.data, run.starts, run.ends, self._expected, self._at
        length, available, size_at = len(expected), len(data), _SIZE.unpack_from
        while length and data.startswith(expected, position + 4):
            (size,) = size_at(data, position)
            end = position + 4 + size
            if end > available or not length <= size <= frame_size_max:
                break
            starts.append(position + 4 + length)
            ends.append(end)
            position = end
            if expected[low] & _LOW_BITS != _LOW_BITS:
                expected[low] += 1
                self._next += 1
            else:
                self._carry()
                length = len(self._expected)
        return position

    def run(self, data: bytes) -> MessageRun:
        """An empty one of that chunk, which begins at the entry that is foreseen."""
        return MessageRun(self._message.consumer_id, self._message.message_id.ledgerId, self._next, data, [], [])

    def _carry(self) -> None:
        """The next entry. An ID whose bytes become more changes the lengths around it, so nothing is foreseen."""
        self._next += 1
        before, after = _varint(self._next - 1), _varint(self._next)
        if len(before) == len(after):
            self._expected[self._at : self._at + len(after)] = after
        else:
            self._expected.clear()


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > _LOW_BITS:
        found.append(number & _LOW_BITS | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
