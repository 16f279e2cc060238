"""Protobuf's variable-length integers: seven bits a byte, lowest first, the high bit says "more follows"."""

from functools import lru_cache

VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
"""One varint, as a regular expression over bytes."""

MASK_64 = (1 << 64) - 1


@lru_cache(maxsize=4096)
def encode_varint(value: int) -> bytes:
    """The bytes of `value`; a negative one in ten bytes, as protobuf writes int32.

    Remembered: ledger ids, consumer ids and the upper bits of entry ids come again and again.
    """
    value &= MASK_64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(encoded: bytes) -> int:
    """The value of one complete varint as unsigned 64 bits; what exceeds them is cut off, as protobuf does."""
    value = 0
    for byte in reversed(encoded):
        value = value << 7 | byte & 0x7F
    return value & MASK_64


def to_int32(value: int) -> int:
    """The signed 32-bit integer that protobuf reads from an unsigned varint value."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value
