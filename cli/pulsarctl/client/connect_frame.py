"""CONNECT and the answer to it, encoded here: importing the protocol module takes longer than the whole check.

docs/reference/protocol.md "Connections" states the rules.
"""

import struct
from collections.abc import Iterator

from pulsarctl.auth.authentication import Authentication

HEAD = struct.Struct(">II")  # of a frame without payload: the size after these four bytes, and the size of the command
ERROR = 14  # the type of the command, and the number of its field
REFUSALS = (3, 4)  # AuthenticationError, AuthorizationError


def connect_frame(authentication: Authentication) -> bytes:
    fields = _bytes_field(1, b"pulsarctl") + b"\x20\x13"  # client_version, protocol_version 19
    if authentication.method:
        fields += _bytes_field(5, authentication.method.encode()) + _bytes_field(3, authentication.data())
    command = b"\x08\x02" + _bytes_field(2, fields)  # type CONNECT, connect
    return HEAD.pack(4 + len(command), len(command)) + command


def error_in(command: bytes) -> tuple[int, str] | None:
    """The code and message if the command is ERROR. Raises `ValueError` for bytes that are not a command."""
    members = dict(_fields(command))
    body = members.get(ERROR)
    if members.get(1) != ERROR or not isinstance(body, bytes):
        return None
    error = dict(_fields(body))
    code, message = error.get(2), error.get(3)
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else ""
    return code if isinstance(code, int) else 0, text


def _bytes_field(number: int, value: bytes) -> bytes:
    """A protobuf field of wire type 2."""
    size, encoded = len(value), bytearray((number << 3 | 2,))
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    return bytes((*encoded, size)) + value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The numbers of the fields and their values: varints and lengths, which is all that these commands have."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 0:
            yield key >> 3, value
        elif key & 7 == 2 and at + value <= len(data):
            yield key >> 3, data[at : at + value]
            at += value
        else:
            raise ValueError("not a command")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at this place, and the place after it."""
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7
    raise ValueError("not a command")
