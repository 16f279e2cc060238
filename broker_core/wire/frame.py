"""Bytes from the socket -> commands; no I/O.

A frame (docs/reference/protocol.md "Frames"), integers big-endian:

    size          u32    of everything that follows; 4 + command size <= size <= frame_size_max
    command size  u32
    command              protobuf BaseCommand
    entry                SEND and MESSAGE only: magic, checksum, metadata, payload (message.py)

`feed` takes chunks of any size and has three outcomes: items, no items yet, or `ProtocolError`. However a stream is
cut, the same frames come out; only the borders of runs follow the chunks.
"""

import struct
import sys
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message

from broker_core.wire.bounds import CommandBounds, Flaw
from broker_core.wire.errors import ProtocolError
from broker_core.wire.long_commands import DIVISIBLE, LONG
from broker_core.wire.message import check_entry
from broker_core.wire.message_run import MessageGatherer, MessageRun
from broker_core.wire.plain_send import PlainSendReader
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandMessage
from broker_core.wire.send import SendRun, SingleSend, plain_fields, plain_fields_of

__all__ = ["Command", "FrameDecoder", "Item", "MessageFrame", "SendRun", "SingleSend", "parse_command"]

SIZE = struct.Struct(">I")
INT32_MAX = (1 << 31) - 1
SEND = BaseCommand.SEND
MESSAGE = BaseCommand.MESSAGE
_MESSAGE_TYPE = bytes((0x08, MESSAGE))  # the field `type`, which comes first

FIELD_BY_TYPE = {
    number: BaseCommand.DESCRIPTOR.fields_by_number[number].name
    for number in BaseCommand.Type.values()
    if number in BaseCommand.DESCRIPTOR.fields_by_number
}
"""Each command's field in BaseCommand has the number of its type."""


class Command(NamedTuple):
    """Any command except SEND and MESSAGE: its `BaseCommand.Type`, the parsed sub-message, and why it is refused."""

    type: int
    message: Any
    flaw: Flaw | None = None


class MessageFrame(NamedTuple):
    """A MESSAGE, as a client receives it; `entry` is everything after the command (message.py)."""

    message: CommandMessage
    entry: bytes


Item = SendRun | SingleSend | Command | MessageFrame | MessageRun


class FrameDecoder:
    """Turns chunks into items. After a `ProtocolError` every further chunk raises it again.

    `frame_size_max` bounds a frame without its size field (docs/reference/protocol.md "Frames"). `bounds` are further
    limits for clients; commands from a broker have none. Memory: at most one frame and one chunk. `divisible` says
    that the last chunk may have had a long command (`long_commands`). After `items_max` items, `feed` leaves the rest
    of the chunk for the next call, which may get no data, and says so in `more`: a chunk may hold 20,000 commands.
    """

    __slots__ = (
        "_batch_max",
        "_bounds",
        "_command_max",
        "_error",
        "_gatherer",
        "_items_max",
        "_needed",
        "_parts",
        "_sends",
        "buffered",
        "divisible",
        "frame_size_max",
        "more",
    )

    def __init__(self, frame_size_max: int, bounds: CommandBounds | None = None, items_max: int = sys.maxsize) -> None:
        self.frame_size_max = frame_size_max
        self._bounds = bounds
        self._command_max = frame_size_max if bounds is None else bounds.command_size_max
        self._batch_max = INT32_MAX if bounds is None else bounds.batch_messages_max
        self._parts: list[bytes] = []  # the beginning of a frame, in chunks as they arrived
        self.buffered = 0  # bytes of an incomplete frame in memory
        self._needed = 0  # bytes required before anything can be read
        self.divisible = self.more = False
        self._items_max = items_max
        self._sends = PlainSendReader()
        self._gatherer: MessageGatherer | None = None
        self._error: str | None = None

    def gather_messages(self, gatherer: MessageGatherer) -> None:
        """From now on, a client gets runs of entries (`MessageRun`) instead of `MessageFrame`s, except unusual ones."""
        self._gatherer = gatherer

    @property
    def rest(self) -> bytes:
        """The beginning of an incomplete frame."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def feed_gathered(self, chunk: bytearray) -> list[Item]:
        """Do the same as `feed`, for a client that gathers messages: `chunk` starts with `rest`, and runs keep it."""
        self._parts = []
        return self.feed(chunk)  # type: ignore[arg-type]  # what is kept of it elsewhere is copied

    def feed(self, chunk: bytes) -> list[Item]:
        """The items that `chunk` completes, in order. Raises `ProtocolError`, which carries the items before it."""
        if self._error is not None:
            raise ProtocolError(self._error)
        self.divisible = self.more = False
        if self._parts:
            self._parts.append(chunk)
            self.buffered += len(chunk)
            if self.buffered < self._needed:
                return []
            chunk = b"".join(self._parts)
        items: list[Item] = []
        try:
            position = self._read_frames(chunk, items)
        except ProtocolError as error:
            self._error = str(error)
            raise ProtocolError(self._error, items) from error.__cause__
        finally:
            self._sends.close_runs()
        if position < len(chunk):
            self._hold(chunk, position)
        else:  # as most chunks of a client that waits for its receipts
            self._parts, self.buffered, self._needed = [], 0, 4
        return items

    def _hold(self, chunk: bytes, position: int) -> None:
        rest = bytes(chunk[position:])
        self._parts = [rest]
        self.buffered = len(rest)
        if self.more:
            self._needed = 0
        elif len(rest) >= 8:
            self._needed = 4 + SIZE.unpack_from(rest)[0]
        else:  # each size is checked as soon as it arrives: a peer may send nothing after a wrong one
            self._needed = 8 if len(rest) >= 4 else 4

    def _read_frames(self, data: bytes, items: list[Item]) -> int:
        """Reads all complete frames; returns where the incomplete one at the end starts."""
        position, available = 0, len(data)
        while True:
            if self._gatherer is not None:
                run = self._gatherer.read(data, position, self.frame_size_max)
                if run.ends:
                    position = run.ends[-1]
                    _add_run(items, run)
            else:
                position = self._sends.read_foreseen(data, position, self.frame_size_max, items)
            if available - position < 4:
                return position
            (size,) = SIZE.unpack_from(data, position)
            if not 4 <= size <= self.frame_size_max:
                raise ProtocolError(f"frame of {size} bytes; allowed are 4 to {self.frame_size_max}")
            if available - position < 8:
                return position
            (command_size,) = SIZE.unpack_from(data, position + 4)
            if command_size > size - 4:
                raise ProtocolError(f"command of {command_size} bytes in a frame of {size}")
            if command_size > self._command_max:
                raise ProtocolError(f"command of {command_size} bytes; allowed are {self._command_max}")
            end: int = position + 4 + size
            if end > available:
                return position
            self._read_frame(data, position, position + 8 + command_size, end, items)
            position = end
            if len(items) >= self._items_max:
                self.more = position < available
                return position

    def _read_frame(self, data: bytes, position: int, command_end: int, end: int, items: list[Item]) -> None:
        if self._bounds is None and data.startswith(_MESSAGE_TYPE, position + 8):  # a client, which gets many
            encoded = bytes(data[position + 8 : command_end])
            delivered = parse_message(encoded)
            if delivered is not None:
                self._sends.close_runs()
                if self._gatherer is None:
                    items.append(MessageFrame(delivered, data[command_end:end]))
                else:
                    _add_run(items, self._gatherer.take(encoded, delivered, data, command_end, end))
                return
        if self._gatherer is not None:  # a rare command among messages, perhaps in a bytearray
            self._sends.close_runs()
            data, position, command_end, end = bytes(data[position:end]), 0, command_end - position, end - position
        fields = plain_fields(data, position + 8, command_end, self._batch_max)
        if fields is not None and self._sends.read(data, position, command_end, end, fields, items):
            return
        command = parse_command(data[position + 8 : command_end], self._bounds)
        if command.type == SEND and command.flaw is None:
            fields = plain_fields_of(command.message)
            if fields is not None and self._sends.read(data, position, command_end, end, fields, items):
                return
        self._sends.close_runs()
        if command.type == SEND:
            entry = data[command_end:end]
            items.append(SingleSend(command.message, entry, *check_entry(entry), command.flaw))
        elif command.type == MESSAGE:
            items.append(MessageFrame(command.message, data[command_end:end]))
        else:
            self.divisible |= command_end - position > LONG and command.type in DIVISIBLE
            items.append(command)


def _add_run(items: list[Item], run: MessageRun) -> None:
    before = items[-1] if items else None
    if isinstance(before, MessageRun) and before.is_followed_by(run):
        before.starts.extend(run.starts)
        before.ends.extend(run.ends)
    else:
        items.append(run)


def parse_message(encoded: bytes) -> CommandMessage | None:
    """The MESSAGE in a BaseCommand that starts with this type; None if something is wrong with it."""
    try:
        base = BaseCommand.FromString(encoded)
    except DecodeError:
        return None
    return base.message if base.IsInitialized() and base.HasField("message") else None


def parse_command(encoded: bytes, bounds: CommandBounds | None = None) -> Command:
    """The command in a BaseCommand, with what is wrong with it according to `bounds`.

    Raises `ProtocolError` if it is not a command, or if its type and its body differ.
    """
    try:
        base = BaseCommand.FromString(encoded)
    except DecodeError as error:
        raise ProtocolError("not a command") from error
    if not base.IsInitialized():
        raise ProtocolError("a command without a required field")
    field = FIELD_BY_TYPE[base.type]
    if not base.HasField(field):  # type: ignore[arg-type] # the stub lists the names; ours come from the descriptor
        raise ProtocolError(f"a command of type {base.type} without its body")
    message: Message = getattr(base, field)
    flaw = None if bounds is None else bounds.flaw(base.type, message, len(encoded))
    return Command(base.type, message, flaw)
