"""The modifiers of record templates: formats of numbers, times, and bytes. Pure."""

import struct
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime

NumberFormat = Callable[[int], bytes]
BytesFormat = Callable[[bytes], bytes]

_UNPACK_SIZES = {"b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8}


def number_format(modifier: str | None) -> NumberFormat | None:
    """None for an unknown modifier. Numbers that exceed the format lose their upper bits."""
    if modifier in (None, "", "ascii"):
        return lambda number: b"%d" % number
    if modifier == "byte":
        return _fixed_width(8, "big")
    if modifier == "bool":
        return lambda number: b"true" if number else b"false"
    for name in ("hex", "big", "little"):
        if modifier and modifier.removeprefix(name) in ("64", "32", "16", "8", "4") and modifier.startswith(name):
            bits = int(modifier.removeprefix(name))
            if name == "hex":
                return _hexadecimal(bits)
            return _fixed_width(bits, name) if bits >= 8 else None
    return None


def time_format(modifier: str | None) -> NumberFormat | None:
    """A time in milliseconds. `iso` and `strftime[...]` are in UTC; a time without a date in them is its number."""
    if modifier == "iso":
        return _dated(lambda moment: moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
    if modifier and modifier.startswith("strftime[") and modifier.endswith("]"):
        pattern = modifier[len("strftime[") : -1]
        return _dated(lambda moment: moment.strftime(pattern))
    return number_format(modifier)


def bytes_format(modifier: str | None) -> BytesFormat | None:
    """None for an unknown modifier."""
    match modifier:
        case None | "":
            return bytes
        case "hex":
            return lambda data: data.hex().encode()
        case "base64":
            return b64encode
        case "base64raw":
            return lambda data: b64encode(data).rstrip(b"=")
    if modifier.startswith("unpack[") and modifier.endswith("]"):
        pattern = modifier[len("unpack[") : -1]
        return (lambda data: unpack(pattern, data)) if set(pattern) <= set("<>bBhHiIqQc.s$x ") else None
    return None


def unpack(pattern: str, data: bytes) -> bytes:
    """Integers inside binary data, written in decimal.

    `<` and `>` select the byte order (big-endian by default). `b h i q` are signed integers of 1, 2, 4, and 8
    bytes, and the capitals are unsigned. `c` and `.` are one character, `s` is the remainder, `x` writes a space, and
    `$` requires the end. Errors appear in the output, because a template cannot stop in the middle of a record.
    """
    shown: list[bytes] = []
    order, at = ">", 0
    for code in pattern:
        if code in "<>":
            order = code
        elif code == "x":
            shown.append(b" ")
        elif code == "$":
            if at != len(data):
                return b"".join(shown) + b"(%d bytes left)" % (len(data) - at)
        else:
            size = _UNPACK_SIZES.get(code, len(data) - at if code == "s" else 1)
            if at + size > len(data):
                return b"".join(shown) + b"(%d bytes missing)" % (at + size - len(data))
            piece = data[at : at + size]
            shown.append(b"%d" % struct.unpack(order + code, piece)[0] if code in _UNPACK_SIZES else piece)
            at += size
    return b"".join(shown)


def _hexadecimal(bits: int) -> NumberFormat:
    digits, mask = bits // 4, (1 << bits) - 1
    return lambda number: f"{number & mask:0{digits}x}".encode()


def _fixed_width(bits: int, order: str) -> NumberFormat:
    mask = (1 << bits) - 1
    if order == "little":
        return lambda number: (number & mask).to_bytes(bits // 8, "little")
    return lambda number: (number & mask).to_bytes(bits // 8, "big")


def _dated(shown: Callable[[datetime], str]) -> NumberFormat:
    """Clients choose event times, and a number of microseconds is after the year 9999."""

    def written(time_ms: int) -> bytes:
        try:
            return shown(datetime.fromtimestamp(time_ms / 1000, UTC)).encode()
        except (ValueError, OverflowError, OSError):
            return b"%d" % time_ms

    return written
