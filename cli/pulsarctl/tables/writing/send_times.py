"""Times of rows -> times of messages: whole milliseconds since the epoch, as Pulsar stores them."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.errors import UsageProblem

MILLISECONDS = pa.timestamp("ms", tz="UTC")
_PER_MILLISECOND = {"us": 1000, "ns": 1_000_000}


def milliseconds(column: pa.Array, name: str) -> Sequence[int | None]:
    """Timestamps, or what Arrow casts to them; numbers are milliseconds. Digits after the millisecond are dropped.

    Raises `UsageProblem`, which names the column, for a time before 1970 or out of range.
    """
    try:
        instants = column if pa.types.is_timestamp(column.type) else column.cast(MILLISECONDS)
        units = instants.cast(pa.int64())
        if pc.any(pc.less(units, 0)).as_py():
            raise UsageProblem(f"cannot write {name}: a time is before 1970", hint="set it to null, which is no time")
        return _in_ms(instants, units).to_pylist()  # type: ignore[no-any-return]  # pyarrow ships no types
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise UsageProblem(f"cannot write {name}: {reason}", hint="make it a timestamp") from error


def _in_ms(instants: pa.Array, units: pa.Array) -> pa.Array:
    """An unsafe cast drops digits as well, but it wraps around where a number becomes too large."""
    if per_ms := _PER_MILLISECOND.get(instants.type.unit):
        return pc.divide(units, per_ms)
    return instants.cast(MILLISECONDS).cast(pa.int64())
