import contextlib
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from broker_core.wire.compression import compress, decompress
from broker_core.wire.errors import DecompressionFailed
from broker_core.wire.pulsar_api_pb2 import CompressionType

CODECS = [name for name in CompressionType.keys() if name != "NONE"]  # noqa: SIM118 # an enum wrapper is no mapping
TEXT = b"twenty-one degrees, " * 100


def number(codec: str) -> int:
    return CompressionType.Value(codec)


@given(st.sampled_from(CompressionType.keys()), st.binary(max_size=2000))
def test_decompressing_undoes_compressing(codec: str, payload: bytes) -> None:
    assert decompress(number(codec), compress(number(codec), payload), len(payload)) == payload


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("announced", [0, len(TEXT) - 1, len(TEXT) + 1, 10 * len(TEXT)])
def test_a_payload_with_a_wrong_uncompressed_size_is_refused(codec: str, announced: int) -> None:
    with pytest.raises(DecompressionFailed):
        decompress(number(codec), compress(number(codec), TEXT), announced)


@pytest.mark.parametrize("codec", CODECS)
def test_a_torn_payload_is_refused(codec: str) -> None:
    with pytest.raises(DecompressionFailed):
        decompress(number(codec), compress(number(codec), TEXT)[:-5], len(TEXT))


@given(st.sampled_from(CODECS), st.binary(max_size=200), st.integers(0, 5000))
def test_any_bytes_are_a_payload_or_refused(codec: str, payload: bytes, announced: int) -> None:
    with contextlib.suppress(DecompressionFailed):
        assert len(decompress(number(codec), payload, announced)) == announced


@pytest.mark.parametrize("codec", CODECS)
def test_a_payload_over_the_limit_is_refused(codec: str) -> None:
    with pytest.raises(DecompressionFailed, match="limit"):
        decompress(number(codec), compress(number(codec), TEXT), len(TEXT), limit=len(TEXT) - 1)


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        ("ZLIB", zlib.compress(bytes(50_000_000), 9)),
        ("ZSTD", zstandard.ZstdCompressor().compress(bytes(50_000_000))),
        ("SNAPPY", b"\x80\x80\x80\x80\x08" + bytes(10)),
    ],
)
def test_a_decompression_bomb_is_refused(codec: str, bomb: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionFailed):
            decompress(number(codec), bomb, 1000)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_an_unknown_codec_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="9"):
        compress(9, b"")


def test_an_unknown_compression_type_is_refused() -> None:
    with pytest.raises(DecompressionFailed, match="compression type 99 is unknown"):
        decompress(99, b"payload", 7)
