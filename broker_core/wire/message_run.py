"""Runs of MESSAGE commands, for a client that takes the entries of a ledger apart together; no I/O."""

from array import array
from typing import NamedTuple, Protocol

from broker_core.wire.pulsar_api_pb2 import CommandMessage
from broker_core.wire.received import Received


class MessageRun(NamedTuple):
    """Consecutive entries of one ledger for one consumer, from `entry_id` on; entry i is `data[starts[i]:ends[i]]`."""

    consumer_id: int
    ledger_id: int
    entry_id: int
    data: Received
    starts: "array[int]"
    ends: "array[int]"

    def is_followed_by(self, other: "MessageRun") -> bool:
        """Whether `other` continues this run in the same bytes."""
        next_id = self.entry_id + len(self.ends)
        own = (self.consumer_id, self.ledger_id, next_id)
        return self.data is other.data and own == (other.consumer_id, other.ledger_id, other.entry_id)


class MessageGatherer(Protocol):
    """Finds the commands that follow a MESSAGE without parsing each one."""

    def take(self, command: bytes, message: CommandMessage, data: Received, start: int, end: int) -> MessageRun:
        """A run of one: that MESSAGE, whose entry is `data[start:end]`."""

    def read(self, data: Received, position: int, frame_size_max: int) -> MessageRun:
        """The entries of complete frames from `position` on that continue what was taken; maybe none."""
