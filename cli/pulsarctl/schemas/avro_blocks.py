"""The blocks of an Avro file, checked before a reader decompresses them: a few bytes may become gigabytes.

Avro specification, "Object Container Files": after the header, each block has the number of its records, the number of
its bytes, the bytes, and the sync marker.
"""

import bz2
import lzma
import os
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

BLOCK_BYTES_MAX = 256 << 20  # decompressed; writers end a block after 16 to 64 KB
_SYNC = 16


def check_blocks(file: BinaryIO, codec: str) -> None:
    """`file` is after its header, where it is again afterwards.

    Raises `ValueError` for a block that is too large or damaged, and `EOFError` if the file ends in one.
    """
    start = file.tell()
    end = os.fstat(file.fileno()).st_size
    number = 0
    while file.tell() < end:
        number += 1
        _long(file)
        length = _long(file)
        if not 0 <= length <= end - file.tell() - _SYNC:
            raise EOFError
        if length > BLOCK_BYTES_MAX:
            raise ValueError(f"block {number} is larger than {BLOCK_BYTES_MAX >> 20} MiB")
        _check(file.read(length), codec, number)
        file.seek(_SYNC, os.SEEK_CUR)
    file.seek(start)


def _check(data: bytes, codec: str, number: int) -> None:
    try:
        size = _SIZES.get(codec, len)(data)
    except ImportError:
        return  # the reader says which library is missing
    except Exception as error:  # each library has errors of its own
        raise ValueError(f"block {number} cannot be decompressed: {error}") from error
    if size > BLOCK_BYTES_MAX:
        raise ValueError(f"block {number} is larger than {BLOCK_BYTES_MAX >> 20} MiB when it is decompressed")


def _long(file: BinaryIO) -> int:
    value = shift = 0
    while shift < 70:
        (byte,) = file.read(1) or (None,)
        if byte is None:
            raise EOFError
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise ValueError("a number of its blocks has more than 64 bits")


def _size_by(make: Callable[[], Any]) -> Callable[[bytes], int]:
    """Stops at one byte more than a block may have."""
    return lambda data: len(make().decompress(data, BLOCK_BYTES_MAX + 1))


def _snappy_size(data: bytes) -> int:
    """The size at the beginning of the data, which its reader relies on."""
    return sum((byte & 0x7F) << 7 * place for place, byte in enumerate(data[: _preamble(data)]))


def _preamble(data: bytes) -> int:
    return next((place for place, byte in enumerate(data[:5], 1) if byte < 0x80), 5)


def _zstandard_size(data: bytes) -> int:
    import zstandard

    return len(zstandard.ZstdDecompressor().stream_reader(data).read(BLOCK_BYTES_MAX + 1))


_SIZES: dict[str, Callable[[bytes], int]] = {
    "deflate": _size_by(lambda: zlib.decompressobj(-15)),
    "bzip2": _size_by(bz2.BZ2Decompressor),
    "xz": _size_by(lzma.LZMADecompressor),
    "snappy": _snappy_size,
    "zstandard": _zstandard_size,
    "lz4": lambda data: int.from_bytes(data[:4], "little"),
}
