"""Lists of Python values -> Arrow arrays, for what a producer may write into any field."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from broker_core.wire.pulsar_api_pb2 import KeyValue

TIME_MAX_MS = 253_402_300_799_999  # the end of year 9999
TIMESTAMP = pa.timestamp("us", tz="UTC")
LATER_US = TIME_MAX_MS * 1000 + 999  # no time in milliseconds: any later one, which Python and Spark do not have
MAP = pa.map_(pa.string(), pa.string())


def texts(values: Sequence[str | None]) -> pa.Array:
    """Protobuf returns text that is not UTF-8 as bytes; what cannot be decoded becomes U+FFFD, as in Java."""
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return pa.array(list(map(text, values)), pa.string())


def times(ms: Sequence[int | None]) -> pa.Array:
    """Milliseconds since the epoch, any 64 bits of them, as timestamps from 1970 on. After year 9999: `LATER_US`."""
    try:
        known = pa.array(ms, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        known = pa.array([None if number is None else min(number, TIME_MAX_MS + 1) for number in ms], pa.int64())
    span = pc.min_max(known)
    if span["min"].is_valid and (span["min"].as_py() < 0 or span["max"].as_py() > TIME_MAX_MS):
        return _limited(known)
    return known.view(pa.timestamp("ms", tz="UTC")).cast(TIMESTAMP)


def _limited(ms: pa.Array) -> pa.Array:
    known = pc.max_element_wise(pc.min_element_wise(ms, TIME_MAX_MS, skip_nulls=False), 0, skip_nulls=False)
    return pc.if_else(pc.greater(ms, TIME_MAX_MS), LATER_US, pc.multiply(known, 1000)).cast(TIMESTAMP)


def signed(ids: Sequence[int]) -> pa.Array:
    """Sequence IDs have 64 bits without a sign; Spark's numbers have a sign."""
    return pa.array([number & ((1 << 64) - 1) for number in ids], pa.uint64()).view(pa.int64())


def pairs(properties: Sequence[KeyValue]) -> dict[str, str] | None:
    """The last value of a repeated name wins, as in Pulsar's clients. None if there are none."""
    return {pair.key: pair.value for pair in properties} if properties else None


def maps(properties: Sequence[dict[str, str] | None]) -> pa.Array:
    """None becomes an empty map."""
    keys: list[str] = []
    items: list[str] = []
    offsets = [0]
    for pairs in properties:
        if pairs:
            keys += pairs
            items += pairs.values()
        offsets.append(len(keys))
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), texts(keys), texts(items))


def text(value: str | bytes | None) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else value.encode("utf-8", "replace").decode()
