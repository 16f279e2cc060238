"""Cuts a stream into whole frames and keeps them as bytes, so that what follows a handshake can be passed on unread."""

from __future__ import annotations

import struct
from typing import Any

from broker_core.errors import ProtocolViolation
from broker_core.wire.bounds import CommandBounds
from broker_core.wire.commands import frame
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import FIELD_BY_TYPE, Command, parse_command
from broker_core.wire.pulsar_api_pb2 import BaseCommand

SIZES = struct.Struct(">II")


class Frames:
    """`most`: the largest frame, without its size field. Memory: one frame and one chunk."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        self._data += data

    def next(self) -> bytes | None:
        """The next frame with its sizes, or None if it is not complete. Raises `ProtocolViolation`."""
        if len(self._data) < SIZES.size:
            return None
        size, command_size = SIZES.unpack_from(self._data)
        if not 4 <= size <= self.most or command_size > size - 4:
            raise ProtocolViolation(f"frame of {size} bytes with a command of {command_size}; at most {self.most}")
        if len(self._data) < 4 + size:
            return None
        found = bytes(self._data[: 4 + size])
        del self._data[: 4 + size]
        return found

    def rest(self) -> bytes:
        """What has arrived after the last frame; nothing of it is kept."""
        found = bytes(self._data)
        self._data.clear()
        return found


def command_in(whole: bytes, bounds: CommandBounds | None = None) -> Command:
    """The command of a frame; raises `ProtocolViolation`."""
    command_size = SIZES.unpack_from(whole)[1]
    try:
        return parse_command(whole[SIZES.size : SIZES.size + command_size], bounds)
    except ProtocolError as error:
        raise ProtocolViolation(str(error)) from None


def frame_of(command: Command, **changes: Any) -> bytes:
    """A frame with the command, and with other values in some of its fields."""
    kind = BaseCommand.Type.ValueType(command.type)
    base = BaseCommand(type=kind)
    body = getattr(base, FIELD_BY_TYPE[kind])
    body.CopyFrom(command.message)
    for name, value in changes.items():
        setattr(body, name, value)
    return frame(base)
