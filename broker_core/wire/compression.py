"""The five codecs of Pulsar's payloads, as its clients write them.

LZ4 is the raw block format without a size; ZLIB has zlib's own header; ZSTD is one frame; SNAPPY is the raw format. The
metadata holds the uncompressed size (`uncompressed_size`). Neither that size nor the reader's own limit is ever
exceeded when decompressing.

The bindings of LZ4, ZSTD, and SNAPPY are imported when a payload first needs them, in a millisecond or two. They take
2 MB, and most brokers never look into a compressed payload.
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

from broker_core.wire.errors import DecompressionFailed
from broker_core.wire.pulsar_api_pb2 import CompressionType

UNCOMPRESSED_SIZE_MAX = 128 * 1024 * 1024
"""Bytes; a frame of 5 MiB can announce terabytes. Large enough for 5 MiB at a compression ratio of 25."""


def compress(compression: int, payload: bytes) -> bytes:
    """The payload as a producer with this CompressionType sends it. Raises `ValueError` for an unknown type."""
    return _codec(compression).compress(payload)


def decompress(compression: int, payload: bytes, uncompressed_size: int, limit: int = UNCOMPRESSED_SIZE_MAX) -> bytes:
    """The original payload. Raises `DecompressionFailed` if it is damaged, too large, or not of the announced size."""
    if compression == CompressionType.NONE:
        return payload
    if compression not in _CODECS:
        raise DecompressionFailed(f"compression type {compression} is unknown")
    if uncompressed_size > limit:
        raise DecompressionFailed(f"{uncompressed_size} bytes uncompressed; the limit is {limit}")
    try:
        data = _codec(compression).decompress(payload, uncompressed_size)
    except DecompressionFailed:
        raise
    except Exception as error:  # each binding has its own exceptions, some of them plain Exception
        raise DecompressionFailed(f"{CompressionType.Name(compression)}: {error}") from error  # type: ignore[arg-type] # a plain number
    if len(data) != uncompressed_size:
        raise DecompressionFailed(f"{len(data)} bytes instead of the announced {uncompressed_size}")
    return data


class _Codec(NamedTuple):
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes, int], bytes]
    """Gets the announced size and stops there."""


def _codec(compression: int) -> _Codec:
    codec = _CODECS.get(compression)
    if codec is None:
        raise ValueError(f"compression type {compression} is unknown")
    return codec


def _compress_lz4(payload: bytes) -> bytes:
    import lz4.block

    return bytes(lz4.block.compress(payload, store_size=False))


def _decompress_lz4(payload: bytes, size: int) -> bytes:
    import lz4.block

    return bytes(lz4.block.decompress(payload, uncompressed_size=size))


def _decompress_zlib(payload: bytes, size: int) -> bytes:
    stream = zlib.decompressobj()
    data = stream.decompress(payload, size + 1)
    if not stream.eof and len(data) <= size:
        raise DecompressionFailed("ZLIB: the stream is cut short")
    return data


def _compress_zstd(payload: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(payload)


def _decompress_zstd(payload: bytes, size: int) -> bytes:
    import zstandard

    # Read as a stream: the one-shot call trusts the size in the frame's header.
    with zstandard.ZstdDecompressor().stream_reader(payload) as stream:
        return stream.read(size + 1)


def _compress_snappy(payload: bytes) -> bytes:
    import cramjam

    return bytes(cramjam.snappy.compress_raw(payload))


def _decompress_snappy(payload: bytes, size: int) -> bytes:
    import cramjam

    # The binding trusts the size at the beginning of the stream, so compare it first.
    announced = int(cramjam.snappy.decompress_raw_len(payload))
    if announced != size:
        raise DecompressionFailed(f"SNAPPY: {announced} bytes instead of the announced {size}")
    return bytes(cramjam.snappy.decompress_raw(payload))


_CODECS: dict[int, _Codec] = {
    CompressionType.NONE: _Codec(lambda payload: payload, lambda payload, size: payload),
    CompressionType.LZ4: _Codec(_compress_lz4, _decompress_lz4),
    CompressionType.ZLIB: _Codec(zlib.compress, _decompress_zlib),
    CompressionType.ZSTD: _Codec(_compress_zstd, _decompress_zstd),
    CompressionType.SNAPPY: _Codec(_compress_snappy, _decompress_snappy),
}
