"""Protobuf's variable-length integers: seven bits a byte, lowest first, the high bit says "more follows"."""

from collections.abc import Iterator
from functools import lru_cache

VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
"""One varint, as a regular expression over bytes."""

MASK_64 = (1 << 64) - 1

LAST = [bytes((value,)) for value in range(128)]
"""The lowest seven bits of a varint that ends with them."""

CONTINUED = [bytes((value | 0x80,)) for value in range(128)]
"""The lowest seven bits of a longer varint."""


@lru_cache(maxsize=4096)
def encode_varint(value: int) -> bytes:
    """The bytes of `value`; a negative one in ten bytes, as protobuf writes int32.

    Cached: ledger IDs, consumer IDs, and the upper bits of entry IDs repeat.
    """
    value &= MASK_64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_growing(value: int) -> bytes:
    """The same of a number that counts up, of 0 or more: only its upper bits repeat, so only they are cached."""
    upper = value >> 7
    return CONTINUED[value & 0x7F] + encode_varint(upper) if upper else LAST[value]


def varint_size(value: int) -> int:
    """The number of bytes of an unsigned `value`."""
    return max(1, (value.bit_length() + 6) // 7)


def decode_varint(encoded: bytes) -> int:
    """The value of one complete varint as unsigned 64 bits; higher bits are dropped, as in protobuf."""
    value = 0
    for byte in reversed(encoded):
        value = value << 7 | byte & 0x7F
    return value & MASK_64


def to_int32(value: int) -> int:
    """The signed 32-bit integer that protobuf reads from an unsigned varint value."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def consecutive_varints(first: int, count: int) -> Iterator[tuple[int, int, list[bytes], bytes]]:
    """Cuts the `count` integers from `first` on where their upper bits change.

    Yields (from, to, lowest, upper): the integers of rows from..to are the varints `lowest[i] + upper`.
    """
    row = 0
    while row < count:
        low = (first + row) & 0x7F
        upper = (first + row) >> 7
        size = min(128 - low, count - row)
        if upper:
            yield row, row + size, CONTINUED[low : low + size], encode_varint(upper)
        else:
            yield row, row + size, LAST[low : low + size], b""
        row += size
